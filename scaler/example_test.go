package scaler_test

import (
	"fmt"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// A service of 16 requests per replica is busy, then its metrics fail.
func ExampleEvaluate() {
	policy := scaler.Policy{
		Namespace: "ai-prod", Name: "llm-7b", Min: 2, Max: 64,
		Concurrency: 16, MaxUtilization: 0.85, StaleAfter: 90 * time.Second,
		Sources: []scaler.Source{{Signal: scaler.Waiting}, {Signal: scaler.Running}},
	}
	now := time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)
	inputs := scaler.Inputs{CurrentReplicas: -1, Signals: map[scaler.Signal][]scaler.Sample{
		scaler.Waiting: {{At: now, Value: 15}}, scaler.Running: {{At: now, Value: 100}},
	}}
	decision, state := scaler.Evaluate(policy, scaler.State{}, inputs, now)
	fmt.Println(decision.Text)

	inputs.Signals = nil
	decision, state = scaler.Evaluate(policy, state, inputs, now.Add(time.Minute))
	fmt.Println(decision.Text)
	decision, _ = scaler.Evaluate(policy, state, inputs, now.Add(2*time.Minute))
	fmt.Println(decision.Text)
	// Output:
	// 9 replicas: queue asks 8.46 (100 running + 15 waiting over 16 slots at 85 %)
	// 9 replicas: queue asks 8.46 (100 running + 15 waiting over 16 slots at 85 %, last known value); waiting is 1m old; running is 1m old
	// no answer: every source has been missing for longer than the hold time
}
