package scaler

import (
	"slices"
	"testing"
	"time"
)

func TestForecastLimits(t *testing.T) {
	for name, c := range map[string]struct {
		forecast Forecast
		share    float64
		n        int
		binding  string
		reason   string
	}{
		"free":                     {Forecast{Replicas: 9, Used: true}, 0.5, 9, "forecast", ""},
		"shadow":                   {Forecast{Replicas: 9}, 0.5, 4, "queue", ReasonShadow},
		"share of the maximum":     {Forecast{Replicas: 19, Used: true}, 0.5, 14, "forecast", ReasonPrewarmLimit},
		"nothing allowed":          {Forecast{Replicas: 19, Used: true}, 0, 4, "queue", ReasonPrewarmLimit},
		"usual peak":               {Forecast{Replicas: 19, Used: true, Need995: 10}, 1, 12, "forecast", ReasonPrewarmLimit},
		"usual peak below present": {Forecast{Replicas: 19, Used: true, Need995: 2}, 1, 4, "queue", ReasonPrewarmLimit},
		"less than present":        {Forecast{Replicas: 2, Used: true}, 0.5, 4, "queue", ""},
	} {
		policy := slotPolicy(1, 20)
		policy.Forecast.MaxPrewarm = c.share
		d, _ := tick(t, policy, State{}, 0, 4, func(in *Inputs) { in.Forecast = &c.forecast })
		if d.Replicas != c.n || d.Binding != c.binding || (c.reason != "" && !slices.Contains(d.Reasons, c.reason)) {
			t.Errorf("%s: %d by %s %v, want %d by %s %s", name, d.Replicas, d.Binding, d.Reasons, c.n, c.binding, c.reason)
		}
		if vote, ok := voteOf(d, "forecast"); !ok || vote.Exact != float64(c.forecast.Replicas) || vote.Used != c.forecast.Used {
			t.Errorf("%s: the order is not recorded: %+v", name, vote)
		}
	}
}

// prewarmRun orders 10 replicas at 0 with a lead of 10 minutes; busy and ready say what comes after so many minutes.
func prewarmRun(t *testing.T, policy Policy, until int, busy, ready func(minute int) int) (Decision, State) {
	t.Helper()
	state := State{}
	var d Decision
	for minute := 0; minute <= until; minute++ {
		d, state = tick(t, policy, state, minute*60, float64(busy(minute)), func(in *Inputs) {
			in.Forecast = &Forecast{Replicas: 10, Used: true, Lead: 10 * time.Minute}
			in.Pods = Pods{Known: true, Ready: ready(minute)}
		})
	}
	return d, state
}

func constant(n int) func(int) int { return func(int) int { return n } }

// after is n from that minute on and before it m.
func after(minute, n, m int) func(int) int {
	return func(i int) int {
		if i >= minute {
			return n
		}
		return m
	}
}

func TestPrewarmRecord(t *testing.T) {
	policy := slotPolicy(1, 50)
	for name, c := range map[string]struct {
		busy, ready func(int) int
		want        PrewarmRecord
		n           int
	}{
		"hit":                                   {after(12, 9, 2), after(9, 10, 1), PrewarmRecord{Hits: 1}, 10},
		"half hit":                              {after(12, 5, 2), after(9, 10, 2), PrewarmRecord{Hits: 1}, 10},
		"late":                                  {after(12, 9, 2), after(14, 10, 2), PrewarmRecord{Late: 1}, 10},
		"early":                                 {after(5, 9, 2), after(9, 10, 2), PrewarmRecord{Late: 1}, 10},
		"miss":                                  {constant(4), after(9, 10, 2), PrewarmRecord{Misses: 1}, 4},
		"came, and went before the target time": {func(i int) int { return after(6, 2, 7)(i) }, constant(10), PrewarmRecord{Hits: 1}, 10},
	} {
		d, _ := prewarmRun(t, policy, 24, c.busy, c.ready)
		if d.Prewarm == nil || d.Prewarm.Open != 1 || d.Replicas != 10 {
			t.Errorf("%s, before the end: %+v, %s", name, d.Prewarm, d.Text)
		}
		if d, _ = prewarmRun(t, policy, 25, c.busy, c.ready); *d.Prewarm != c.want || d.Replicas != c.n {
			t.Errorf("%s: %+v, want %+v; %s", name, *d.Prewarm, c.want, d.Text)
		}
	}
}

// A missed order stops to vote until the load comes after all, or a larger order comes.
func TestMissIsReleased(t *testing.T) {
	policy := slotPolicy(1, 50)
	_, state := prewarmRun(t, policy, 25, constant(4), constant(10))
	order := func(n int) func(*Inputs) {
		return func(in *Inputs) { in.Forecast = &Forecast{Replicas: n, Used: true, Lead: 10 * time.Minute} }
	}
	d, next := tick(t, policy, state, 26*60, 4, order(10))
	if d.Replicas != 4 || !slices.Contains(d.Reasons, ReasonPrewarmReleased) {
		t.Errorf("released: %s %v", d.Text, d.Reasons)
	}
	if d, _ = tick(t, policy, next, 27*60, 4, order(8)); d.Replicas != 4 {
		t.Errorf("a smaller order: %s", d.Text)
	}
	for name, c := range map[string]struct {
		busy, order, n int
	}{"a larger order": {4, 11, 11}, "the load comes": {5, 10, 10}} {
		if d, _ = tick(t, policy, next, 27*60, float64(c.busy), order(c.order)); d.Replicas != c.n {
			t.Errorf("%s: %s", name, d.Text)
		}
	}
	d, next = tick(t, policy, next, 27*60, 4, order(3))
	if next.Released != 0 {
		t.Errorf("the forecast fell, but %d are still released: %s", next.Released, d.Text)
	}
	// With its margin an order may stay above the load for ever; half of what was missed is another order.
	if d, after := tick(t, policy, state, 27*60, 4, order(5)); after.Released != 0 || d.Replicas != 5 {
		t.Errorf("the peak that did not come is over: %d released, %s", after.Released, d.Text)
	}
	// Unknown load is no miss.
	policy.Sources = sources(Running, Rate)
	if _, state = prewarmRun(t, policy, 25, constant(4), constant(10)); state.Released != 0 {
		t.Error("a miss was counted while a source of the demand was missing")
	}
}

// Three misses within 24 hours are said, so that the predictor goes to shadow; a day later they are forgotten.
func TestThreeMisses(t *testing.T) {
	policy := slotPolicy(1, 50)
	state, reasons := State{}, map[int]int{}
	var d Decision
	for minute := 0; minute <= 26*60; minute++ {
		d, state = tick(t, policy, state, minute*60, 2, func(in *Inputs) {
			in.Forecast = &Forecast{Used: true, Lead: 10 * time.Minute}
			if phase := minute % 60; minute < 180 && phase < 40 {
				in.Forecast.Replicas = 10
			}
		})
		if slices.Contains(d.Reasons, ReasonMisses) {
			reasons[d.Prewarm.Misses]++
		}
	}
	if reasons[3] < 20*60 || len(reasons) != 1 {
		t.Errorf("minutes by number of misses: %v", reasons)
	}
	if slices.Contains(d.Reasons, ReasonMisses) || (d.Prewarm != nil && d.Prewarm.Misses > 1) {
		t.Errorf("a day later: %+v", d.Prewarm)
	}
}
