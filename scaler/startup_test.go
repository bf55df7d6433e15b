package scaler

import (
	"testing"
	"time"
)

func seconds(values ...int) []time.Duration {
	list := make([]time.Duration, len(values))
	for i, v := range values {
		list[i] = time.Duration(v) * time.Second
	}
	return list
}

// TestLead is the case llm-d-1071 of the predictor: the horizon is a constant, while a pod needs between two and eight
// minutes.
func TestLead(t *testing.T) {
	rule := StartupRule{Prior: 300 * time.Second}
	for _, c := range []struct {
		starts []time.Duration
		lead   float64
		source string
	}{
		{seconds(212, 218, 225, 231, 240, 244, 251, 262, 270, 283, 301, 334, 371, 612), 416, "learned"},
		{seconds(410, 520), 565, "prior"},
		{nil, 345, "prior"},
		{seconds(150, 160, 155, 170, 165), 215, "learned"},
	} {
		lead := Lead(rule, c.starts)
		p90 := c.lead - (pollDelay + syncDelay).Seconds()
		if got := quantile(withPrior(rule, c.starts), 0.9); got.Seconds() != p90 {
			t.Errorf("%v: 90 %% start in %v, want %v s", c.starts, got, p90)
		}
		if lead.Seconds != c.lead || lead.Source != c.source || lead.Samples != len(c.starts) {
			t.Errorf("%v: %+v, want %v %s", c.starts, lead, c.lead, c.source)
		}
	}
	if lead := Lead(StartupRule{Push: true}, nil); lead.Seconds != 315 {
		t.Errorf("with push: %v, want 315", lead.Seconds)
	}
	fixed := StartupRule{Lead: 9 * time.Minute}
	if lead := Lead(fixed, seconds(1)); lead.Seconds != 540 || lead.Source != "configured" {
		t.Errorf("configured: %+v", lead)
	}
}

func TestStuckAfter(t *testing.T) {
	starts := seconds(100, 900, 200, 300, 400)
	if got := stuckAfter(StartupRule{}, withPrior(StartupRule{}, starts)); got != 900*time.Second {
		t.Errorf("stuck after %v, want the 99 %% start", got)
	}
	if got := stuckAfter(StartupRule{Lead: 20 * time.Minute}, withPrior(StartupRule{}, starts)); got != 20*time.Minute {
		t.Errorf("stuck after %v, before the configured lead", got)
	}
	if starts[1] != 900*time.Second {
		t.Error("the recorded starts were sorted in place")
	}
}

func TestReadyInTime(t *testing.T) {
	starts := seconds(360, 420, 420, 480, 480, 540, 540, 600, 660, 840)
	if p := ReadyInTime(starts, 2*time.Minute, 10*time.Minute); p != 0.9 {
		t.Errorf("P %v, want 0.9", p)
	}
	if p := ReadyInTime(starts, 20*time.Minute, 10*time.Minute); p != 0 {
		t.Errorf("P %v of a pod older than every start", p)
	}
	// The decision adds it up, and the target does not contain it: 3.6 of 4 in time, 10 replicas needed.
	policy := slotPolicy(0, 100)
	policy.Startup.Lead = 10 * time.Minute
	in := slotInputs(10, -1)
	two := 2 * time.Minute
	in.Pods = Pods{Known: true, Ready: 4, Starting: []time.Duration{two, two, two, two}, StartTimes: starts}
	d, _ := Evaluate(policy, State{}, in, caseStart)
	near(t, "ready in time", d.ReadyInTime, 3.6, 1e-9)
	if d.Replicas != 10 {
		t.Errorf("%d replicas, want 10", d.Replicas)
	}
}

func TestSurge(t *testing.T) {
	for _, v := range []struct{ need, stuck, leads, n int }{
		{10, 0, 0, 10}, {10, 1, 0, 11}, {10, 5, 4, 11}, {30, 5, 1, 32}, {30, 5, 6, 33}, {4, 3, 2, 5}, {0, 2, 5, 0},
	} {
		if n := v.need + Surge(v.need, v.stuck, v.leads); n != v.n {
			t.Errorf("%+v: %d", v, n)
		}
	}
}

// Stuck pods are replaced by one more per lead, never by more than a tenth of the need, and the surge is never added to
// itself.
func TestSurgeOverTime(t *testing.T) {
	policy := slotPolicy(0, 100)
	policy.Startup.Lead = 10 * time.Minute
	state := State{}
	for _, step := range []struct{ minutes, n int }{{0, 30}, {9, 30}, {11, 31}, {21, 32}, {41, 33}, {200, 33}} {
		now := caseStart.Add(time.Duration(step.minutes) * time.Minute)
		in := slotInputs(30, -1)
		in.Signals[Running][0].At = now
		age := time.Duration(step.minutes) * time.Minute
		in.Pods = Pods{Known: true, Ready: 24, Starting: []time.Duration{age, age, age, age, age, age}}
		var d Decision
		d, state = Evaluate(policy, state, in, now)
		if d.Replicas != step.n || d.Need != 30 || d.Surge != step.n-30 {
			t.Errorf("after %dm: %d (need %d, surge %d), want %d", step.minutes, d.Replicas, d.Need, d.Surge, step.n)
		}
	}
}
