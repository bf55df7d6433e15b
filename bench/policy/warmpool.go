package policy

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// warmpool is the production engine behind KEDA and an autoscaler as warmpool's examples set it. It sees the replay as
// its metric store and its cluster.
type warmpool struct {
	name   string
	hpa    *sim.HPA
	engine *engine.Engine
	id     string
	now    time.Time
	seen   sim.Observation
	became time.Time
	// rates holds the slots that are over, from the first one on.
	rates []float64
	first time.Time
	env   Env
	// foreseen is what the forecast alone orders, in replicas; -1 without one.
	foreseen float64
}

// The names of the one service of a replay.
const (
	replayNamespace = "replay"
	replayService   = "service"
)

// planned is the planned share of a replica while the forecast is used, as documentation suggests it for services whose
// requests may wait a few seconds.
const planned = 0.95

// newWarmpool is warmpool with its forecast in use. At the frugal end the present plans with full replicas.
func newWarmpool(e Env, maxShort float64) (sim.Policy, error) {
	share := planned
	if maxShort >= 0.05 {
		share = 1
	}
	return newForecasting("warmpool", e, maxShort, share)
}

// newWarmpoolDefault has every setting but the mode at its default: the planned share is the same with and without a
// forecast.
func newWarmpoolDefault(e Env, maxShort float64) (sim.Policy, error) {
	return newForecasting("warmpool-default", e, maxShort, 0)
}

func newForecasting(name string, e Env, maxShort, share float64) (sim.Policy, error) {
	return newEngine(name, e, fmt.Sprintf(`
    perReplica: {concurrency: %d, serviceTime: %s}
    forecast: {mode: active, rate: gateway, maxShort: %v%%, maxUtilization: %v, timeZone: UTC, maxPrewarm: 100%%}`,
		sim.Slots, e.Load.MeanHold.Round(time.Millisecond), 100*maxShort, share))
}

// newWarmpoolReactive turns both planned shares with one dial; at 0.85 both have their defaults.
func newWarmpoolReactive(e Env, utilization float64) (sim.Policy, error) {
	return newEngine("warmpool-reactive", e, fmt.Sprintf(`
    perReplica: {concurrency: %d, serviceTime: %s, maxUtilization: %v}
    gpuUtilization: {scaleUp: %.4f}
    forecast: {mode: "off"}`, sim.Slots, e.Load.MeanHold.Round(time.Millisecond), utilization, min(1, utilization*0.8/0.85)))
}

func newEngine(name string, e Env, settings string) (sim.Policy, error) {
	c, err := config.Parse("replay.yaml", fmt.Appendf(nil, `apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://prometheus.replay.invalid}
evaluationInterval: 15s
services:
  - name: %s
    namespace: %s
    replicas: {min: %d, max: %d}
    preset: vllm
    selector: {model_name: replay}
    queries: {rate: 'sum(rate(gateway_requests_total{namespace="replay"}[1m]))'}
    startup: {lead: %s}
%s
`, replayService, replayNamespace, e.Min, e.Max, e.Startup+sim.HPASync, settings))
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", name, err)
	}
	p := &warmpool{name: name, hpa: sim.NewExactHPA(e.Min, e.Max), env: e}
	p.engine, err = engine.New(engine.Options{Config: c, Source: p, Cluster: p, Clock: func() time.Time { return p.now }})
	if err != nil {
		return nil, fmt.Errorf("engine of %s: %w", name, err)
	}
	p.id, err = p.engine.Resolve(engine.Trigger{
		Namespace: replayNamespace, ScaledObject: replayService, Metadata: map[string]string{"service": replayService},
	})
	if err != nil {
		return nil, fmt.Errorf("trigger of %s: %w", name, err)
	}
	return p, nil
}

// Name implements sim.Policy.
func (p *warmpool) Name() string { return p.name }

// Interval implements sim.Policy.
func (p *warmpool) Interval() time.Duration { return sim.HPASync }

// Slot implements sim.Policy.
func (p *warmpool) Slot(start time.Time, rate float64) {
	if p.rates == nil {
		p.first = start
	}
	p.rates = append(p.rates, rate)
	p.now = start.Add(sim.Slot)
}

// Foreseen implements sim.Foreseer.
func (p *warmpool) Foreseen() float64 { return p.foreseen }

// Act implements sim.Policy.
func (p *warmpool) Act(o sim.Observation) int {
	if o.Ready > p.seen.Ready {
		p.became = o.Now
	}
	p.now, p.seen = o.Now, o
	// Asking keeps the trigger alive, as every poll of KEDA does.
	if _, err := p.engine.Resolve(engine.Trigger{
		Namespace: replayNamespace, ScaledObject: replayService, Metadata: map[string]string{"service": replayService},
	}); err != nil {
		return o.Replicas
	}
	ctx := context.Background()
	p.engine.Tick(ctx, o.Now)
	p.engine.Backfill(ctx)
	d, err := p.engine.Target(p.id)
	if err != nil || d.Unavailable != "" {
		return o.Replicas
	}
	p.foreseen = -1
	if f := d.Forecast; f != nil && f.Used {
		p.foreseen = float64(f.Replicas)
	}
	return p.hpa.Sync(o.Now, o.Replicas, o.Ready, sim.Average(float64(d.Replicas), 1))
}

// Read implements engine.Source.
func (p *warmpool) Read(_ context.Context, at time.Time, services [][]config.Query,
	report func(service, query int, samples []scaler.Sample, err error),
) {
	for s, queries := range services {
		for q := range queries {
			v, err := p.value(queries[q].Signal)
			if err != nil {
				report(s, q, nil, err)
				continue
			}
			report(s, q, []scaler.Sample{{At: at, Value: v}}, nil)
		}
	}
}

func (p *warmpool) value(signal scaler.Signal) (float64, error) {
	o := &p.seen
	if signal == scaler.Rate {
		return o.Rate, nil
	}
	if o.Ready == 0 {
		return 0, fmt.Errorf("no sample of %s: no replica is ready", signal)
	}
	switch signal {
	case scaler.Waiting:
		return float64(o.Waiting), nil
	case scaler.Running:
		return float64(o.Running), nil
	case scaler.Utilization:
		return o.Utilization, nil
	case scaler.KVCache:
		return o.Utilization, nil
	case scaler.Latency:
		return p.env.Load.MeanHold.Seconds(), nil
	}
	return 0, fmt.Errorf("no sample of %s in a replay", signal)
}

// Rewind implements engine.Source: a replay begins with an empty past.
func (p *warmpool) Rewind(_ context.Context, _, _ time.Time, _ time.Duration, services [][]config.Query,
	report func(service, query int, samples []scaler.Sample, err error),
) {
	for s, queries := range services {
		for q := range queries {
			report(s, q, nil, nil)
		}
	}
}

// History implements engine.Source.
func (p *warmpool) History(_ context.Context, _ config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	if slot != sim.Slot {
		return nil, fmt.Errorf("history in slots of %s: a replay has slots of %s", slot, sim.Slot)
	}
	out := make([]float64, 0, int(to.Sub(from)/slot))
	for at := from; at.Before(to); at = at.Add(slot) {
		v := math.NaN()
		if i := int(at.Sub(p.first) / slot); !at.Before(p.first) && i < len(p.rates) {
			v = p.rates[i]
		}
		out = append(out, v)
	}
	return out, nil
}

// ExpanderView implements engine.Cluster: nodes are no part of this replay.
func (p *warmpool) ExpanderView(time.Time) expander.View { return expander.View{} }

// Pods implements engine.Cluster.
func (p *warmpool) Pods(_, object string) scaler.Pods {
	if object != replayService {
		return scaler.Pods{}
	}
	return scaler.Pods{Known: true, Ready: p.seen.Ready, Starting: p.seen.Starting, BecameReady: p.became}
}
