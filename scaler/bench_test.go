package scaler

import (
	"testing"
	"time"
)

// BenchmarkEvaluate is one service of a tick: four sources, pods, a forecast, and a window that holds.
func BenchmarkEvaluate(b *testing.B) {
	policy := Policy{
		Namespace: "ai-prod", Name: "llm-7b", Min: 2, Max: 64, Concurrency: 16, MaxUtilization: 0.85, QueuePerReplica: 5,
		Sources: sources(Waiting, Running, Utilization, KVCache), Forecast: ForecastLimit{MaxPrewarm: 0.5},
		ScaleDown: ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute},
	}
	starts := seconds(212, 218, 225, 231, 240, 244, 251, 262, 270, 283, 301, 334, 371, 612)
	forecast := &Forecast{Replicas: 12, Used: true, Text: "days most like today say 44 req/s"}
	state, now := State{}, caseStart
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in := Inputs{
			Signals: map[Signal][]Sample{
				Waiting: {{now, float64(i % 7)}}, Running: {{now, float64(100 + i%50)}}, Utilization: {{now, 0.7}}, KVCache: {{now, 0.5}},
			},
			Pods:            Pods{Known: true, Ready: 9, Starting: seconds(40, 50), StartTimes: starts},
			Forecast:        forecast,
			CurrentReplicas: 11, HPATolerance: DefaultHPATolerance,
		}
		_, state = Evaluate(policy, state, in, now)
		now = now.Add(15 * time.Second)
	}
}
