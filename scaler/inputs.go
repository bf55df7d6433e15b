package scaler

import "time"

// Inputs is everything that one evaluation sees.
type Inputs struct {
	// Signals holds the readings since the last evaluation, oldest first, by signal. A reading that is not valid
	// (empty result, NaN, Inf, negative, failed query) is not in it. A query that succeeded but returned a sample
	// that was seen before belongs in it: a configured signal without any reading counts as stale.
	Signals map[Signal][]Sample
	// Errors says why a configured signal has no valid reading this time.
	Errors map[Signal]string
	Pods   Pods
	// Forecast is the predictor's vote; nil without one.
	Forecast *Forecast
	// CurrentReplicas is the scale target's present count; negative is unknown, and 0 is believed only with known Pods.
	// It is for the record, except that a service that was never answered starts from it.
	CurrentReplicas int
	// Link is what the nodes under the service say; nil without the rules of package link, or without a view of them.
	Link *Link
	// HPATolerance is what the autoscaler would tolerate without following, 0.1 by default; negative is unknown.
	HPATolerance float64
}

// Sample is one valid reading.
type Sample struct {
	// At is when the value was measured, not when it was asked for.
	At    time.Time
	Value float64
}

// Pods is the state of the scale target, counted in scale units.
type Pods struct {
	// Known is false without a cluster view or metrics.
	Known bool
	Ready int
	// Starting holds the age of each unit that is not ready yet.
	Starting []time.Duration
	// StartTimes are recorded end-to-end start times, oldest first.
	StartTimes []time.Duration
	// BecameReady is when a unit last became ready; zero if unknown.
	BecameReady time.Time
	// Doomed are the units whose machine was given notice of its end, DoomedServing those of them that are still ready:
	// they serve, and count in neither Ready nor Starting.
	Doomed, DoomedServing int
}

// Serving is how many units the metrics speak of: the ready ones and those that still serve.
func (p *Pods) Serving() int { return p.Ready + p.DoomedServing }

// Link is what the nodes under the replicas add to a decision. It changes the answer and nothing that is remembered:
// when its cause is gone the answer is that of the demand again, without any hold.
type Link struct {
	// Replace is how many doomed units are replaced while their pods still count as replicas, Missing how many units
	// count as missing because their node is late.
	Replace, Missing int
	// Swap is how many more are wanted while a replica moves to other nodes, the new one before the old one.
	Swap int
	// Ceiling is the largest useful target while no pool can deliver; 0 is none.
	Ceiling int
	// Text says what bounds the target; empty when nothing does.
	Text string
}

// Forecast is the predictor's order.
type Forecast struct {
	// Replicas is the order: the largest need over everything that must be ready between now and now + lead.
	Replicas int
	// Used is false in shadow mode: the order is recorded and not used.
	Used bool
	// Mode and Reason are the predictor's mode and reason code.
	Mode, Reason string
	// Text explains the order in one sentence.
	Text string
	// NeedWithin tells whether any need above zero is forecast within the lead.
	NeedWithin bool
	// NeedAgain is when the forecast next needs more replicas than are reported; zero if not foreseen.
	NeedAgain time.Time
	Lead      time.Duration
	// Upcoming are the needs foreseen after the lead, oldest first; with them the hold keeps just what is needed
	// again, without them NeedAgain keeps everything.
	Upcoming []Target
	// Need995 is the need that was not exceeded in 99.5 % of the last 28 days; 0 is unknown. An order above 1.2 times
	// that is cut.
	Need995 int
}
