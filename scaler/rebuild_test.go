package scaler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawHistory draws a service's past: its demand by steps of 15 s, with gaps.
func drawHistory(t *rapid.T, policy Policy, steps int) []Inputs {
	var list []Inputs
	level, u := 0.0, 0.0
	for i := range steps {
		now := caseStart.Add(time.Duration(i) * defaultStep)
		if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
			level = float64(rapid.SampledFrom([]int{0, 1, 8, 40, 200}).Draw(t, "level"))
			u = rapid.SampledFrom([]float64{0.05, 0.2, 0.6, 0.95}).Draw(t, "utilisation")
		}
		in := Inputs{Signals: map[Signal][]Sample{}, CurrentReplicas: -1}
		for _, source := range policy.Sources {
			if rapid.IntRange(0, 7).Draw(t, "lost") == 0 {
				continue
			}
			value := level
			if source.Signal == Utilization || source.Signal == KVCache {
				value = u
			}
			in.Signals[source.Signal] = []Sample{{At: now.Add(-time.Second), Value: value}}
		}
		list = append(list, in)
	}
	return list
}

// A restart at any point: within the scale-down window the target is never below that of an unbroken run, as long as the
// present count is known, or the state was stored, or the history reaches back to the beginning.
func TestRestartNeverScalesDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		policy.ScaleDown.Window = rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute}).Draw(t, "window")
		for i := range policy.Sources {
			policy.Sources[i].OnlyWhenReady = false
		}
		steps := rapid.IntRange(2, 60).Draw(t, "length")
		inputs := drawHistory(t, policy, steps)
		restart := rapid.IntRange(1, steps-1).Draw(t, "restart")
		known := rapid.SampledFrom([]string{"current", "stored", "history"}).Draw(t, "known")

		unbroken, history := State{}, History{Signals: map[Signal][]Sample{}, Current: -1}
		from := 0
		if known != "history" {
			from = max(0, restart-rapid.IntRange(0, 20).Draw(t, "reach"))
		}
		at := func(i int) time.Time { return caseStart.Add(time.Duration(i) * defaultStep) }
		for i, in := range inputs[:restart] {
			_, unbroken = Evaluate(policy, unbroken, in, at(i))
			for s, samples := range in.Signals {
				if i >= from {
					history.Signals[s] = append(history.Signals[s], samples...)
				}
			}
		}
		switch {
		case known == "history":
		case !unbroken.Valid:
			return // nothing was ever answered that could be kept
		case known == "stored":
			history.Stored = unbroken
		default:
			history.Current = unbroken.N
		}
		rebuilt := Rebuild(policy, history, at(restart-1))
		for i := restart; i < steps; i++ {
			if at(i).Sub(at(restart-1)) > policy.ScaleDown.Window {
				break
			}
			var a, b Decision
			a, unbroken = Evaluate(policy, unbroken, inputs[i], at(i))
			b, rebuilt = Evaluate(policy, rebuilt, inputs[i], at(i))
			if b.Unavailable == "" && a.Unavailable == "" && b.Replicas < a.Replicas {
				t.Fatalf("after a restart at %d, step %d:\n%s\nunbroken: %s", restart, i, b.Text, a.Text)
			}
		}
	})
}

func TestRebuild(t *testing.T) {
	policy := slotPolicy(0, 100)
	policy.IdleAfter = 10 * time.Minute
	policy.ScaleDown = ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute}
	var samples []Sample
	for minute := range 30 {
		busy := 4.0
		if minute == 24 {
			busy = 12
		}
		samples = append(samples, Sample{At: caseStart.Add(time.Duration(minute) * time.Minute), Value: busy})
	}
	now := caseStart.Add(29 * time.Minute)
	for name, c := range map[string]struct {
		history History
		valid   bool
		n       int
	}{
		"the peak of the window":   {History{Signals: map[Signal][]Sample{Running: samples}, Current: -1}, true, 12},
		"more is running":          {History{Signals: map[Signal][]Sample{Running: samples}, Current: 20}, true, 20},
		"fewer are running":        {History{Signals: map[Signal][]Sample{Running: samples}, Current: 3}, true, 12},
		"only the present count":   {History{Current: 7}, true, 7},
		"above the maximum":        {History{Current: 700}, true, 100},
		"nothing":                  {History{Current: -1}, false, 0},
		"stored":                   {History{Stored: State{N: 9, Valid: true, Since: caseStart}, Current: -1}, true, 9},
		"more is stored":           {History{Signals: map[Signal][]Sample{Running: samples}, Stored: State{N: 14, Valid: true, Computed: []Target{{At: now.Add(-5 * time.Minute), N: 14}}}, Current: 3}, true, 14},
		"stored long ago":          {History{Stored: State{N: 14, Valid: true, Computed: []Target{{At: now.Add(-time.Hour), N: 14}}}, Current: 3}, true, 3},
		"asleep":                   {History{Current: 0}, true, 0},
		"older than the look back": {History{Signals: map[Signal][]Sample{Running: {{At: now.Add(-48 * time.Hour), Value: 90}}}, Current: 2}, true, 2},
	} {
		state := Rebuild(policy, c.history, now)
		if state.Valid != c.valid || state.N != c.n {
			t.Errorf("%s: %d (valid %v), want %d", name, state.N, state.Valid, c.n)
		}
		d, _ := Evaluate(policy, state, at(now.Add(15*time.Second), map[Signal]float64{Running: 0}), now.Add(15*time.Second))
		if c.valid && d.Replicas != c.n {
			t.Errorf("%s: the next answer is %s, want %d", name, d.Text, c.n)
		}
		if !c.valid && d.Unavailable == "" {
			t.Errorf("%s: zero right after a restart: %s", name, d.Text)
		}
	}
}

// Every rule for the way down starts anew with a restart, each by itself.
func TestRebuildStartsEveryRule(t *testing.T) {
	running, waiting := slotPolicy(0, 100), Policy{Max: 100, QueuePerReplica: 5, Sources: sources(Waiting)}
	window, step, idle := running, running, running
	window.ScaleDown.Window = 10 * time.Minute
	step.ScaleDown = ScaleDown{MaxStep: 0.2, Period: 5 * time.Minute}
	idle.IdleAfter = 10 * time.Minute
	stored := State{N: 9, Need: 9, Valid: true, Computed: []Target{{At: caseStart, N: 9}}}
	for name, c := range map[string]struct {
		policy  Policy
		history History
		seconds int
		n       int
	}{
		"window":              {window, History{Current: 7}, 600, 7},
		"after the window":    {window, History{Current: 7}, 601, 0},
		"step":                {step, History{Current: 7}, 299, 7},
		"after the period":    {step, History{Current: 7}, 300, 6},
		"idle time":           {idle, History{Current: 7}, 599, 1},
		"after the idle time": {idle, History{Current: 7}, 600, 0},
		"last need":           {waiting, History{Current: 7}, 3600, 7},
		"stored need":         {waiting, History{Current: -1, Stored: stored}, 3600, 9},
	} {
		now := caseStart.Add(time.Duration(c.seconds) * time.Second)
		state := Rebuild(c.policy, c.history, caseStart)
		d, _ := Evaluate(c.policy, state, at(now, map[Signal]float64{Running: 0, Waiting: 0}), now)
		if d.Replicas != c.n {
			t.Errorf("%s: %s, want %d", name, d.Text, c.n)
		}
	}
}

// What only the stored state knows survives: prewarms, what was released, and what was learned.
func TestRebuildKeepsStored(t *testing.T) {
	stored := State{
		Since: caseStart, Prewarms: []Prewarm{{At: caseStart, Covered: 8}}, Ordered: 8, Released: 5,
		Observed: Observed{At: caseStart, Weight: 40, X: 80, Y: 10},
	}
	state := Rebuild(slotPolicy(1, 10), History{Stored: stored, Current: 4}, caseStart.Add(time.Minute))
	if len(state.Prewarms) != 1 || state.Ordered != 8 || state.Released != 5 || state.Observed.Weight != 40 {
		t.Errorf("%+v", state)
	}
}

// The replay is bounded, whatever the history.
func TestRebuildIsBounded(t *testing.T) {
	r := replay{history: &History{Signals: map[Signal][]Sample{Running: {{At: caseStart.AddDate(-1, 0, 0)}}}}}
	if got := r.start(caseStart, defaultStep); caseStart.Sub(got) > maxReplay {
		t.Errorf("the replay starts at %v", got)
	}
	ready := History{Ready: []Sample{{At: caseStart, Value: 3}}, Signals: map[Signal][]Sample{}}
	r = replay{history: &ready, next: map[Signal]int{}}
	if in := r.inputs(caseStart.Add(time.Minute), 0); !in.Pods.Known || in.Pods.Ready != 3 {
		t.Errorf("ready pods of the history: %+v", in.Pods)
	}
	if in := r.inputs(caseStart.Add(time.Hour), 0); in.Pods.Known {
		t.Error("an old count of ready pods is believed")
	}
}
