package scaler

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOverride(t *testing.T) {
	three, thirty := 3, 30
	base := slotPolicy(1, 10)
	for name, c := range map[string]struct {
		override Override
		busy     float64
		second   int
		n        int
	}{
		"minimum lifts the maximum": {Override{Min: &thirty}, 2, 0, 30},
		"maximum":                   {Override{Max: &three}, 8, 0, 3},
		"both":                      {Override{Min: &three, Max: &thirty}, 25, 0, 25},
		"not yet":                   {Override{Min: &thirty, From: caseStart.Add(time.Minute)}, 2, 59, 2},
		"from":                      {Override{Min: &thirty, From: caseStart.Add(time.Minute)}, 2, 60, 30},
		"over":                      {Override{Min: &thirty, To: caseStart.Add(time.Minute)}, 2, 60, 2},
	} {
		policy := base
		c.override.Reason = "launch"
		policy.Override = &c.override
		d, _ := tick(t, policy, State{}, c.second, c.busy, nil)
		if d.Replicas != c.n {
			t.Errorf("%s: %d, want %d", name, d.Replicas, c.n)
		}
		if active := d.Override != nil; active != slices.Contains(d.Reasons, ReasonOverride) || active != strings.Contains(d.Text, "launch") {
			t.Errorf("%s: override %v is not in %v and %q alike", name, d.Override, d.Reasons, d.Text)
		}
	}
}

// An override's maximum holds at once, the window notwithstanding; its minimum works while every source is missing.
func TestOverrideAtOnce(t *testing.T) {
	three, thirty := 3, 30
	policy := slotPolicy(1, 10)
	policy.ScaleDown = ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute}
	_, state := tick(t, policy, State{}, 0, 8, nil)
	policy.Override = &Override{Max: &three}
	if d, _ := tick(t, policy, state, 15, 8, nil); d.Replicas != 3 {
		t.Errorf("%d, want the maximum of the override", d.Replicas)
	}
	policy.Override = &Override{Min: &thirty}
	if d, _ := tick(t, policy, state, 900, -1, nil); d.Replicas != 30 || d.Unavailable != "" {
		t.Errorf("in an outage: %s", d.Text)
	}
	policy.Override = nil
	if d, next := tick(t, policy, state, 900, -1, nil); d.Unavailable == "" || next.N != 8 {
		t.Errorf("without an override: %s, last %d", d.Text, next.N)
	}
}

func TestFreeze(t *testing.T) {
	policy := slotPolicy(1, 100)
	_, state := tick(t, policy, State{}, 0, 8, nil)
	policy.Frozen, policy.FrozenReason = true, "incident 7"
	for second, busy := range map[int]float64{15: 40, 30: 1, 900: -1} {
		d, next := tick(t, policy, state, second, busy, nil)
		if d.Replicas != 8 || d.Limited != "freeze" || !strings.Contains(d.Text, "incident 7") || next.N != 8 {
			t.Errorf("at %ds: %s", second, d.Text)
		}
		if busy > 0 && d.Raw != int(busy) {
			t.Errorf("at %ds: raw %d, want %v", second, d.Raw, busy)
		}
	}
	if d, _ := tick(t, policy, State{}, 0, 5, nil); d.Unavailable == "" {
		t.Errorf("frozen without a last answer: %s", d.Text)
	}
	if d, _ := tick(t, policy, State{}, 0, 5, func(in *Inputs) { in.CurrentReplicas = 12 }); d.Replicas != 12 {
		t.Errorf("frozen at the present count: %s", d.Text)
	}
}

func TestText(t *testing.T) {
	policy := Policy{
		Namespace: "ai-prod", Name: "llm-7b", Min: 2, Max: 64, Concurrency: 16, MaxUtilization: 0.85,
		Sources: sources(Waiting, Running), ScaleDown: ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute},
		Forecast: ForecastLimit{MaxPrewarm: 0.5},
	}
	look := func(state State, minute int, busy, queue float64, change func(*Inputs)) (Decision, State) {
		now := caseStart.Add(time.Duration(minute) * time.Minute)
		in := at(now, map[Signal]float64{Running: busy, Waiting: queue})
		if change != nil {
			change(&in)
		}
		return Evaluate(policy, state, in, now)
	}
	d, state := look(State{}, 0, 100, 20, nil)
	want := "9 replicas: queue asks 8.82 (100 running + 20 waiting over 16 slots at 85 %)"
	if d.Text != want {
		t.Errorf("got  %s\nwant %s", d.Text, want)
	}
	d, state = look(state, 5, 96, 1, func(in *Inputs) {
		in.Pods = Pods{Known: true, Ready: 7, Starting: seconds(60, 70), StartTimes: seconds(200, 210, 220, 230, 240)}
		in.CurrentReplicas = 10
	})
	want = "9 replicas: queue asks 7.13 (96 running + 1 waiting over 16 slots at 85 %); held at 9 by the 10m window; " +
		"7 ready, 2 of 2 starting expected within 4m45s; the autoscaler stays at 10, within its tolerance"
	if d.Text != want || !d.HeldByTolerance || !slices.Contains(d.Reasons, ReasonTolerance) {
		t.Errorf("got  %s\nwant %s", d.Text, want)
	}
	d, _ = look(state, 16, 80, 0, func(in *Inputs) {
		delete(in.Signals, Waiting)
		in.Errors = map[Signal]string{Waiting: "timeout"}
		in.Forecast = &Forecast{Replicas: 12, Text: "days most like today say 44 req/s"}
	})
	want = "9 replicas: queue asks 5.88 (80 running over 16 slots at 85 %); " +
		"forecast asks 12 (days most like today say 44 req/s), not used; held at 9 by a missing source; waiting missing for 11m"
	if d.Text != want {
		t.Errorf("got  %s\nwant %s", d.Text, want)
	}
	if got := d.Signals[0]; got.Error != "timeout" || got.Age != 660 {
		t.Errorf("the signal's record is %+v", got)
	}
}
