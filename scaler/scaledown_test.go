package scaler

import (
	"slices"
	"testing"
	"time"
)

// tick evaluates a service of one slot per replica with so many requests.
func tick(t *testing.T, policy Policy, state State, seconds int, busy float64, change func(*Inputs)) (Decision, State) {
	t.Helper()
	now := caseStart.Add(time.Duration(seconds) * time.Second)
	in := at(now, map[Signal]float64{Running: busy})
	if busy < 0 {
		in = at(now, nil)
	}
	if change != nil {
		change(&in)
	}
	return Evaluate(policy, state, in, now)
}

// The way down: the window first, then steps of a fifth, one per period.
func TestWayDown(t *testing.T) {
	policy := slotPolicy(1, 100)
	policy.Startup.Lead = time.Second
	policy.ScaleDown = ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute}
	_, state := tick(t, policy, State{}, 0, 40, nil)
	want := map[int]int{600: 40, 615: 32, 900: 32, 915: 26, 1215: 21, 1515: 17, 1815: 14, 2115: 12, 2415: 10, 2715: 10}
	var d Decision
	for second := 15; second <= 2715; second += 15 {
		d, state = tick(t, policy, state, second, 10, nil)
		if n, ok := want[second]; ok && d.Replicas != n {
			t.Errorf("after %ds: %d, want %d: %s", second, d.Replicas, n, d.Text)
		}
	}
	if d.Limited != "" {
		t.Errorf("at rest still limited by %s", d.Limited)
	}
}

// The window is at least the lead, and is rebuilt from nothing by the present count.
func TestWindowCoversLead(t *testing.T) {
	policy := slotPolicy(1, 100)
	policy.ScaleDown.Window = time.Minute
	_, state := tick(t, policy, State{}, 0, 20, nil)
	d, state := tick(t, policy, state, 345, 2, nil)
	if d.Replicas != 20 {
		t.Errorf("inside the lead of 345s: %d, want 20", d.Replicas)
	}
	if d, _ = tick(t, policy, state, 346, 2, nil); d.Replicas != 2 {
		t.Errorf("after the lead: %d, want 2", d.Replicas)
	}
	d, _ = tick(t, policy, State{}, 0, 2, func(in *Inputs) { in.CurrentReplicas = 9 })
	if d.Replicas != 9 || !slices.Contains(d.Reasons, ReasonFirstWindow) {
		t.Errorf("the first answer is %d %v, want the present 9", d.Replicas, d.Reasons)
	}
}

// What is computed during an outage is no evidence: when the source is back, a whole window has to pass.
func TestOutageRestartsWindow(t *testing.T) {
	policy := slotPolicy(1, 100)
	policy.Startup.Lead = time.Second
	policy.Sources = sources(Running, KVCache)
	policy.ScaleDown.Window = 10 * time.Minute
	for name, cache := range map[string]float64{"one source": 0.1, "all sources": -1} {
		set := func(in *Inputs) {
			if cache >= 0 {
				in.Signals[KVCache] = []Sample{{At: caseStart.Add(10 * time.Hour), Value: cache}}
			}
		}
		both := func(in *Inputs) { in.Signals[KVCache] = []Sample{{At: caseStart.Add(10 * time.Hour), Value: 0.1}} }
		_, state := tick(t, policy, State{}, 0, 20, both)
		var d Decision
		for second := 15; second <= 3600; second += 15 {
			d, state = tick(t, policy, state, second, -1, set)
			if d.Unavailable == "" && d.Replicas != 20 {
				t.Fatalf("%s: %d during the outage", name, d.Replicas)
			}
		}
		if d, state = tick(t, policy, state, 3615, 2, both); d.Replicas != 20 {
			t.Errorf("%s: %d right after the outage, want 20", name, d.Replicas)
		}
		if d, _ = tick(t, policy, state, 3615+601, 2, both); d.Replicas != 2 {
			t.Errorf("%s: %d a window later, want 2", name, d.Replicas)
		}
	}
}

func TestStaleNeverLowers(t *testing.T) {
	policy := slotPolicy(0, 100)
	policy.Sources = sources(Running, KVCache)
	both := func(in *Inputs) { in.Signals[KVCache] = []Sample{{At: caseStart, Value: 0.1}} }
	_, state := tick(t, policy, State{}, 0, 20, both)
	d, state := tick(t, policy, state, 15, 3, nil)
	if d.Replicas != 20 || !slices.Contains(d.Reasons, ReasonStale) || d.Limited != "stale" {
		t.Errorf("%d %v", d.Replicas, d.Reasons)
	}
	if d, _ = tick(t, policy, state, 30, 3, both); d.Replicas != 3 {
		t.Errorf("%d with both sources, want 3", d.Replicas)
	}
}

// Latency never votes, so its absence holds nothing.
func TestLatencyHoldsNothing(t *testing.T) {
	policy := slotPolicy(0, 100)
	policy.Sources = sources(Running, Latency)
	_, state := tick(t, policy, State{}, 0, 20, nil)
	if d, _ := tick(t, policy, state, 900, 3, nil); d.Replicas != 3 || len(d.Missing) != 1 {
		t.Errorf("%d, missing %v", d.Replicas, d.Missing)
	}
}

func TestZero(t *testing.T) {
	policy := slotPolicy(0, 10)
	policy.IdleAfter = 10 * time.Minute
	policy.Startup.Lead = time.Minute
	ready := func(in *Inputs) { in.Pods = Pods{Known: true, Ready: 2} }
	_, state := tick(t, policy, State{}, 0, 2, ready)
	for _, step := range []struct {
		second int
		change func(*Inputs)
		n      int
		reason string
	}{
		{599, ready, 1, ReasonIdle},
		{600, func(in *Inputs) { ready(in); in.Forecast = &Forecast{Used: true, NeedWithin: true} }, 1, ReasonForecastHold},
		{601, func(in *Inputs) { ready(in); in.Forecast = &Forecast{NeedWithin: true} }, 0, ""},
		{602, func(in *Inputs) { in.Pods = Pods{Known: true, Starting: seconds(59)} }, 1, ReasonStarting},
		{603, func(in *Inputs) { in.Pods = Pods{Known: true, Starting: seconds(301)} }, 0, ""},
		{604, nil, 0, ""},
	} {
		d, _ := tick(t, policy, state, step.second, 0, step.change)
		if d.Replicas != step.n || d.Active != (step.n > 0) || (step.reason != "" && !slices.Contains(d.Reasons, step.reason)) {
			t.Errorf("at %ds: %d %v, want %d %s", step.second, d.Replicas, d.Reasons, step.n, step.reason)
		}
	}
	// Right after a restart nobody knows the present count: no answer is better than zero.
	if d, _ := tick(t, policy, State{}, 0, 0, nil); d.Unavailable == "" {
		t.Errorf("zero in the first window: %s", d.Text)
	}
	if d, _ := tick(t, policy, State{}, 0, 0, func(in *Inputs) { in.CurrentReplicas = 2 }); d.Replicas != 1 {
		t.Errorf("%d in the first window, want 1", d.Replicas)
	}
}

// 0 to 1 to N: a service at zero whose only source is exported by its replicas can be woken by the forecast.
func TestForecastWakesFromZero(t *testing.T) {
	policy := slotPolicy(0, 10)
	policy.Sources = []Source{{Signal: Running, OnlyWhenReady: true}}
	none := Pods{Known: true}
	_, state := tick(t, policy, State{}, 0, 0, func(in *Inputs) { in.Pods = none; in.CurrentReplicas = 0 })
	d, state := tick(t, policy, state, 600, -1, func(in *Inputs) { in.Pods = none })
	if d.Unavailable != "" || d.Replicas != 0 || d.Active {
		t.Errorf("at zero: %s", d.Text)
	}
	d, state = tick(t, policy, state, 615, -1, func(in *Inputs) { in.Pods = none; in.Forecast = &Forecast{Replicas: 3, Used: true} })
	if d.Replicas != 3 || !d.Active || d.Binding != "forecast" {
		t.Errorf("with a forecast: %s", d.Text)
	}
	d, _ = tick(t, policy, state, 630, -1, func(in *Inputs) { in.Pods = Pods{Known: true, Starting: seconds(15, 15, 15)} })
	if d.Replicas != 3 || !slices.Contains(d.Reasons, ReasonNoSignalAtZero) {
		t.Errorf("while they start: %s", d.Text)
	}
}

func TestHoldForForecast(t *testing.T) {
	policy := slotPolicy(1, 50)
	policy.Startup.Lead = 5 * time.Minute
	_, state := tick(t, policy, State{}, 0, 20, nil)
	soon, late := caseStart.Add(10*time.Minute), caseStart.Add(11*time.Minute) // break-even is the lead
	for name, c := range map[string]struct {
		forecast *Forecast
		n        int
	}{
		"none":                      {nil, 4},
		"in shadow":                 {&Forecast{NeedAgain: soon}, 4},
		"again within twice lead":   {&Forecast{Used: true, NeedAgain: soon}, 20},
		"again later":               {&Forecast{Used: true, NeedAgain: late}, 4},
		"just what is needed again": {&Forecast{Used: true, Upcoming: []Target{{At: soon, N: 9}, {At: late, N: 30}}}, 9},
		"never raised":              {&Forecast{Used: true, Upcoming: []Target{{At: soon, N: 30}}}, 20},
	} {
		if d, _ := tick(t, policy, state, 1, 4, func(in *Inputs) { in.Forecast = c.forecast }); d.Replicas != c.n {
			t.Errorf("%s: %d, want %d", name, d.Replicas, c.n)
		}
	}
}
