package hpa

import "time"

// Type is how a metric's target is meant.
type Type string

// The metric types of external metrics.
const (
	// AverageValue compares the value with target x replicas.
	AverageValue Type = "AverageValue"
	// Value compares the value with the target and scales the number of ready pods by the ratio.
	Value Type = "Value"
)

// Metric is one external metric with its value. Err tells that it could not be read.
type Metric struct {
	Type          Type
	Value, Target float64
	Err           bool
}

// Scale is the scale target: the count that is asked for, the count that exists (which a rollout makes larger), and how
// many of those are ready.
type Scale struct {
	Spec, Status, Ready int
}

// Spec is the autoscaler's configuration. Tolerance is the controller's own, used where the behaviour names none.
type Spec struct {
	Min, Max  int
	Tolerance float64
	Behavior  *Behavior
}

// Behavior is the behaviour section; without one the legacy limits apply.
type Behavior struct {
	ScaleUp, ScaleDown Rules
}

// Rules govern one direction. A nil Window is the direction's default (0 up, 300 s down); no Policies are the
// direction's default policies; a nil Tolerance is the controller's.
type Rules struct {
	Window    *time.Duration
	Policies  []Policy
	Select    Select
	Tolerance *float64
}

// Select chooses among policies. The zero value is Max.
type Select string

// The choices: the policy that changes most, the one that changes least, none at all.
const (
	Max      Select = "Max"
	Min      Select = "Min"
	Disabled Select = "Disabled"
)

// PolicyType is the unit of a policy.
type PolicyType string

// The policy types.
const (
	Pods    PolicyType = "Pods"
	Percent PolicyType = "Percent"
)

// Policy allows a change by Value pods, or per cent, within Period.
type Policy struct {
	Type   PolicyType
	Value  int
	Period time.Duration
}

const (
	// DefaultTolerance is the controller's default tolerance.
	DefaultTolerance = 0.1
	// SyncPeriod is how often the controller looks.
	SyncPeriod = 15 * time.Second
	// downWindow is the default stabilisation on the way down.
	downWindow = 300 * time.Second
	// The legacy limit on the way up is the larger of the two.
	legacyFactor, legacyPods = 2, 4
)

// defaultUp and defaultDown are the policies of a behaviour section that names none.
var (
	defaultUp   = []Policy{{Pods, 4, SyncPeriod}, {Percent, 100, SyncPeriod}}
	defaultDown = []Policy{{Percent, 100, SyncPeriod}}
)

func (r Rules) window(otherwise time.Duration) time.Duration {
	if r.Window == nil {
		return otherwise
	}
	return *r.Window
}

func (r Rules) tolerance(otherwise float64) float64 {
	if r.Tolerance == nil {
		return otherwise
	}
	return *r.Tolerance
}

// tolerances are those of the way up and of the way down.
func (s Spec) tolerances() (up, down float64) {
	if s.Behavior == nil {
		return s.Tolerance, s.Tolerance
	}
	return s.Behavior.ScaleUp.tolerance(s.Tolerance), s.Behavior.ScaleDown.tolerance(s.Tolerance)
}
