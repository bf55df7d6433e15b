package hpa

import (
	"math"
	"slices"
	"time"
)

// State is what the autoscaler remembers; the zero value is a new one.
type State struct {
	recommendations []change
	ups, downs      []change
}

type change struct {
	at time.Time
	n  int
}

// Sync is one look of the controller at its metrics. It returns the count it writes into the scale target.
func Sync(spec Spec, state State, scale Scale, metrics []Metric, now time.Time) (int, State) {
	switch {
	case scale.Spec == 0 && spec.Min > 0:
		return 0, state // switched off at zero
	case scale.Spec > spec.Max:
		return spec.Max, state.record(scale.Spec, spec.Max, now)
	case scale.Spec < spec.Min:
		return spec.Min, state.record(scale.Spec, spec.Min, now)
	}
	wanted, ok := Proposal(spec, scale, metrics)
	if !ok {
		return scale.Spec, state
	}
	wanted, state = state.stabilise(spec, scale.Spec, wanted, now)
	if spec.Behavior == nil {
		wanted = min(wanted, max(legacyFactor*scale.Spec, legacyPods))
	} else {
		wanted = spec.Behavior.limit(state, scale.Spec, wanted, now)
	}
	wanted = max(spec.Min, min(wanted, spec.Max))
	return wanted, state.record(scale.Spec, wanted, now)
}

// Proposal is the count that the metrics ask for before stabilisation, rates and limits: the largest of the valid
// ones. With a metric that cannot be read there is no proposal below the present count, and without any valid metric
// none at all.
func Proposal(spec Spec, scale Scale, metrics []Metric) (int, bool) {
	best, valid, failed := 0, false, false
	for _, m := range metrics {
		if m.Err {
			failed = true
			continue
		}
		best, valid = max(best, m.replicas(spec, scale)), true
	}
	if !valid || (failed && best < scale.Spec) {
		return 0, false
	}
	return best, true
}

// replicas is what one metric asks for. Values count in thousandths, as Kubernetes quantities do.
func (m Metric) replicas(spec Spec, scale Scale) int {
	value, target := math.Round(m.Value*1000), math.Round(m.Target*1000)
	up, down := spec.tolerances()
	if m.Type == Value {
		ratio := value / target
		switch {
		case scale.Spec == 0:
			return int(math.Ceil(ratio))
		case within(ratio, up, down):
			return scale.Spec
		}
		return int(math.Ceil(ratio * float64(scale.Ready)))
	}
	if scale.Status > 0 && within(value/(target*float64(scale.Status)), up, down) {
		return scale.Status
	}
	return int(math.Ceil(value / target))
}

// within tells whether a ratio is inside the tolerance; both borders are.
func within(ratio, up, down float64) bool {
	return 1-down <= ratio && ratio <= 1+up
}

// stabilise holds the way down at the largest recommendation of its window and the way up at the smallest of its own.
func (s State) stabilise(spec Spec, current, wanted int, now time.Time) (int, State) {
	upWindow, down := time.Duration(0), downWindow
	if spec.Behavior != nil {
		upWindow, down = spec.Behavior.ScaleUp.window(0), spec.Behavior.ScaleDown.window(downWindow)
	}
	lowest, highest := wanted, wanted
	kept := make([]change, 0, len(s.recommendations)+1)
	for _, r := range s.recommendations {
		age := now.Sub(r.at)
		if age < upWindow {
			lowest = min(lowest, r.n)
		}
		if age < down {
			highest = max(highest, r.n)
		}
		if age < max(upWindow, down) {
			kept = append(kept, r)
		}
	}
	s.recommendations = append(kept, change{now, wanted})
	if spec.Behavior == nil {
		return highest, s
	}
	return min(max(current, lowest), highest), s
}

// record remembers a change for the rate policies.
func (s State) record(from, to int, now time.Time) State {
	switch {
	case to > from:
		s.ups = append(slices.Clip(s.ups), change{now, to - from})
	case to < from:
		s.downs = append(slices.Clip(s.downs), change{now, from - to})
	}
	return s
}

// sum adds up the changes within a period.
func sum(changes []change, period time.Duration, now time.Time) int {
	total := 0
	for _, c := range changes {
		if now.Sub(c.at) < period {
			total += c.n
		}
	}
	return total
}

// limit applies the rate policies.
func (b *Behavior) limit(s State, current, wanted int, now time.Time) int {
	switch {
	case wanted > current:
		return min(wanted, max(current, b.ScaleUp.bound(defaultUp, current, func(p Policy) int {
			start := current - sum(s.ups, p.Period, now) + sum(s.downs, p.Period, now)
			if p.Type == Percent {
				return int(math.Ceil(float64(start) * (1 + float64(p.Value)/100)))
			}
			return start + p.Value
		}, 1)))
	case wanted < current:
		return max(wanted, min(current, b.ScaleDown.bound(defaultDown, current, func(p Policy) int {
			start := current + sum(s.downs, p.Period, now) - sum(s.ups, p.Period, now)
			if p.Type == Percent {
				return int(float64(start) * (1 - float64(p.Value)/100))
			}
			return start - p.Value
		}, -1)))
	}
	return wanted
}

// bound is the count that the policies of one direction reach; direction is 1 up and -1 down.
func (r Rules) bound(otherwise []Policy, current int, reach func(Policy) int, direction int) int {
	if r.Select == Disabled {
		return current
	}
	policies := r.Policies
	if len(policies) == 0 {
		policies = otherwise
	}
	best := reach(policies[0])
	for _, p := range policies[1:] {
		n := reach(p)
		further := (n-best)*direction > 0
		if further == (r.Select != Min) {
			best = n
		}
	}
	return best
}
