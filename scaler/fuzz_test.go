package scaler

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzState evaluates with a state that was stored by anybody: the answer stays within the limits, whatever it says.
func FuzzState(f *testing.F) {
	policy := Policy{
		Min: 1, Max: 20, Concurrency: 8, QueuePerReplica: 5, Sources: sources(Waiting, Running, Utilization),
		ScaleDown: ScaleDown{Window: time.Minute, MaxStep: 0.2, Period: time.Minute}, Forecast: ForecastLimit{MaxPrewarm: 1},
	}
	state := State{}
	for i := range 4 {
		now := caseStart.Add(time.Duration(i) * 15 * time.Second)
		in := utilised(now, 0.9, 4, map[Signal]float64{Waiting: float64(20 * i), Running: 30})
		in.Forecast = &Forecast{Replicas: 9, Used: true}
		_, state = Evaluate(policy, state, in, now)
		data, err := json.Marshal(state)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"n":-9,"need":99999999,"valid":true,"computed":[{"n":-4}],"utilizationUps":[{"n":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var stored State
		if json.Unmarshal(data, &stored) != nil {
			return
		}
		for _, form := range []QueueForm{FormAuto, FormWaiting} {
			policy.Form = form
			now := caseStart.Add(time.Hour)
			in := utilised(now, 0.9, 4, map[Signal]float64{Waiting: 3, Running: 30})
			in.Forecast = &Forecast{Replicas: 9, Used: true}
			d, _ := Evaluate(policy, stored, in, now)
			if d.Unavailable == "" && (d.Replicas < policy.Min || d.Replicas > policy.Max) {
				t.Fatalf("%s", d.Text)
			}
		}
	})
}
