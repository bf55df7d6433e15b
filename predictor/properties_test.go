package predictor

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// record is what a service said after every slot: forecasts, bounds and orders.
type record struct {
	values, uppers, scales []float64
	orders                 []int
}

func (r *record) add(s *Service) {
	for _, o := range s.Outlooks() {
		r.values, r.uppers, r.scales = append(r.values, o.Value), append(r.uppers, o.Upper), append(r.scales, o.Scale)
	}
	at := s.endOf(s.history.newest)
	p := s.Plan(Request{Now: at, Lead: 15 * time.Minute, Need: 1})
	r.orders = append(r.orders, p.Replicas)
	for _, slot := range p.Slots {
		r.orders = append(r.orders, slot.Replicas)
	}
}

func run(t testing.TB, settings Settings, from time.Time, rates []float64) *record {
	t.Helper()
	s := newService(t, settings)
	out := &record{}
	for i, y := range rates {
		s.Observe(from.Add(time.Duration(i)*s.settings.Step), y, !math.IsNaN(y))
		if s.history.filled {
			out.add(s)
		}
	}
	return out
}

func sample(from time.Time, n int, step time.Duration, rate func(time.Time) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rate(from.Add(time.Duration(i) * step))
	}
	return out
}

// halfHours keeps the property tests quick: 48 slots a day.
func halfHours() Settings {
	return Settings{Step: 30 * time.Minute, Horizons: []int{1, 2, 3}, PerReplica: 5}
}

var monday = time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC)

func TestNothingLeaksFromTheFuture(t *testing.T) {
	const days, cut = 18, 12
	settings := Settings{Step: 10 * time.Minute, Horizons: []int{1, 2, 4, 7}, PerReplica: 5, Calendar: Calendar{Location: mustLoad(t, "Europe/Berlin")}}
	n, known := days*144, cut*144+17
	truth := sample(monday, n, settings.Step, wave(time.UTC, 7))
	noise := append([]float64(nil), truth...)
	r := rand.New(rand.NewPCG(8, 8))
	for i := known; i < n; i++ {
		noise[i] = 500 * r.Float64()
	}
	a, b := run(t, settings, monday, truth), run(t, settings, monday, noise)
	for i := range known * 4 {
		if a.values[i] != b.values[i] || a.uppers[i] != b.uppers[i] || a.scales[i] != b.scales[i] {
			t.Fatalf("forecast %d differs by what came later", i)
		}
	}
	for i := range known * 5 {
		if a.orders[i] != b.orders[i] {
			t.Fatalf("order %d differs by what came later", i)
		}
	}
	if a.values[known*4+40] == b.values[known*4+40] {
		t.Error("the noise changed nothing afterwards either: the test is blind")
	}
}

func TestAlwaysFinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(
			rapid.Float64Range(0, 1e9), rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)),
			rapid.Just(-3.0), rapid.Just(math.MaxFloat64), rapid.Float64Range(0, 1),
		)
		pattern := rapid.SliceOfN(value, 1, 30).Draw(rt, "pattern")
		s := newService(t, halfHours())
		for i := range 48 * 4 {
			s.Observe(monday.Add(time.Duration(i)*30*time.Minute), pattern[i%len(pattern)], true)
			for _, o := range s.Outlooks() {
				if s.history.filled && !(o.Value >= 0 && o.Value < 1e40 && o.Upper >= o.Value && o.Upper < 1e60 && o.Scale > 0) {
					rt.Fatalf("slot %d: forecast %v, bound %v, scale %v", i, o.Value, o.Upper, o.Scale)
				}
			}
		}
	})
}

func TestOrderOfSamplesDoesNotMatter(t *testing.T) {
	settings := halfHours()
	rates := sample(monday, 48*10, settings.Step, wave(time.UTC, 3))
	sorted, shuffled := newService(t, settings), newService(t, settings)
	samples := make([]Sample, len(rates))
	for i, y := range rates {
		samples[i] = Sample{Start: monday.Add(time.Duration(i) * settings.Step), Rate: y}
	}
	sorted.Replay(samples)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
	shuffled.Replay(samples)
	a, b := &record{}, &record{}
	a.add(sorted)
	b.add(shuffled)
	same(t, a, b)
}

func same(t *testing.T, a, b *record) {
	t.Helper()
	for i := range a.values {
		if a.values[i] != b.values[i] || a.uppers[i] != b.uppers[i] {
			t.Fatalf("forecast %d: %v and %v", i, a.values[i], b.values[i])
		}
	}
	for i := range a.orders {
		if a.orders[i] != b.orders[i] {
			t.Fatalf("order %d: %d and %d", i, a.orders[i], b.orders[i])
		}
	}
}

// A power of two scales floating point numbers exactly.
func TestScaleEquivariance(t *testing.T) {
	settings := halfHours()
	rates := sample(monday, 48*12, settings.Step, wave(time.UTC, 4))
	a := run(t, settings, monday, rates)
	const factor = 1024
	settings.PerReplica *= factor
	for i := range rates {
		rates[i] *= factor
	}
	b := run(t, settings, monday, rates)
	for i := range a.values {
		if math.Abs(a.values[i]*factor-b.values[i]) > 1e-6*b.values[i] {
			t.Fatalf("forecast %d: %v and %v", i, a.values[i], b.values[i])
		}
	}
	for i := range a.orders {
		if a.orders[i] != b.orders[i] {
			t.Fatalf("order %d: %d and %d", i, a.orders[i], b.orders[i])
		}
	}
}

func TestWholeWeeksDoNotMatter(t *testing.T) {
	settings := halfHours()
	rates := sample(monday, 48*20, settings.Step, wave(time.UTC, 5))
	same(t, run(t, settings, monday, rates), run(t, settings, monday.AddDate(0, 0, 7*13), rates))
}

func TestRestartFromState(t *testing.T) {
	settings := Settings{Step: 10 * time.Minute, Horizons: []int{1, 2, 4, 7}, PerReplica: 5, Mode: Auto, Calendar: Calendar{Location: mustLoad(t, "America/New_York")}}
	rates := sample(monday, 144*40, settings.Step, wave(time.UTC, 6))
	s := newService(t, settings)
	r := rand.New(rand.NewPCG(1, 9))
	for i, y := range rates {
		at := monday.Add(time.Duration(i) * settings.Step)
		if i%97 == 0 {
			y = missing
		}
		s.Observe(at, y, !math.IsNaN(y))
		if r.IntN(400) != 0 {
			continue
		}
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		restored := newService(t, settings)
		if err := restored.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		a, b := &record{}, &record{}
		a.add(s)
		b.add(restored)
		same(t, a, b)
		if x, y := s.Skill(28), restored.Skill(28); x.Saving != y.Saving {
			t.Fatalf("skill %+v and %+v", x, y)
		}
		s = restored // and go on with it
	}
	unbroken := newService(t, settings)
	for i, y := range rates {
		unbroken.Observe(monday.Add(time.Duration(i)*settings.Step), y, i%97 != 0)
	}
	a, b := &record{}, &record{}
	a.add(s)
	b.add(unbroken)
	same(t, a, b)
}

func TestStateFitsTheBudget(t *testing.T) {
	s, _ := grown(t)
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	const many = 50
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	services := make([]*Service, many)
	for i := range services {
		services[i] = newService(t, Settings{Mode: Active, Lead: 15 * time.Minute})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := int(after.HeapAlloc-before.HeapAlloc) / many
	runtime.KeepAlive(services)
	t.Logf("persisted state: %d bytes; in memory: %d bytes, %d by the heap", len(data), s.Bytes(), heap)
	if heap > s.Bytes()*6/5 || heap < s.Bytes()*4/5 {
		t.Errorf("the heap holds %d bytes a service, Bytes says %d", heap, s.Bytes())
	}
	if s.Bytes() > 256<<10 || len(data) > 256<<10 {
		t.Errorf("%d bytes in memory and %d persisted, at most 256 KB", s.Bytes(), len(data))
	}
}

func TestDamagedState(t *testing.T) {
	s, at := grown(t)
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other := newService(t, Settings{Mode: Active, PerReplica: 9})
	cut := newService(t, Settings{Mode: Active})
	flipped := append([]byte(nil), data...)
	flipped[len(data)/2] ^= 1
	for name, err := range map[string]error{
		"other rate per replica": other.UnmarshalBinary(data),
		"empty":                  cut.UnmarshalBinary(nil),
		"cut":                    cut.UnmarshalBinary(data[:len(data)-9]),
		"flipped":                cut.UnmarshalBinary(flipped),
	} {
		if !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := cut.Plan(Request{Now: at, Need: 3}); p.Replicas != 3 || p.Reasons[0] != NoData {
		t.Errorf("after damaged states: %d %v", p.Replicas, p.Reasons)
	}
}

func FuzzUnmarshal(f *testing.F) {
	s, err := New(halfHours())
	if err != nil {
		f.Fatal(err)
	}
	feed(s, monday, monday.AddDate(0, 0, 3), wave(time.UTC, 1))
	data, err := s.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:50])
	f.Add([]byte("wpp1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := New(halfHours())
		if err != nil {
			t.Fatal(err)
		}
		if s.UnmarshalBinary(data) == nil {
			s.Observe(monday.AddDate(0, 0, 3), 5, true)
		}
	})
}

// A replay of the kept rates agrees with a run that never stopped, wherever in
// the week it happens.
func TestRebuildFromTheRing(t *testing.T) {
	settings := Settings{Step: 30 * time.Minute, Horizons: []int{1, 2, 3}, PerReplica: 5, Lead: 30 * time.Minute}
	for _, days := range []int{3, 36, 45, 73} {
		rate := wave(time.UTC, uint64(days))
		unbroken, rebuilt := newService(t, settings), newService(t, settings)
		now := monday.AddDate(0, 0, days).Add(5 * time.Hour)
		feed(unbroken, monday, now, rate)
		rebuilt.Replay(unbroken.Samples())
		differ, ticks := 0, 0
		for end := now.AddDate(0, 0, 16); now.Before(end); now = now.Add(settings.Step) {
			y := rate(now)
			unbroken.Observe(now, y, true)
			rebuilt.Observe(now, y, true)
			r := Request{Now: now.Add(settings.Step), Lead: 30 * time.Minute, Need: 1}
			a, b := unbroken.Plan(r).Replicas, rebuilt.Plan(r).Replicas
			ticks++
			if a != b {
				differ++
			}
			if a-b > 1 || b-a > 1 {
				t.Fatalf("after %d days, %v: %d and %d replicas", days, now, a, b)
			}
		}
		if differ*100 > ticks {
			t.Errorf("after %d days: %d of %d orders differ, at most 1 %%", days, differ, ticks)
		}
	}
}

func TestHorizonsDoNotDisturbEachOther(t *testing.T) {
	rates := sample(monday, 48*10, 30*time.Minute, wave(time.UTC, 12))
	settings := halfHours()
	settings.Horizons = []int{2}
	alone := run(t, settings, monday, rates)
	among := run(t, halfHours(), monday, rates)
	for i := range alone.values {
		if alone.values[i] != among.values[3*i+1] {
			t.Fatalf("forecast %d: %v and %v", i, alone.values[i], among.values[3*i+1])
		}
	}
}
