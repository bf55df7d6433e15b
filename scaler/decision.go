package scaler

import "time"

// Decision is one replica target with everything that led to it. It is the value that is answered, logged and
// explained.
type Decision struct {
	Time    time.Time `json:"time"`
	Service string    `json:"service"`
	// Replicas is the target N. It is meaningless when Unavailable is set.
	Replicas int  `json:"replicas"`
	Active   bool `json:"active"`
	// Unavailable says why there is no answer; empty when there is one.
	Unavailable string `json:"unavailable,omitempty"`
	// Raw is the target computed from this tick alone, after the limits Min and Max and before the rules that hold it up.
	Raw int `json:"raw"`
	// Need is the largest vote before the surge for stuck pods.
	Need    int    `json:"need"`
	Surge   int    `json:"surge,omitempty"`
	Binding string `json:"binding"`
	// Limited is min, max, step, window, rate (the up-limit of the utilisation vote), missing, stale, forecast, idle,
	// starting, freeze, supply or empty: what kept the target from being the need of this tick. The last one that applied counts.
	Limited string `json:"limited,omitempty"`
	Votes   []Vote `json:"votes"`
	// Reasons are reason codes, in the order they applied.
	Reasons []string `json:"reasons"`
	// Stale sources vote with an old value, missing ones no longer vote.
	Stale   []Signal `json:"stale,omitempty"`
	Missing []Signal `json:"missing,omitempty"`

	Ready    int `json:"ready"`
	Starting int `json:"starting"`
	Stuck    int `json:"stuck,omitempty"`
	// ReadyInTime is how many of the starting pods are expected to be ready within the lead; it serves the
	// explanation only.
	ReadyInTime     float64 `json:"readyInTime,omitempty"`
	CurrentReplicas int     `json:"currentReplicas"`
	// Doomed are the replicas whose machine was given notice; they are not in Ready. Replacing is what the target has on
	// top for them, and for replicas whose node is late.
	Doomed    int `json:"doomed,omitempty"`
	Replacing int `json:"replacing,omitempty"`
	// Swapping is what the target has on top of both while a replica moves back to spot.
	Swapping int `json:"swapping,omitempty"`
	// Supply says what bounds the useful target: pools that cannot deliver, their sizes and quotas. Only where it is the
	// reason, Limited is supply.
	Supply string `json:"supply,omitempty"`
	// HeldByTolerance is set when the autoscaler will not follow because the change is within its tolerance.
	HeldByTolerance bool      `json:"heldByTolerance,omitempty"`
	Lead            LeadTime  `json:"lead"`
	Forecast        *Forecast `json:"forecast,omitempty"`
	Override        *Override `json:"override,omitempty"`
	// Min and Max are the limits in force, an override included.
	Min int `json:"min"`
	Max int `json:"max"`
	// Frozen is the reason of a freeze; empty without one.
	Frozen string `json:"frozen,omitempty"`
	// Capacity is what one replica is taken to carry.
	Capacity Capacity `json:"capacity"`
	// Prewarm counts the prewarms of the last 24 hours; nil without any.
	Prewarm    *PrewarmRecord `json:"prewarm,omitempty"`
	Text       string         `json:"text"`
	PolicyHash string         `json:"policyHash"`
	Signals    []SignalAge    `json:"signals"`
}

// Vote is what one rule asks for.
type Vote struct {
	// Name is queue, rate, utilisation, forecast, down or last (the last need, where nothing may lower it).
	Name     string `json:"name"`
	Replicas int    `json:"replicas"`
	// Exact is the value before rounding up.
	Exact float64 `json:"exact"`
	Text  string  `json:"text"`
	Stale bool    `json:"stale,omitempty"`
	// Used is false for a vote that is only recorded.
	Used bool `json:"used"`
}

// LeadTime is how long a new replica takes, and how that is known.
type LeadTime struct {
	Seconds float64 `json:"seconds"`
	Samples int     `json:"samples"`
	// Source is configured, learned or prior.
	Source string `json:"source"`
	// StartSeconds is the time within which 90 % of the recorded starts ended, whatever the source of the lead; 0 while
	// fewer than five are recorded.
	StartSeconds float64 `json:"startSeconds,omitempty"`
}

// Why a signal without a usable value is not missing.
const (
	ExcusedOptional = "optional"
	ExcusedNotReady = "not-ready"
)

// SignalAge is the newest reading of a signal.
type SignalAge struct {
	Signal Signal  `json:"signal"`
	Value  float64 `json:"value"`
	// Age is in seconds; negative if there never was a reading.
	Age   float64 `json:"age"`
	Error string  `json:"error,omitempty"`
	// Excused says why a signal without a usable value is not missing: optional (it may be absent), or not-ready (only
	// ready replicas export it, and there are none). Empty otherwise.
	Excused string `json:"excused,omitempty"`
}
