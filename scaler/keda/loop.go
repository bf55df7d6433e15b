package keda

import "time"

// ScaledObject is what of a ScaledObject the polling loop looks at. Idle is nil without an idleReplicaCount.
type ScaledObject struct {
	Min      int
	Idle     *int
	Fallback *Fallback
	// Cooldown is the time between the last activity and the way to zero, 300 s by default; InitialCooldown takes its
	// place, counted from Created, as long as the workload has never been active.
	Cooldown, InitialCooldown time.Duration
	Created                   time.Time
}

// DefaultCooldown is KEDA's default cooldownPeriod.
const DefaultCooldown = 300 * time.Second

// Fallback is the fallback section; an empty Behavior is static.
type Fallback struct {
	FailureThreshold int
	Behavior         Behavior
	Replicas         int
}

// Behavior says what a fallback serves.
type Behavior string

// The behaviours. Before KEDA 2.17 every fallback is static.
const (
	Static                  Behavior = "static"
	CurrentReplicas         Behavior = "currentReplicas"
	CurrentReplicasIfHigher Behavior = "currentReplicasIfHigher"
	CurrentReplicasIfLower  Behavior = "currentReplicasIfLower"
)

// in is the behaviour as this version understands it.
func (b Behavior) in(v Version) Behavior {
	if b == "" || v.Before(2, 17) {
		return Static
	}
	return b
}

// Answer is what the scaler said: whether the workload is active, or an error.
type Answer struct {
	Active bool
	Err    bool
}

// State is what the loop remembers.
type State struct {
	LastActive time.Time
	Failures   int
}

// Poll is one round of the polling loop for a workload with so many replicas. It returns the count that KEDA sets, which
// is the same where it leaves the workload to the autoscaler.
func Poll(v Version, o ScaledObject, s State, replicas int, answer Answer, now time.Time) (int, State) {
	if answer.Err {
		return pollError(v, o, s, replicas, now)
	}
	s.Failures = 0
	floor := max(1, o.Min)
	switch {
	case answer.Active && (replicas == 0 || (o.Idle != nil && replicas < o.Min)):
		s.LastActive = now
		return floor, s
	case answer.Active:
		s.LastActive = now
		return replicas, s
	}
	return o.inactive(s, replicas, now), s
}

// pollError is a round without an answer. Without a fallback nothing happens; one with replicas 0 falls through to the
// way to zero; from 2.19 on a fallback also wakes a workload.
func pollError(v Version, o ScaledObject, s State, replicas int, now time.Time) (int, State) {
	s.Failures++
	switch f := o.Fallback; {
	case f == nil:
		return replicas, s
	case f.Replicas == 0 && o.Min == 0:
		return o.inactive(s, replicas, now), s
	case replicas == 0 && !v.Before(2, 19) && s.Failures > f.FailureThreshold:
		return max(1, o.Min), s
	}
	return replicas, s
}

// inactive is the way down: to the idle count or to zero after the cooldown, or up to the minimum.
func (o ScaledObject) inactive(s State, replicas int, now time.Time) int {
	cooled := !now.Before(s.LastActive.Add(orDefault(o.Cooldown)))
	if s.LastActive.IsZero() {
		cooled = !now.Before(o.Created.Add(o.InitialCooldown))
	}
	switch {
	case o.Idle != nil && replicas > *o.Idle && cooled:
		return *o.Idle
	case o.Idle != nil:
		return replicas
	case replicas < o.Min:
		return o.Min
	case o.Min == 0 && replicas > 0 && cooled:
		return 0
	}
	return replicas
}

func orDefault(cooldown time.Duration) time.Duration {
	if cooldown <= 0 {
		return DefaultCooldown
	}
	return cooldown
}

// Serve is the metric value that KEDA gives the autoscaler for a trigger with the target 1 and the type AverageValue,
// when reading it failed so many times in a row. The fallback belongs to a metric spec, so without one (the server
// cannot be reached) it never acts; ok is false where the autoscaler gets an error.
func Serve(v Version, f *Fallback, failures, replicas int, hasSpec bool) (value int, ok bool) {
	if f == nil || !hasSpec || failures <= f.FailureThreshold {
		return 0, false
	}
	switch f.Behavior.in(v) {
	case CurrentReplicas:
		return replicas, true
	case CurrentReplicasIfHigher:
		return max(replicas, f.Replicas), true
	case CurrentReplicasIfLower:
		return min(replicas, f.Replicas), true
	}
	return f.Replicas, true
}
