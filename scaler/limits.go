package scaler

import "time"

// limits sets the limits in force. An override replaces them while it lasts; a minimum above the maximum that it does
// not mention lifts the maximum, and the other way round.
func (e *evaluation) limits() {
	e.min, e.max = e.policy.Min, e.policy.Max
	if o := e.policy.Override; o.activeAt(e.now) {
		e.overridden = true
		e.d.Override = o
		e.reason(ReasonOverride)
		if o.Max != nil {
			e.max = *o.Max
			e.min = min(e.min, e.max)
		}
		if o.Min != nil {
			e.min = *o.Min
			if o.Max == nil {
				e.max = max(e.max, e.min)
			}
		}
	}
	e.min = max(min(e.min, e.max), 0)
	e.d.Min, e.d.Max = e.min, e.max
}

// activeAt tells whether an override is in force: From is inclusive, To is not, and a zero time is no bound.
func (o *Override) activeAt(now time.Time) bool {
	return o != nil && !now.Before(o.From) && (o.To.IsZero() || now.Before(o.To))
}

// clamp keeps a computed target within the limits and notes which one applied.
func (e *evaluation) clamp(n int) int {
	switch {
	case n > e.max:
		e.d.Limited = "max"
		return e.max
	case n < e.min:
		e.d.Limited = "min"
		return e.min
	}
	return n
}

// freeze holds the last target whatever the votes say; without one, the present count.
func (e *evaluation) freeze() {
	e.d.Frozen = e.policy.FrozenReason
	if e.d.Frozen == "" {
		e.d.Frozen = "no reason given"
	}
	if !e.lastKnown {
		e.unavailable(ReasonFreeze, "frozen before the first answer, and the present count is unknown")
		return
	}
	e.compute()
	e.hold(ReasonFreeze, "freeze")
	e.d.Replicas = e.last
}

// withoutSources answers when no source has a usable value: not at all, unless an override asks for a minimum, or the
// absence is expected because no replica is ready; then the last target stands and only override and forecast can lift
// it.
func (e *evaluation) withoutSources() {
	switch {
	case !e.anyMissing && e.lastKnown:
		e.reason(ReasonNoSignalAtZero)
		e.answer()
	case e.overridden && e.policy.Override.Min != nil && e.lastKnown:
		e.reason(ReasonAllMissing)
		e.d.Replicas = max(e.last, e.min)
		e.hold(ReasonMissing, "missing")
	case !e.anyMissing:
		e.unavailable(ReasonNoSignalAtZero, "no replica is ready and every source is exported by the replicas")
	default:
		e.unavailable(ReasonAllMissing, "every source has been missing for longer than the hold time")
	}
}

// unavailable gives no answer and keeps what was remembered.
func (e *evaluation) unavailable(code, text string) {
	e.reason(code)
	e.d.Unavailable = text
	e.d.Binding, e.d.Limited = "", ""
	e.next.Need = e.prev.Need
	if e.prev.Valid {
		e.keepLast()
	}
}
