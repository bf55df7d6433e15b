package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
)

// reading is what the virtual metric store scraped at one moment.
type reading struct {
	at     time.Time
	values map[scaler.Signal]float64
}

// scrape reads the gauges of the service. Without a ready replica the engine's own series do not exist; the gateway's
// do.
func (w *world) scrape() {
	now := w.queue.Now()
	r := reading{at: now, values: map[scaler.Signal]float64{
		scaler.Rate: w.load.Rate(now.Add(-sim.RateWindow), now),
	}}
	if ready := len(w.readyBefore); ready > 0 {
		busy := float64(w.queue.Running()) / float64(ready*sim.Slots)
		r.values[scaler.Waiting] = float64(w.queue.Waiting())
		r.values[scaler.Running] = float64(w.queue.Running())
		r.values[scaler.Utilization] = min(busy, 1)
		r.values[scaler.KVCache] = min(0.9*busy, 1)
		r.values[scaler.Latency] = sim.MeanServiceTime.Seconds()
	}
	w.recorded = append(w.recorded, r)
}

// remember fills the metric store with the quiet hour before the day, which was served by the smallest number of
// replicas.
func (w *world) remember() {
	begin, rates := w.load.Series.Resample(sim.Slot)
	for at := w.start.Add(-time.Hour); !at.After(w.start); at = at.Add(sim.HPASync) {
		rate := rates[int(at.Sub(begin)/sim.Slot)]
		running := min(rate*sim.MeanServiceTime.Seconds(), smallest*sim.Slots)
		busy := running / (smallest * sim.Slots)
		w.recorded = append(w.recorded, reading{at: at, values: map[scaler.Signal]float64{
			scaler.Rate: rate, scaler.Waiting: 0, scaler.Running: running, scaler.Utilization: busy, scaler.KVCache: 0.9 * busy,
			scaler.Latency: sim.MeanServiceTime.Seconds(),
		}})
	}
}

// Read implements engine.Source: every service is the one of the demo.
func (w *world) Read(_ context.Context, at time.Time, services [][]config.Query,
	report func(service, query int, samples []scaler.Sample, err error),
) {
	w.Rewind(context.Background(), at, at, sim.HPASync, services, report)
}

// Rewind implements engine.Source.
func (w *world) Rewind(_ context.Context, from, to time.Time, _ time.Duration, services [][]config.Query,
	report func(service, query int, samples []scaler.Sample, err error),
) {
	for s, queries := range services {
		for q := range queries {
			samples := w.samples(queries[q].Signal, from, to)
			var err error
			if len(samples) == 0 {
				err = fmt.Errorf("no sample of %s: no replica is ready", queries[q].Signal)
			}
			report(s, q, samples, err)
		}
	}
}

// samples finds the readings from the one before a span on.
func (w *world) samples(signal scaler.Signal, from, to time.Time) []scaler.Sample {
	var out []scaler.Sample
	for i := len(w.recorded) - 1; i >= 0; i-- {
		r := &w.recorded[i]
		if r.at.After(to) {
			continue
		}
		if len(out) > 0 && r.at.Before(from) || to.Sub(r.at) > time.Hour+to.Sub(from) {
			break
		}
		v, ok := r.values[signal]
		if !ok {
			break
		}
		out = append([]scaler.Sample{{At: r.at, Value: v}}, out...)
	}
	return out
}

// History implements engine.Source: the gateway's counts, before and during the day.
func (w *world) History(_ context.Context, _ config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	start, rates := w.load.Series.Resample(slot)
	out := make([]float64, 0, int(to.Sub(from)/slot))
	for at := from; at.Before(to); at = at.Add(slot) {
		v := math.NaN()
		switch i := int(at.Sub(start) / slot); {
		case !at.Before(w.start) && !at.Add(slot).After(w.seen.Load().now):
			v = w.load.Rate(at, at.Add(slot))
		case at.Before(w.start) && !at.Before(start) && i < len(rates):
			v = rates[i]
		}
		out = append(out, v)
	}
	return out, nil
}

// ExpanderView implements engine.Cluster.
func (w *world) ExpanderView(time.Time) expander.View { return w.seen.Load().view }

// ReplicasOf implements engine.TargetReader.
func (w *world) ReplicasOf(_, object string, _ time.Time) (link.Target, *expander.Pod, bool) {
	if object != scaledObject {
		return link.Target{}, nil, false
	}
	s := w.seen.Load()
	target := s.target
	target.Replicas = slices.Clone(target.Replicas) // the engine completes them
	return target, s.example, true
}

// Accelerators implements engine.UseReader.
func (w *world) Accelerators() (offered, held map[string]int, ok bool) {
	offered, held = map[string]int{}, map[string]int{}
	for _, g := range w.seen.Load().groups {
		offered[g.ID], held[g.ID] = g.GPUs, g.HeldGPUs
	}
	return offered, held, true
}

// Pods implements engine.Cluster.
func (w *world) Pods(_, object string) scaler.Pods {
	if object != scaledObject {
		return scaler.Pods{}
	}
	return w.seen.Load().pods
}
