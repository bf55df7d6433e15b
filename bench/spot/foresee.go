package main

import (
	"fmt"
	"math"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/predictor"
)

const (
	// slot is the grid of the predictor, coldLead the time from an order to a replica that serves on a new node.
	slot     = 5 * time.Minute
	coldLead = sim.BootMax + modelLoad
)

// foresee is what package predictor orders at each of the last ticks, in replicas, from what came before: 0 while it
// would not use its forecast.
func foresee(name string, start time.Time, need []float64, last int) ([]float64, error) {
	p, err := predictor.New(predictor.Settings{
		Name: name, Step: slot, Calendar: predictor.Calendar{Location: time.UTC}, PerReplica: 1, Lead: coldLead, Mode: predictor.Active,
	})
	if err != nil {
		return nil, fmt.Errorf("forecast of %s: %w", name, err)
	}
	per := ticksOf(slot)
	out := make([]float64, last)
	from := len(need) - last
	for i := 0; i+per <= len(need); i += per {
		sum := 0.0
		for _, v := range need[i : i+per] {
			sum += v
		}
		p.Observe(start.Add(time.Duration(i)*tick), sum/float64(per), true)
		end := i + per
		if end+per <= from || end >= len(need) {
			continue
		}
		plan := p.Plan(predictor.Request{
			Now: start.Add(time.Duration(end) * tick), Lead: coldLead, Need: int(math.Ceil(need[end-1] - 1e-9)),
		})
		if plan.Mode != predictor.Active {
			continue
		}
		for at := max(end, from); at < min(end+per, len(need)); at++ {
			out[at-from] = float64(plan.Replicas)
		}
	}
	return out, nil
}
