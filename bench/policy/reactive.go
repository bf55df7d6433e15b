package policy

import (
	"time"

	"github.com/warmpool/warmpool/bench/sim"
)

// noSlots is a policy that keeps no history.
type noSlots struct{}

// Slot implements sim.Policy.
func (noSlots) Slot(time.Time, float64) {}

// hpaQueue is a horizontal pod autoscaler on the number of waiting requests per replica, as the guides of the serving
// engines set it up.
type hpaQueue struct {
	noSlots
	name   string
	hpa    *sim.HPA
	target float64
}

func newHPAQueue(e Env, target float64) sim.Policy {
	return &hpaQueue{name: "hpa-queue", hpa: sim.NewHPA(e.Min, e.Max), target: target}
}

// usualWaiting is the number of waiting requests per replica that those guides suggest.
const usualWaiting = 5

// newHPAQueueMinimum is the same rule behind a minimum that an operator sets from the mean need: an empty queue asks for
// no replica at all, so that without one the autoscaler goes to 1 and back.
func newHPAQueueMinimum(e Env, share float64) sim.Policy {
	need := e.Load.Series.MeanRate() / e.rate()
	return &hpaQueue{name: "hpa-queue-min", hpa: sim.NewHPA(min(e.Max, max(e.Min, ceilGuard(share*need))), e.Max), target: usualWaiting}
}

// Name implements sim.Policy.
func (p *hpaQueue) Name() string { return p.name }

// Interval implements sim.Policy.
func (p *hpaQueue) Interval() time.Duration { return sim.HPASync }

// Act implements sim.Policy.
func (p *hpaQueue) Act(o sim.Observation) int {
	return p.hpa.Sync(o.Now, o.Replicas, o.Ready, sim.Average(float64(o.Waiting), p.target))
}

// hpaUtilization is a horizontal pod autoscaler on GPU utilisation, here the share of busy slots.
type hpaUtilization struct {
	noSlots
	hpa    *sim.HPA
	target float64
}

func newHPAUtilization(e Env, target float64) sim.Policy {
	return &hpaUtilization{hpa: sim.NewHPA(e.Min, e.Max), target: target}
}

// Name implements sim.Policy.
func (p *hpaUtilization) Name() string { return "hpa-gpu" }

// Interval implements sim.Policy.
func (p *hpaUtilization) Interval() time.Duration { return sim.HPASync }

// Act implements sim.Policy.
func (p *hpaUtilization) Act(o sim.Observation) int {
	return p.hpa.Sync(o.Now, o.Replicas, o.Ready, sim.Utilization(o.Utilization, p.target, o.Ready, o.Replicas))
}

// The rule that warmpool began with: queue depth 5 and utilisation 0.8 up, utilisation 0.3 down, one step down at a
// time, a cooldown between any two steps.
const (
	thresholdQueue    = 5.0
	thresholdDown     = 0.3
	thresholdCooldown = time.Minute
	thresholdDownRest = 5 * time.Minute
)

type threshold struct {
	noSlots
	up      float64
	changed time.Time
}

func newThreshold(_ Env, up float64) sim.Policy { return &threshold{up: up} }

// Name implements sim.Policy.
func (p *threshold) Name() string { return "threshold" }

// Interval implements sim.Policy.
func (p *threshold) Interval() time.Duration { return sim.HPASync }

// Act implements sim.Policy.
func (p *threshold) Act(o sim.Observation) int {
	n := o.Replicas
	rest := o.Now.Sub(p.changed)
	// The queue threshold follows the utilisation threshold, so that one number tunes the rule.
	queue := thresholdQueue * p.up / 0.8
	switch {
	case rest < thresholdCooldown:
		return n
	case float64(o.Waiting) > queue*float64(o.Ready) || o.Utilization > p.up:
		n++
	case o.Utilization < thresholdDown && o.Waiting == 0 && rest >= thresholdDownRest:
		n--
	default:
		return n
	}
	p.changed = o.Now
	return n
}

// knative is the pod autoscaler of Knative Serving on concurrency: the mean over a stable window of a minute, a panic
// window of six seconds that takes over when it asks for twice the ready pods, no scale-down while in panic, at most
// half of the pods removed at a time.
type knative struct {
	noSlots
	target  float64 // concurrent requests per replica
	window  [knativeStable]float64
	filled  int
	panics  time.Time
	highest int
}

const (
	knativeTick      = 2 * time.Second
	knativeStable    = 30 // ticks of the stable window
	knativePanic     = 3  // ticks of the panic window
	knativeThreshold = 2.0
	knativeDownRate  = 2.0
	knativeUpRate    = 1000.0
)

func newKnative(_ Env, share float64) sim.Policy { return &knative{target: share * sim.Slots} }

// Name implements sim.Policy.
func (p *knative) Name() string { return "knative" }

// Interval implements sim.Policy.
func (p *knative) Interval() time.Duration { return knativeTick }

// Act implements sim.Policy.
func (p *knative) Act(o sim.Observation) int {
	copy(p.window[1:], p.window[:])
	p.window[0] = float64(o.Waiting + o.Running)
	p.filled = min(p.filled+1, knativeStable)
	ready := float64(max(o.Ready, 1))
	want := func(ticks int) int {
		var sum float64
		ticks = min(ticks, p.filled)
		for _, v := range p.window[:ticks] {
			sum += v
		}
		n := sum / float64(ticks) / p.target
		return ceilGuard(max(min(n, ready*knativeUpRate), float64(int(ready/knativeDownRate))))
	}
	stable, panicking := want(knativeStable), want(knativePanic)
	if float64(panicking) >= knativeThreshold*ready {
		p.panics = o.Now
	}
	if p.panics.IsZero() || o.Now.Sub(p.panics) > knativeStable*knativeTick {
		p.panics, p.highest = time.Time{}, 0
		return stable
	}
	p.highest = max(p.highest, panicking, stable, o.Ready)
	return p.highest
}
