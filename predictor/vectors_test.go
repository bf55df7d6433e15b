package predictor

import (
	"math"
	"slices"
	"testing"
	"time"
)

const digits = 6e-7 // vectors are given to six decimals

// analogOf is what one past day says under one style.
func analogOf(v, past, today, mean, theta float64) float64 {
	r := levelRatio(v, past, today, mean)
	return v * power(r, math.Log(r), theta)
}

// tailOf is the distribution of distinct ascending scores.
func tailOf(ascending []float64) Tail {
	greater := make([]uint16, len(ascending))
	for i := range ascending {
		greater[i] = uint16(len(ascending) - 1 - i)
	}
	return newTail(ascending, greater, len(ascending))
}

func TestAnalogValueVectors(t *testing.T) {
	for _, c := range []struct {
		v, past, today, mean, theta, want float64
	}{
		{40, 20, 25, 30, 0.9, 47.8829},
		{40, 20, 25, 30, 0.4, 43.3292},
		{40, 20, 25, 30, 1, 48.8496},
		{40, 20, 400, 30, 0.9, 170.2680},
		{40, 20, 0, 30, 0.9, 9.3970},
		{0, 20, 25, 30, 0.9, 0},
		{0, 20, 400, 30, 1, 0},
	} {
		closeTo(t, "analog value", analogOf(c.v, c.past, c.today, c.mean, c.theta), c.want, 6e-5)
	}
	closeTo(t, "ratio", levelRatio(40, 20, 25, 30), 1.221239, digits)
}

func TestLikenessVectors(t *testing.T) {
	flat := slices.Repeat([]float64{20}, likenessWindows)
	blank := func(v float64, missingAt func(int) bool) []float64 {
		out := slices.Repeat([]float64{v}, likenessWindows)
		for i := range out {
			if missingAt(i) {
				out[i] = missing
			}
		}
		return out
	}
	for _, c := range []struct {
		name       string
		now, then  []float64
		prior, tau float64
		e, weight  float64
	}{
		{"level", slices.Repeat([]float64{22}, likenessWindows), flat, 1, 0.2, 0.083382, 0.659082},
		{"level, tau 0.3", slices.Repeat([]float64{22}, likenessWindows), flat, 0.7, 0.3, 0.083382, 0.530140},
		{"rise", append([]float64{30, 24}, flat[2:]...), flat, 0.35, 0.2, 0.114032, 0.197902},
		{
			"one pair", blank(22, func(i int) bool { return i%2 == 1 }), blank(20, func(i int) bool { return i != 0 && i != 3 }),
			0.2, 0.2, 0.083382, 0.131816,
		},
	} {
		e := rootMeanLogRatio(c.now, c.then, 30)
		closeTo(t, c.name+": e", e, c.e, digits)
		closeTo(t, c.name+": weight", c.prior*math.Exp(-e/c.tau), c.weight, digits)
	}
	closeTo(t, "no pair", rootMeanLogRatio([]float64{missing}, []float64{3}, 30), 0, 0)
}

func TestAnalogMeanVector(t *testing.T) {
	values, weights := []float64{47.89, 52, 30}, []float64{0.69, 0.5, 0.05}
	var sum, total float64
	for i := range values {
		sum, total = sum+values[i]*weights[i], total+weights[i]
	}
	closeTo(t, "mean", sum/total, 48.825887, digits)
}

func TestSmoothingVectors(t *testing.T) {
	s := newSeasonal(288)
	s.started, s.level = true, 6
	s.day[3], s.week[3] = 0.5, -0.2
	s.step(math.Sqrt(49), 3, 3, false)
	closeTo(t, "error", s.err, 0.7, digits)
	closeTo(t, "level", s.level, 6.21, digits)
	closeTo(t, "day season", float64(s.day[3]), 0.57, digits)
	closeTo(t, "week season", float64(s.week[3]), -0.13, digits)
	s.day[7], s.week[7] = 0.8, -0.1
	closeTo(t, "forecast", s.forecast(3000, 4, 7, 7), 51.792779, 3e-6)
	s.day[7], s.week[7] = -7, 0
	closeTo(t, "forecast below zero", s.forecast(3000, 4, 7, 7), 0, 0)

	s = newSeasonal(288)
	s.started, s.level = true, 6
	s.day[3], s.week[3] = 0.5, -0.2
	s.step(7, 3, 3, true)
	closeTo(t, "day season, first week", float64(s.day[3]), 0.64, digits)
	closeTo(t, "week season, first week", float64(s.week[3]), -0.2, digits)
	s.learn(3000, 3, 3, missing)
	closeTo(t, "error after a missing value", s.err, 0, 0)
}

func experts(values ...float64) *[expertCount]float64 {
	var out [expertCount]float64
	for k := range out {
		out[k] = missing
	}
	copy(out[:], values)
	return &out
}

func TestMixVectors(t *testing.T) {
	var m mix
	forget := math.Exp2(-1 / (7.0 * 288))
	closeTo(t, "q", forget, 0.999656236, 6e-10)
	m.learn(24, 20, experts(18, 23, missing), 10, forget)
	check := func(what string, got [expertCount]float64, want ...float64) {
		t.Helper()
		for k := range want {
			closeTo(t, what, got[k], want[k], digits)
		}
	}
	check("R", m.regret, -0.1, 0.15, 0)
	check("V", m.square, 0.01, 0.0225, 0)
	p, w := m.combine(experts(21, 25, 30))
	check("weights", w, 0.090036, 0.665233, 0.244731)
	closeTo(t, "forecast", p, 25.863510, 4e-6)
	m.learn(21, 22, experts(24, 20, 22), 10, forget)
	check("R", m.regret, -0.199966, 0.249948, 0)
	check("V", m.square, 0.019997, 0.032492, 0)
	p, w = m.combine(experts(21, 25, 30))
	check("weights", w, 0.046365, 0.762956, 0.190679)
	closeTo(t, "forecast", p, 25.767940, 4e-6)
	p, _ = m.combine(experts(missing, 25, 30))
	closeTo(t, "forecast, first missing", p, 25.999750, 4e-6)
	if p, _ = m.combine(experts()); !math.IsNaN(p) {
		t.Errorf("forecast of no expert = %v, want none", p)
	}
}

func TestErrorVectors(t *testing.T) {
	u := NewUncertainty(Calendar{}, 5*time.Minute, 4, 8, DefaultScaleWeights())
	u.recent, u.global = 0.6, 0.5
	closeTo(t, "b", spread(32, 8), 16.8, digits)
	r := math.Abs(40-32.0) / spread(32, 8)
	closeTo(t, "r", r, 0.476190, digits)
	u.learnError(r)
	closeTo(t, "rec", u.recent, 0.593051, digits)
	closeTo(t, "glo", u.global, 0.499989, digits)
	u.recent, u.global = 0.6, 0.5
	u.learnError(20)
	closeTo(t, "rec, clipped", u.recent, 0.875016, digits)
	closeTo(t, "glo, clipped", u.global, 0.502406, digits)
	slot := slotError(6*0.4, 6, 0.5)
	closeTo(t, "slot", slot, 0.44, digits)
	closeTo(t, "b", spread(45, 8), 19.773666, digits)
	closeTo(t, "w", errorScale(45, 8, DefaultScaleWeights(), 0.6, slot, 0.5), 12.496957, digits)
	closeTo(t, "b at 0", spread(0, 8), 0.8, digits)
}

// steps are n scores from first on, by.
func steps(n int, first, by float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Round((first+float64(i)*by)*1e6) / 1e6
	}
	return out
}

func TestTailVectors(t *testing.T) {
	few := tailOf(steps(20, -0.9, 0.1))
	for x, want := range map[float64]float64{-1.05: 0.966667, 0.55: 0.252381, 0.95: 0.061905, 2: 0.014286} {
		closeTo(t, "S of 20", few.Exceed(x), want, digits)
	}
	many := tailOf(steps(200, -1.98, 0.02))
	closeTo(t, "q95", many.cut, 1.8, digits)
	closeTo(t, "beta", many.excess, 0.11, digits)
	for x, want := range map[float64]float64{
		0.005: 0.499005, 0.995: 0.255224, 1.795: 0.056219, 1.805: 0.049511, 1.915: 0.021972, 2.5: 0.000789,
	} {
		closeTo(t, "S of 200", many.Exceed(x), want, digits)
	}
	closeTo(t, "rank 19 of 20", few.Quantile(0.9), 0.9, digits)
	closeTo(t, "bound", 44+few.Quantile(0.9)*21.976, 63.778, 6e-4)
}

func TestPriceVectors(t *testing.T) {
	scores := tailOf(steps(200, -1.98, 0.02))
	narrow := Outlook{Value: 44.2, Scale: 6, Tail: scores}
	wide := Outlook{Value: 44.2, Scale: 12, Tail: scores}
	for n, want := range map[int]float64{5: 0.678109, 6: 0.344776, 7: 0.011216, 8: 0.000746} {
		closeTo(t, "S narrow", narrow.Short(n, 8), want, digits)
	}
	for n, want := range map[int]float64{5: 0.588557, 6: 0.424378, 7: 0.255224, 8: 0.091045, 9: 0.000974} {
		closeTo(t, "S wide", wide.Short(n, 8), want, digits)
	}
	for _, c := range []struct {
		o     Outlook
		price float64
		floor int
		want  int
		cost  float64
	}{
		{narrow, 2, 5, 5, 6.3562},
		{narrow, 10, 5, 7, 7.1122},
		{narrow, 45, 5, 7, 7.5047},
		{narrow, 300, 5, 8, 8.2239},
		{wide, 2, 5, 5, 6.1771},
		{wide, 10, 5, 8, 8.9104},
		{wide, 45, 5, 9, 9.0438},
		{wide, 300, 5, 9, 9.2923},
		{narrow, 2, 7, 7, 7.0224},
	} {
		got := c.o.Order(8, c.price, c.floor)
		if got != c.want {
			t.Errorf("order at price %v from %d = %d, want %d", c.price, c.floor, got, c.want)
		}
		closeTo(t, "cost", float64(got)+c.price*c.o.Short(got, 8), c.cost, 6e-5)
	}
	closeTo(t, "stated price", StatedPrice(20, 4, 5*time.Minute), 60, 1e-9)
}

func TestSteeringVectors(t *testing.T) {
	closeTo(t, "short, 2 %", Steer(60, 0.02, true), 69.501238, digits)
	closeTo(t, "not short, 2 %", Steer(60, 0.02, false), 59.820270, digits)
	closeTo(t, "short, 0.5 %", Steer(300, 0.005, true), 348.288958, digits)
	closeTo(t, "not short, 0.5 %", Steer(300, 0.005, false), 299.775084, digits)
	price := 60.0
	for i := range 50 {
		price = Steer(price, 0.02, i == 0)
	}
	closeTo(t, "one short step in 50", price, 60, 1e-9)
	closeTo(t, "clamped", Steer(1e6, 0.02, true), 1e6, 0)
	for share, want := range map[float64]float64{0.02: 60, 0.01: 140, 0.005: 300} {
		closeTo(t, "start", StartPrice(share), want, 0.05*want)
	}
}

func TestBoundVectors(t *testing.T) {
	closeTo(t, "missed", adaptBound(0.9, true), 0.909, digits)
	closeTo(t, "covered", adaptBound(0.9, false), 0.899, digits)
	closeTo(t, "lowest", adaptBound(0.5, false), 0.5, 0)
	closeTo(t, "highest", adaptBound(0.998, true), 0.998, 0)
}

func TestWeightedMedianVectors(t *testing.T) {
	closeTo(t, "four", WeightedMedian([]float64{40, 38, 41, 39}, []float64{1, 0.9, 0.81, 0.729}), 40, 0)
	closeTo(t, "two", WeightedMedian([]float64{1, 2}, []float64{1, 1}), 1.5, 0)
	closeTo(t, "half", WeightedMedian([]float64{10, 20, 30, 40}, []float64{1, 0.5, 0.5, 1}), 25, 0)
}

func TestHorizonVectors(t *testing.T) {
	for _, c := range []struct {
		lead, step time.Duration
		want       int
	}{
		{8*time.Minute + 45*time.Second, 5 * time.Minute, 3},
		{15 * time.Minute, 5 * time.Minute, 4},
		{time.Hour, 5 * time.Minute, 13},
		{15 * time.Minute, 10 * time.Minute, 3},
	} {
		if got := HorizonOf(c.lead, c.step); got != c.want {
			t.Errorf("horizon of %v on %v = %d, want %d", c.lead, c.step, got, c.want)
		}
	}
}

func TestWindowVectors(t *testing.T) {
	st := steering{wanted: []int32{6, 7, 9}}
	if got := st.held(2, 2); got != 9 {
		t.Errorf("window 3, 5, 9, 4 over orders 6, 7 = %d, want 9", got)
	}
	if got := max(11, int(st.held(2, 2))); got != 11 {
		t.Errorf("with a need of 11: %d", got)
	}
}

func TestClockVectors(t *testing.T) {
	berlin := mustLoad(t, "Europe/Berlin")
	for target, want := range map[string]string{
		"2027-03-29T07:30:00Z": "2027-03-22T08:30:00Z",
		"2026-10-26T08:30:00Z": "2026-10-19T07:30:00Z",
	} {
		if got := DaysBefore(berlin, instant(t, target), 7); !got.Equal(instant(t, want)) {
			t.Errorf("a week before %s = %v, want %s", target, got, want)
		}
	}
	for _, v := range []struct{ zone, wall, first, second string }{
		{"America/New_York", "2027-03-14T02:30:00Z", "2027-03-14T07:00:00Z", "2027-03-14T07:00:00Z"}, // does not exist
		{"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},    // exists twice
	} {
		first, second := newClock(Calendar{Location: mustLoad(t, v.zone)}, 1).instants(instant(t, v.wall).Unix())
		if first != instant(t, v.first).Unix() || second != instant(t, v.second).Unix() {
			t.Errorf("%s in %s is at %v and %v", v.wall, v.zone, time.Unix(first, 0).UTC(), time.Unix(second, 0).UTC())
		}
	}
	c := newClock(Calendar{Location: berlin}, 300)
	first, second := instant(t, "2026-10-25T00:30:00Z").Unix()/300, instant(t, "2026-10-25T01:30:00Z").Unix()/300
	day, slot := c.local(first)
	day2, slot2 := c.local(second)
	if day != day2 || slot != slot2 || slot != 30 {
		t.Errorf("the repeated hour is slot %d of day %d and slot %d of day %d", slot, day, slot2, day2)
	}
	if a, b := c.shift(first, 3), c.shift(second, 3); a != b {
		t.Errorf("three days before the repeated hour: slots %d and %d", a, b)
	}
	slots := 0
	for s := first - 400; s < first+400; s++ {
		if d, _ := c.local(s); d == day {
			slots++
		}
	}
	if slots != 300 {
		t.Errorf("the day of the change has %d slots, want 300", slots)
	}
}

func TestSteeringActsAtOnceAndForgets(t *testing.T) {
	s := NewSteering(0.02)
	closeTo(t, "start", s.Price(), 60, 1e-9)
	s.Learn(true)
	if first := s.Price(); first <= 69.501238 {
		t.Errorf("after a short step: %v, want more than the steered price alone", first)
	}
	for range 49 {
		s.Learn(false)
	}
	if p := s.Price(); math.Abs(p-60) > 12 {
		t.Errorf("after one short step in 50: %v, want about 60", p)
	}
}
