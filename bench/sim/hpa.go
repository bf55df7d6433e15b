package sim

import (
	"math"
	"time"

	"github.com/warmpool/warmpool/scaler/hpa"
)

// HPA is the horizontal pod autoscaler of one scale target.
type HPA struct {
	Spec  hpa.Spec
	state hpa.State
}

// NewHPA is an autoscaler with the defaults of Kubernetes: tolerance 0.1, no behaviour section.
func NewHPA(smallest, largest int) *HPA {
	return &HPA{Spec: hpa.Spec{Min: smallest, Max: largest, Tolerance: HPATolerance}}
}

// NewExactHPA is an autoscaler as warmpool's examples set it: no tolerance, the whole step at once, and the default
// window on the way down as a second line of defence.
func NewExactHPA(smallest, largest int) *HPA {
	none := 0.0
	h := NewHPA(smallest, largest)
	h.Spec.Behavior = &hpa.Behavior{
		ScaleUp:   hpa.Rules{Policies: []hpa.Policy{{Type: hpa.Pods, Value: largest, Period: HPASync}}, Tolerance: &none},
		ScaleDown: hpa.Rules{Policies: []hpa.Policy{{Type: hpa.Percent, Value: 100, Period: HPASync}}, Tolerance: &none},
	}
	return h
}

// Sync is one look at the metrics; it answers the count that the scale target gets. All replicas exist at once, so
// status and specification agree.
func (h *HPA) Sync(now time.Time, current, ready int, metrics ...hpa.Metric) int {
	n, state := hpa.Sync(h.Spec, h.state, hpa.Scale{Spec: current, Status: current, Ready: ready}, metrics, now)
	h.state = state
	return n
}

// Average is an external metric with an average target.
func Average(value, target float64) hpa.Metric {
	return hpa.Metric{Type: hpa.AverageValue, Value: value, Target: target}
}

// Utilization is a per-pod metric whose mean over the ready pods is known, as the count it asks for. Pods that are not
// ready count as idle when the mean asks for more, so that they are not asked for twice.
func Utilization(mean, target float64, ready, current int) hpa.Metric {
	return Average(float64(utilizationProposal(mean, target, ready, current)), 1)
}

func utilizationProposal(mean, target float64, ready, current int) int {
	if ready == 0 {
		return current
	}
	outside := func(ratio float64) bool { return ratio > 1+HPATolerance || ratio < 1-HPATolerance }
	ratio := mean / target
	if current <= ready || ratio <= 1 {
		if !outside(ratio) {
			return current
		}
		return int(math.Ceil(ratio * float64(ready)))
	}
	spread := ratio * float64(ready) / float64(current)
	if spread <= 1 || !outside(spread) {
		return current
	}
	return max(int(math.Ceil(spread*float64(current))), current)
}
