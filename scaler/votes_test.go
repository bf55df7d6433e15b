package scaler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at gives every signal one sample at that time.
func at(now time.Time, values map[Signal]float64) Inputs {
	in := Inputs{Signals: map[Signal][]Sample{}, CurrentReplicas: -1, HPATolerance: DefaultHPATolerance}
	for s, v := range values {
		in.Signals[s] = []Sample{{At: now, Value: v}}
	}
	return in
}

func sources(signals ...Signal) []Source {
	list := make([]Source, len(signals))
	for i, s := range signals {
		list[i] = Source{Signal: s}
	}
	return list
}

func voteOf(d Decision, name string) (Vote, bool) {
	for _, v := range d.Votes {
		if v.Name == name {
			return v, true
		}
	}
	return Vote{}, false
}

func TestQueueForms(t *testing.T) {
	base := Policy{Max: 100, Concurrency: 8, ServiceTime: 8 * time.Second, MaxUtilization: 0.8, DrainTime: time.Minute}
	byRate, byCount := base, base
	byRate.Sources, byCount.Sources = sources(Waiting, Rate), sources(Waiting, Running)
	for _, v := range []struct {
		policy   Policy
		signal   Signal
		value, q float64
		exact    float64
		n        int
	}{
		{byRate, Rate, 5, 24, 6.75, 7},
		{byRate, Rate, 0, 3, 0.0625, 1},
		{byRate, Rate, 4.4, 18, 5.875, 6},
		{byRate, Rate, 0, 0, 0, 0},
		{byCount, Running, 20, 6, 4.0625, 5},
		{byCount, Running, 24, 18, 6.5625, 7},
		{byCount, Running, 6, 0, 0.9375, 1},
		{byCount, Running, 0, 0, 0, 0},
	} {
		in := at(caseStart, map[Signal]float64{v.signal: v.value, Waiting: v.q})
		d, _ := Evaluate(v.policy, State{}, in, caseStart)
		vote, ok := voteOf(d, "queue")
		if !ok || d.Replicas != v.n {
			t.Errorf("%s %v, %v waiting: %d replicas, want %d", v.signal, v.value, v.q, d.Replicas, v.n)
		}
		near(t, "exact", vote.Exact, v.exact, 1e-9)
	}
}

// A rate that is configured beside the running count votes as well.
func TestRateVotesBesideConcurrency(t *testing.T) {
	policy := Policy{
		Max: 100, Concurrency: 8, ServiceTime: 8 * time.Second, MaxUtilization: 0.8, Sources: sources(Waiting, Running, Rate),
	}
	d, _ := Evaluate(policy, State{}, at(caseStart, map[Signal]float64{Waiting: 0, Running: 6, Rate: 4}), caseStart)
	if d.Replicas != 5 || d.Binding != "rate" {
		t.Errorf("%d by %s, want 5 by rate", d.Replicas, d.Binding)
	}
}

// With a wait probability, Erlang C takes the place of the fixed share.
func TestWaitModel(t *testing.T) {
	policy := Policy{
		Max: 100, Concurrency: 16, ServiceTime: 8 * time.Second, WaitProbability: 0.05, Sources: sources(Waiting, Rate),
	}
	for rate, n := range map[float64]int{12: 8, 40: 22, 0: 0} {
		d, _ := Evaluate(policy, State{}, at(caseStart, map[Signal]float64{Waiting: 0, Rate: rate}), caseStart)
		if d.Replicas != n {
			t.Errorf("rate %v: %d, want %d", rate, d.Replicas, n)
		}
	}
	policy.Sources = sources(Waiting, Running)
	d, _ := Evaluate(policy, State{}, at(caseStart, map[Signal]float64{Waiting: 20, Running: 300}), caseStart)
	if d.Replicas != 22 {
		t.Errorf("320 in the system: %d, want 22", d.Replicas)
	}
}

func TestDownVote(t *testing.T) {
	for busy, n := range map[float64]int{1.6: 3, 3.6: 6, 0.72: 2, 0.1: 1, 0: 1} {
		if got := downVote(busy, 0.8); got != n {
			t.Errorf("%v busy: %d, want %d", busy, got, n)
		}
	}
}

func TestDownStep(t *testing.T) {
	for n, lower := range map[int]int{3: 2, 5: 4, 9: 8, 10: 8, 14: 12, 40: 32} {
		if got := n - downStep(n, 0.2); got != lower {
			t.Errorf("%d steps to %d, want %d", n, got, lower)
		}
	}
}

// utilised gives three samples of utilisation that end now.
func utilised(now time.Time, u float64, ready int, others map[Signal]float64) Inputs {
	in := at(now, others)
	for i := range 3 {
		in.Signals[Utilization] = append(in.Signals[Utilization], Sample{At: now.Add(time.Duration(i-2) * 5 * time.Second), Value: u})
	}
	in.Pods = Pods{Known: true, Ready: ready}
	return in
}

func TestUtilizationNeedsCorroboration(t *testing.T) {
	policy := Policy{Max: 50, Concurrency: 10, Form: FormConcurrency, Sources: sources(Waiting, Running, Utilization, KVCache)}
	for _, c := range []struct {
		name   string
		others map[Signal]float64
		used   bool
	}{
		{"nothing", map[Signal]float64{Waiting: 0, Running: 4, KVCache: 0.5}, false},
		{"waiting", map[Signal]float64{Waiting: 1, Running: 4, KVCache: 0.5}, true},
		{"near capacity", map[Signal]float64{Waiting: 0, Running: 32, KVCache: 0.5}, true},
		{"cache", map[Signal]float64{Waiting: 0, Running: 4, KVCache: 0.81}, true},
		{"cache at the border", map[Signal]float64{Waiting: 0, Running: 4, KVCache: 0.8}, false},
	} {
		d, _ := Evaluate(policy, State{}, utilised(caseStart, 0.9, 4, c.others), caseStart)
		vote, ok := voteOf(d, "utilisation")
		if !ok || vote.Used != c.used || vote.Replicas != 5 {
			t.Errorf("%s: %+v", c.name, vote)
		}
	}
	in := utilised(caseStart, 0.9, 4, map[Signal]float64{Waiting: 9, Running: 30, KVCache: 0.9})
	in.Pods = Pods{}
	d, _ := Evaluate(policy, State{}, in, caseStart)
	if _, ok := voteOf(d, "utilisation"); ok || !cmp.Equal(d.Reasons, []string{ReasonReadyUnknown}) {
		t.Errorf("without the ready count: %+v %v", d.Votes, d.Reasons)
	}
}

// The utilisation vote may add four replicas, or as many as there were, in a minute; the queue may add any number.
func TestUtilizationUpLimit(t *testing.T) {
	policy := Policy{Max: 100, Concurrency: 1, MaxUtilization: 1, Form: FormConcurrency, Sources: sources(Waiting, Running, Utilization)}
	state := State{N: 3, Need: 3, Valid: true, Since: caseStart}
	var d Decision
	for _, step := range []struct {
		second  int
		ready   int
		waiting float64
		n       int
	}{
		{0, 30, 1, 7}, {15, 30, 1, 7}, {45, 30, 1, 7}, {60, 30, 1, 14}, {75, 30, 20, 20}, {120, 60, 1, 40},
	} {
		now := caseStart.Add(time.Duration(step.second) * time.Second)
		d, state = Evaluate(policy, state, utilised(now, 0.8, step.ready, map[Signal]float64{Waiting: step.waiting, Running: 0}), now)
		if d.Replicas != step.n {
			t.Errorf("at %ds: %d, want %d: %s", step.second, d.Replicas, step.n, d.Text)
		}
	}
}

// The down-vote holds only if every sample of the window was there, low, and without a queue; it never raises the need.
func TestDownVoteNeedsWholeWindow(t *testing.T) {
	policy := Policy{
		Max: 50, QueuePerReplica: 5, Sources: sources(Waiting, Utilization), Startup: StartupRule{Lead: time.Second},
		ScaleDown: ScaleDown{Window: 2 * time.Minute},
	}
	type sample struct{ u, waiting float64 }
	quiet := sample{0.2, 0}
	for name, c := range map[string]struct {
		odd   sample
		ready int
		need  int
		n     int
	}{
		"quiet":                 {quiet, 8, 8, 3},
		"busy once":             {sample{0.3, 0}, 8, 8, 8},
		"waiting once":          {sample{0.2, 1}, 8, 8, 8},
		"utilisation lost once": {sample{-1, 0}, 8, 8, 8},
		"waiting lost once":     {sample{0.2, -1}, 8, 8, 8},
		"more busy than needed": {quiet, 40, 4, 4},
	} {
		state := State{N: c.need, Need: c.need, Valid: true, Since: caseStart}
		var d Decision
		for second := 0; second <= 255; second += 15 {
			now, s, values := caseStart.Add(time.Duration(second)*time.Second), quiet, map[Signal]float64{}
			if second == 90 {
				s = c.odd
			}
			if s.u >= 0 {
				values[Utilization] = s.u
			}
			if s.waiting >= 0 {
				values[Waiting] = s.waiting
			}
			in := at(now, values)
			in.Pods = Pods{Known: true, Ready: c.ready}
			d, state = Evaluate(policy, state, in, now)
		}
		if d.Replicas != c.n {
			t.Errorf("%s: %s, want %d", name, d.Text, c.n)
		}
	}
}

// A source votes until its sample is older than the hold time; a clock that is ahead does not prolong it.
func TestHoldTime(t *testing.T) {
	policy := slotPolicy(0, 10)
	policy.StaleAfter = 60 * time.Second
	for _, ahead := range []time.Duration{0, time.Hour} {
		in := slotInputs(3, -1)
		in.Signals[Running][0].At = caseStart.Add(ahead)
		_, state := Evaluate(policy, State{}, in, caseStart)
		if d, _ := tick(t, policy, state, 60, -1, nil); d.Replicas != 3 {
			t.Errorf("%v ahead, at the end of the hold time: %s", ahead, d.Text)
		}
		if d, _ := tick(t, policy, state, 61, -1, nil); d.Unavailable == "" {
			t.Errorf("%v ahead, after the hold time: %s", ahead, d.Text)
		}
	}
}

// An old utilisation belongs to the replicas of its time: those that became ready since do not multiply it.
func TestStaleUtilizationKeepsItsVote(t *testing.T) {
	policy := Policy{Max: 100, Concurrency: 10, Form: FormConcurrency, Sources: sources(Waiting, Running, Utilization)}
	_, state := Evaluate(policy, State{}, utilised(caseStart, 0.9, 4, map[Signal]float64{Waiting: 1, Running: 30}), caseStart)
	now := caseStart.Add(30 * time.Second)
	in := at(now, map[Signal]float64{Waiting: 1, Running: 30})
	in.Pods = Pods{Known: true, Ready: 40}
	d, _ := Evaluate(policy, state, in, now)
	if vote, ok := voteOf(d, "utilisation"); !ok || vote.Replicas != 5 || !vote.Stale {
		t.Errorf("%+v, want 4 x 0.9 / 0.8: %s", vote, d.Text)
	}
}

// Waiting requests alone never lower the count; a service that was never evaluated starts from what is running.
func TestWaitingFormStartsFromPresent(t *testing.T) {
	policy := Policy{Max: 20, QueuePerReplica: 5, Sources: sources(Waiting)}
	in := at(caseStart, map[Signal]float64{Waiting: 0})
	in.CurrentReplicas = 6
	d, state := Evaluate(policy, State{}, in, caseStart)
	if d.Replicas != 6 || d.Binding != "last" {
		t.Errorf("%d by %s: %s", d.Replicas, d.Binding, d.Text)
	}
	later := caseStart.Add(time.Hour)
	if d, _ = Evaluate(policy, state, at(later, map[Signal]float64{Waiting: 11}), later); d.Replicas != 6 {
		t.Errorf("%d, want the last 6", d.Replicas)
	}
}

func TestPresentation(t *testing.T) {
	for x, n := range map[float64]int{-3: 0, 0: 0, 1e-10: 0, 0.2: 1, 6.9999999999: 7, 7.0000000001: 7, 7.1: 8, 1e12: 1<<31 - 1} {
		if got := CeilGuard(x); got != n {
			t.Errorf("%v rounds to %d, want %d", x, got, n)
		}
	}
	if i, f := Wire(-4); i != 0 || f != 0 {
		t.Errorf("a negative target is sent as %d and %v", i, f)
	}
	if HeldByTolerance(0, 3, 0.1) || HeldByTolerance(10, 11, 0) || HeldByTolerance(10, 10, 0.1) || HeldByTolerance(10, 11, -1) {
		t.Error("held without a tolerance, a count or a difference")
	}
}
