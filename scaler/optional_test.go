package scaler

import (
	"slices"
	"testing"
	"time"
)

// TestOptionalSources scales down where no exporter measures GPUs, unless somebody asked for it.
func TestOptionalSources(t *testing.T) {
	start := time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)
	for _, optional := range []bool{true, false} {
		policy := Policy{
			Namespace: "ns", Name: "s", Min: 1, Max: 20, Concurrency: 8, MaxUtilization: 0.8, QueuePerReplica: 5, StaleAfter: 90 * time.Second,
			Sources:     []Source{{Signal: Waiting}, {Signal: Running}, {Signal: Utilization, Optional: optional}},
			Utilization: UtilizationRule{ScaleUp: 0.8, ScaleDown: 0.3, Samples: 3, MaxUpCount: 4, MaxUpPercent: 100, MaxUpPeriod: time.Minute},
			Startup:     StartupRule{Lead: time.Minute},
		}
		var state State
		var d Decision
		for i := range 120 {
			now := start.Add(time.Duration(i) * 15 * time.Second)
			running := 60.0
			if i > 2 {
				running = 6
			}
			inputs := Inputs{CurrentReplicas: -1, HPATolerance: -1, Signals: map[Signal][]Sample{
				Waiting: {{At: now, Value: 0}}, Running: {{At: now, Value: running}},
			}, Errors: map[Signal]string{Utilization: "no data"}}
			d, state = Evaluate(policy, state, inputs, now)
		}
		// 60 running need 60/(8 x 0.8) = 10 replicas, 6 need one.
		want, missing := 10, true
		if optional {
			want, missing = 1, false
		}
		if d.Replicas != want || slices.Contains(d.Missing, Utilization) != missing {
			t.Errorf("optional %t: %d replicas, missing %v; want %d", optional, d.Replicas, d.Missing, want)
		}
		if len(d.Signals) != 3 || d.Signals[2].Error != "no data" {
			t.Errorf("optional %t: the record lacks the source: %+v", optional, d.Signals)
		}
	}
}
