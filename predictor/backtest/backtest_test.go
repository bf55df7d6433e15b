package backtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func traffic(days int, step time.Duration, seed uint64) Series {
	s := Series{Name: "made", Start: time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC), Step: step}
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range days * s.perDay() {
		minute := float64(i%s.perDay()) * step.Minutes()
		s.Values = append(s.Values, (50+40*math.Sin(2*math.Pi*minute/1440))*math.Exp(0.1*r.NormFloat64()))
	}
	return s
}

func TestReadCSV(t *testing.T) {
	s, err := ReadCSV(strings.NewReader("timestamp,requests\n2027-01-01T00:10:00Z,\n2027-01-01T01:00:00+01:00,3\n2027-01-01T00:05:00Z,4.5\n2027-01-01T00:20:00Z,1\n"), "made")
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{3, 4.5, math.NaN(), math.NaN(), 1}
	if s.Step != 5*time.Minute || s.Start.Hour() != 0 || len(s.Values) != len(want) {
		t.Fatalf("series = %+v", s)
	}
	for i, v := range want {
		if s.Values[i] != v && !(math.IsNaN(v) && math.IsNaN(s.Values[i])) {
			t.Errorf("value %d = %v, want %v", i, s.Values[i], v)
		}
	}
	for name, text := range map[string]string{
		"a negative rate":   "t,v\n2027-01-01T00:00:00Z,-1\n2027-01-01T00:05:00Z,1\n",
		"a local time":      "t,v\n2027-01-01T00:00:00Z,1\n2027-01-01 00:05:00,1\n",
		"one row":           "t,v\n2027-01-01T00:00:00Z,1\n",
		"a row twice":       "2027-01-01T00:00:00Z,1\n2027-01-01T00:00:00Z,1\n",
		"an odd row":        "2027-01-01T00:00:00Z,1\n2027-01-01T00:05:00Z,1\n2027-01-01T00:12:00Z,1\n",
		"one column":        "2027-01-01T00:00:00Z\n2027-01-01T00:05:00Z\n",
		"a span of decades": "1970-01-01T00:00:00Z,1\n1970-01-01T00:00:01Z,1\n2027-01-01T00:00:00Z,1\n",
	} {
		if _, err := ReadCSV(strings.NewReader(text), "made"); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestGridAverages(t *testing.T) {
	nan := math.NaN()
	s := Series{Start: time.Date(2027, 1, 1, 0, 1, 0, 0, time.UTC), Step: time.Minute, Values: []float64{
		2, 2, 4, 4, // the first slot lacks its first minute
		1, 2, 3, nan, nan, // 60 % known
		1, 2, 3, 4, nan, // 80 %
		7,
	}}
	g, err := s.Grid()
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{3, nan, 2.5, nan}
	if g.Start.Minute() != 0 || g.Step != 5*time.Minute || len(g.Values) != len(want) {
		t.Fatalf("grid = %+v", g)
	}
	for i, v := range want {
		if g.Values[i] != v && !(math.IsNaN(v) && math.IsNaN(g.Values[i])) {
			t.Errorf("slot %d = %v, want %v", i, g.Values[i], v)
		}
	}
}

func TestMatchedCost(t *testing.T) {
	c := Curve{Outcomes: []Outcome{{Short: 0.06, Cost: 1}, {Short: 0.03, Cost: 1.2}, {Short: 0.01, Cost: 1.6}}}
	for share, want := range map[float64]float64{0.02: 1.4, 0.03: 1.2, 0.1: 1, 0.005: neverReached} {
		if got := c.CostAt(share); math.Abs(got-want) > 1e-12 {
			t.Errorf("cost at %v = %v, want %v", share, got, want)
		}
	}
	c.Priced = true
	if got := c.CostAt(0.005); math.Abs(got-2.4) > 1e-12 {
		t.Errorf("price never reached: %v, want 1.5 times the last cost", got)
	}
}

// slowLoop is the closed loop pod by pod.
func slowLoop(wanted, need []int32, h, hold, from int) (short int, have int64) {
	var pods []int // the step each is ready at, oldest first
	for s := 1; s < len(need); s++ {
		want := int32(1)
		for k := max(0, s-1-hold); k <= s-1; k++ {
			want = max(want, wanted[k])
		}
		if s == 1 { // the run begins with what is wanted, ready
			for range want {
				pods = append(pods, 0)
			}
		}
		for int32(len(pods)) < want {
			pods = append(pods, s-1+h)
		}
		pods = pods[:want] // the youngest go
		ready := int32(0)
		for _, at := range pods {
			if at <= s {
				ready++
			}
		}
		if s < from {
			continue
		}
		have += int64(ready)
		if ready < need[s] {
			short++
		}
	}
	return short, have
}

func TestClosedLoopAgainstPodByPod(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := 60
		wanted := rapid.SliceOfN(rapid.Int32Range(1, 9), n, n).Draw(rt, "wanted")
		need := rapid.SliceOfN(rapid.Int32Range(1, 9), n, n).Draw(rt, "need")
		h := rapid.IntRange(1, 6).Draw(rt, "h")
		d := demand{need: need, hold: rapid.IntRange(0, 2).Draw(rt, "hold"), y: make([]float64, n)}
		span := Span{20, n}
		got := d.closedLoop(wanted, h, span, 1000)
		short, have := slowLoop(wanted, need, h, d.hold, span.From)
		total := int64(0)
		for _, x := range need[span.From:] {
			total += int64(x)
		}
		if math.Abs(got.Short*40-float64(short)) > 1e-9 || math.Abs(got.Cost*float64(total)-float64(have)) > 1e-6 {
			rt.Fatalf("short %v cost %v, want %d of 40 and %d of %d", got.Short, got.Cost, short, have, total)
		}
	})
}

func TestPerfectForecastPaysForTheHoldOnly(t *testing.T) {
	s := traffic(8, 10*time.Minute, 3)
	e, err := NewEvaluator(s, Options{Leads: []time.Duration{30 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	h := e.Horizons()[0]
	p := make([]float64, len(s.Values))
	for i := range p {
		p[i] = s.Values[min(i+h, len(p)-1)]
	}
	f := e.Plain("perfect", Points{h: p})[0]
	if f.WAPE != 0 || f.Open.CostAt(0.02) > 1.4 || f.Open.Outcomes[0].Short != 0 {
		t.Errorf("perfect: WAPE %v, cost %v, short %v", f.WAPE, f.Open.CostAt(0.02), f.Open.Outcomes[0].Short)
	}
}

func backtestOptions() Options {
	return Options{Leads: []time.Duration{30 * time.Minute}, MaxShort: 0.02, PerReplica: 10}
}

func TestRun(t *testing.T) {
	s := traffic(15, 10*time.Minute, 4)
	var last int
	r, err := Run(s, backtestOptions(), func(done, total int) { last = done * 100 / total })
	if err != nil {
		t.Fatal(err)
	}
	if last != 100 {
		t.Errorf("progress ended at %d %%", last)
	}
	if r.Points != len(s.Values)/2 || r.WAPE > 0.15 || r.Coverage < 0.85 || r.Coverage > 0.95 || r.Mode != "active" {
		t.Errorf("result = %+v, %s", r, r.Recommendation())
	}
	if !(r.Hours.Oracle < r.Hours.Predictive && r.Hours.Predictive < r.Hours.Reactive) || r.Short.Predictive > 0.04 {
		t.Errorf("hours %+v, short %+v", r.Hours, r.Short)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(data, &keys); err != nil || len(keys) != 8 {
		t.Errorf("JSON %s: %v", data, err)
	}
	if !strings.HasPrefix(r.Recommendation(), "Enable at target 2 %: ") {
		t.Errorf("recommendation %q", r.Recommendation())
	}
	var csv, page bytes.Buffer
	if err := errors.Join(r.WriteForecasts(&csv), r.WriteReport(&page, time.UTC)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(csv.String()), "\n")
	if lines[0] != "issued_at,target_at,forecast,upper,order" || len(lines)-1 != len(s.Values)-144 {
		t.Errorf("%d lines, header %q", len(lines), lines[0])
	}
	if !strings.HasPrefix(lines[1], "2027-01-05T00:10:00Z,2027-01-05T00:40:00Z,") {
		t.Errorf("first row %q", lines[1])
	}
	if n := strings.Count(page.String(), "<svg"); n != 3 || strings.Contains(page.String(), "NaN") {
		t.Errorf("the page has %d plots", n)
	}
}

func TestNoPatternIsSaid(t *testing.T) {
	s := Series{Name: "made", Start: time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC), Step: 10 * time.Minute}
	r := rand.New(rand.NewPCG(5, 5))
	level := 50.0
	for range 14 * 144 { // a walk without a clock
		level = max(5, level*math.Exp(0.05*r.NormFloat64()-0.0005*(level-50)))
		s.Values = append(s.Values, level)
	}
	out, err := Run(s, backtestOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Mode != "shadow" || !strings.HasPrefix(out.Recommendation(), "Keep shadow") {
		t.Errorf("mode %s: %s", out.Mode, out.Recommendation())
	}
}

// Whatever comes after T, rows issued up to T stay.
func TestRunDoesNotLookAhead(t *testing.T) {
	s := traffic(12, 10*time.Minute, 6)
	known := 9*144 + 11
	changed := s
	changed.Values = append([]float64(nil), s.Values...)
	r := rand.New(rand.NewPCG(9, 9))
	for i := known; i < len(s.Values); i++ {
		changed.Values[i] = 300 * r.Float64()
	}
	a, err := Run(s, backtestOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(changed, backtestOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	until := s.At(known)
	for i, row := range a.Details.Rows {
		if !row.IssuedAt.After(until) && row != b.Details.Rows[i] {
			t.Fatalf("row %+v became %+v by what came later", row, b.Details.Rows[i])
		}
	}
}

func TestTooLittleToScore(t *testing.T) {
	s := traffic(1, 10*time.Minute, 6)
	if _, err := Run(s, backtestOptions(), nil); !errors.Is(err, ErrTooShort) {
		t.Errorf("one day: %v", err)
	}
	zeros := traffic(4, 10*time.Minute, 6)
	clear(zeros.Values)
	o := backtestOptions()
	r, err := Run(zeros, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("all zeros: %v", err)
	}
	o.PerReplica = 0
	if _, err := Run(zeros, o, nil); err == nil {
		t.Error("all zeros with a load per replica of mean/8 were accepted")
	}
}

// offBy forecasts what really comes, off by an error, and fails at some steps.
type offBy struct {
	values   []float64
	step     int
	by       float64
	failures []int
}

func (o *offBy) Observe(float64) { o.step++ }

func (o *offBy) Forecast(ahead int) float64 {
	if slices.Contains(o.failures, o.step) {
		return math.NaN()
	}
	return o.values[min(o.step-1+ahead, len(o.values)-1)] + o.by
}

// TestFailuresAreInfiniteLosses is dynamo-14513: of 504 scored steps method a fails at four and is the best at the rest. It
// must not win, neither by its error nor by what its orders cost.
func TestFailuresAreInfiniteLosses(t *testing.T) {
	s := traffic(7, 10*time.Minute, 6)
	s.Values = s.Values[:2*504]
	e, err := NewEvaluator(s, Options{PerReplica: 5, Leads: []time.Duration{30 * time.Minute}, Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	var all []Figures
	for _, c := range []struct {
		name     string
		loss     float64
		failures []int
	}{{"a", 2.1, []int{600, 700, 701, 900}}, {"last", 4.2, nil}, {"profile", 3.1, nil}} {
		p := Collect(&offBy{values: s.Values, by: c.loss, failures: c.failures}, s.Values, e.Horizons())
		all = append(all, e.Plain(c.name, p)...)
		all = append(all, e.Scaled(c.name+"+scale", p, ReactiveScale())...)
	}
	slices.SortStableFunc(all, func(a, b Figures) int { return cmp.Compare(a.WAPE, b.WAPE) })
	var order []string
	for _, f := range all {
		order = append(order, f.Method)
		for what, cost := range map[string]float64{
			"open": f.Open.CostAt(0.02), "closed": f.Closed.CostAt(0.02), "paid": f.Closed.PaidAt(0.02), "windowless": f.Windowless().CostAt(0.02), "online": f.Online.Cost,
		} {
			if failed := f.Failures > 0; math.IsInf(cost, 1) != failed || math.IsNaN(cost) {
				t.Errorf("%s with %d failures: %s cost %v", f.Method, f.Failures, what, cost)
			}
		}
	}
	if want := []string{"profile", "profile+scale", "last", "last+scale", "a", "a+scale"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if all[4].Failures != 4 {
		t.Errorf("%d failures of a, want 4", all[4].Failures)
	}
}

// TestNegativeForecastsMultiplyToNothing is the other half of dynamo-14513: the raw product of -5 requests a second and -400
// tokens a request is 2000 and would look perfect.
func TestNegativeForecastsMultiplyToNothing(t *testing.T) {
	demand := 1.0
	for _, raw := range []float64{-5, -400} {
		demand *= Collect(&offBy{values: []float64{raw}}, []float64{7}, []int{1})[1][0]
	}
	if off := math.Abs(5*400 - demand); demand != 0 || off != 2000 {
		t.Errorf("demand %v, off by %v, want 0 and 2000", demand, off)
	}
}

// TestShortHistoryIsNoFailure: before a method has its first forecast the last value stands in.
func TestShortHistoryIsNoFailure(t *testing.T) {
	values := []float64{3, math.NaN(), 5, 6, 7}
	p := Collect(&offBy{values: values, failures: []int{1, 2}}, values, []int{1})
	if want := []float64{3, 3, 6, 7, 7}; !slices.Equal(p[1], want) || p.failures() != 0 {
		t.Errorf("forecasts %v, want %v without a failure", p[1], want)
	}
}
