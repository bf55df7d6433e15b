package policy

import (
	"math"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
)

var monday = time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)

func season(t testing.TB, days int) *sim.Load {
	t.Helper()
	s := trace.Pattern{Name: "season", Start: monday, Days: days, Step: 5 * time.Minute, Mean: 1, Daily: 0.7, PeakHour: 15, Noise: 0.05}.Draw(1)
	l, err := sim.NewLoad(s, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func env(l *sim.Load) Env { return Env{Load: l, Startup: 5 * time.Minute, Min: 1, Max: 64} }

func run(t testing.TB, l *sim.Load, name string, knob float64) sim.Result {
	t.Helper()
	p, err := New(name, env(l), knob)
	if err != nil {
		t.Fatal(err)
	}
	half := l.Start.Add(l.End().Sub(l.Start) / 2).Truncate(24 * time.Hour)
	return sim.Run(l, p, sim.RunOptions{Startup: 5 * time.Minute, ScoreFrom: half, RunIn: 24 * time.Hour, Min: 1, Max: 64, HourlyCost: 1})
}

// TestEveryPolicyServes runs each policy with its customary setting over four scored days.
func TestEveryPolicyServes(t *testing.T) {
	l := season(t, 8)
	results := map[string]sim.Result{}
	for _, name := range Names() {
		knob, err := Standard(name)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r := run(t, l, name, knob)
		results[name] = r
		t.Logf("%-18s on time %.4f  GPU-hours %6.1f  changes %4d  short %4d min  p99 %s  (%.2f s)", name,
			1-float64(r.Late)/float64(r.Requests), r.GPUHours, r.Changes, r.ShortMinutes, r.P99, time.Since(began).Seconds())
		if r.Requests < 1_000_000 || r.GPUHours <= 0 {
			t.Errorf("%s: %d requests, %v GPU-hours", name, r.Requests, r.GPUHours)
		}
	}
	for name, r := range results {
		if name != "oracle" && r.Late < results["oracle"].Late && r.GPUHours < results["oracle"].GPUHours {
			t.Errorf("%s beats the oracle in both", name)
		}
	}
}

// TestSweepRunsFromCarefulToFrugal: for each policy the first value costs more than the last, and is not later. A queue
// alone says so little that its settings hardly differ: hence the tolerance; and below a minimum that is too low it swings
// so far that it costs more than a high one.
func TestSweepRunsFromCarefulToFrugal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every policy twice")
	}
	l := season(t, 4)
	for _, name := range Names() {
		values, _, err := Sweep(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(values) < 2 {
			continue
		}
		careful, frugal := run(t, l, name, values[0]), run(t, l, name, values[len(values)-1])
		if (name != "hpa-queue-min" && careful.GPUHours <= frugal.GPUHours) || float64(careful.Late) > 1.01*float64(frugal.Late) {
			t.Errorf("%s: %v costs %.0f with %d late, %v costs %.0f with %d late", name, values[0], careful.GPUHours, careful.Late,
				values[len(values)-1], frugal.GPUHours, frugal.Late)
		}
	}
}

func TestUnknownPolicy(t *testing.T) {
	if _, err := New("magic", Env{}, 1); err == nil || err.Error() == "" {
		t.Error("an unknown policy was made")
	}
}

// TestThreshold checks the rule step by step.
func TestThreshold(t *testing.T) {
	p := newThreshold(Env{}, 0.8)
	at := monday
	for i, c := range []struct {
		after   time.Duration
		n       int
		util    float64
		waiting int
		want    int
	}{
		{0, 4, 0.9, 0, 5},
		{15 * time.Second, 5, 0.9, 0, 5},
		{time.Minute, 5, 0.5, 30, 6},
		{time.Minute, 6, 0.2, 0, 6},
		{5 * time.Minute, 6, 0.2, 0, 5},
		{5 * time.Minute, 5, 0.2, 1, 5},
		{time.Minute, 5, 0.5, 0, 5},
	} {
		at = at.Add(c.after)
		if got := p.Act(sim.Observation{Now: at, Replicas: c.n, Ready: c.n, Utilization: c.util, Waiting: c.waiting}); got != c.want {
			t.Errorf("step %d: %d, want %d", i, got, c.want)
		}
	}
}

// TestKnativePanics: a burst is answered by the panic window, and nothing is removed until it is a minute past.
func TestKnativePanics(t *testing.T) {
	p := newKnative(Env{}, 0.7)
	at := monday
	act := func(concurrency, ready int) int {
		at = at.Add(knativeTick)
		return p.Act(sim.Observation{Now: at, Replicas: ready, Ready: ready, Running: concurrency})
	}
	for range 60 {
		if got := act(11, 1); got != 1 {
			t.Fatalf("steady load of one replica gives %d", got)
		}
	}
	for range knativePanic {
		act(112, 1)
	}
	if got := act(112, 1); got != 10 {
		t.Errorf("the panic window asks for %d, want 10", got)
	}
	for range knativeStable - 1 {
		if got := act(0, 10); got < 10 {
			t.Fatalf("%d replicas %s after the panic", got, at.Sub(monday))
		}
	}
	for range knativeStable {
		act(0, 10)
	}
	if got := act(0, 10); got != 5 {
		t.Errorf("%d replicas after the panic, want half", got)
	}
}

// TestCronWindow: the floor of the busy hours is there one start-up time before they begin.
func TestCronWindow(t *testing.T) {
	e := Env{Load: &sim.Load{MeanHold: sim.MeanServiceTime}, Startup: 5 * time.Minute, Min: 1, Max: 64}
	p := newKEDACron(e, 1).(*kedaCron)
	for i := range 7 * perDay {
		at := monday.Add(time.Duration(i) * sim.Slot)
		rate := 2.0
		if h := at.Hour(); h >= 9 && h < 18 {
			rate = 16
		}
		p.Slot(at, rate)
	}
	p.planned = time.Time{}
	p.Slot(monday.AddDate(0, 0, 7), 2)
	if p.from != 9 || p.to != 18 || p.floor != int(math.Ceil(16/1.6)) {
		t.Fatalf("window %d to %d, floor %d", p.from, p.to, p.floor)
	}
	for minutes, want := range map[int]int{8*60 + 54: 2, 8*60 + 55: 10, 17*60 + 59: 10} {
		at := monday.AddDate(0, 0, 7).Add(time.Duration(minutes) * time.Minute)
		q := *p
		q.hpa = sim.NewExactHPA(1, 64)
		if got := q.Act(sim.Observation{Now: at, Replicas: 1, Ready: 1, Rate: 2}); got != want {
			t.Errorf("%d min after midnight: %d, want %d", minutes, got, want)
		}
	}
}
