package scaler

import "time"

// effectiveWindow is the scale-down window, which is at least the lead; 0 stays no window.
func effectiveWindow(window, lead time.Duration) time.Duration {
	if window <= 0 {
		return 0
	}
	return max(window, lead)
}

// compute adds the target of this tick to the window.
func (e *evaluation) compute() {
	if e.first || e.anyMissing {
		e.keepLast()
	}
	e.next.Computed = pushTarget(e.recent(e.next.Computed), Target{At: e.now, N: e.d.Raw})
	e.next.Need = min(e.d.Need, e.max)
}

// keepLast lets the last target start the window anew: what is computed while a source is missing, or before the first
// answer, is no evidence that fewer replicas are enough.
func (e *evaluation) keepLast() {
	if e.lastKnown && e.window > 0 {
		e.next.Computed = pushTarget(e.recent(e.next.Computed), Target{At: e.now, N: min(e.last, e.max)})
	}
}

// recent drops the targets that have left the window.
func (e *evaluation) recent(list []Target) []Target {
	for len(list) > 0 && e.now.Sub(list[0].At) > e.window {
		list = list[1:]
	}
	return list
}

// answer applies the rules for the way down to the computed target. The way up is free.
func (e *evaluation) answer() {
	e.compute()
	n := e.holdWindow()
	n = e.holdStep(n)
	n = e.holdForecast(n)
	n = e.holdSources(n)
	if n == 0 {
		n = e.holdZero()
	}
	if e.d.Unavailable == "" {
		e.d.Replicas = min(n, e.max) // never below the minimum, because Raw is not
	}
}

// holdWindow takes the largest target of the window, which is the first of the list.
func (e *evaluation) holdWindow() int {
	n := e.next.Computed[0].N
	if n > e.d.Raw {
		code := ReasonWindow
		if e.first {
			code = ReasonFirstWindow
		}
		e.hold(code, "window")
	}
	return n
}

// holdStep cuts a step down to its share of the last target, at least one replica, and spaces the steps.
func (e *evaluation) holdStep(n int) int {
	rule := e.policy.ScaleDown
	if rule.MaxStep <= 0 || !e.lastKnown || n >= e.last {
		return n
	}
	lowest := e.last - downStep(e.last, rule.MaxStep)
	if !e.prev.LastStep.IsZero() && e.now.Sub(e.prev.LastStep) < rule.Period {
		lowest = e.last
	}
	if n < lowest {
		e.hold(ReasonStep, "step")
		return lowest
	}
	return n
}

// downStep is how many of n replicas one step may remove.
func downStep(n int, share float64) int {
	return max(1, int(share*float64(n)+ceilGuard))
}

// holdSources keeps the target while any source is missing or votes with an old value. It is the maximum taken at the
// end, so that it cannot add up.
func (e *evaluation) holdSources(n int) int {
	if !e.lastKnown || n > e.last {
		return n
	}
	switch {
	case e.anyMissing && e.d.Raw < e.last:
		e.hold(ReasonMissing, "missing")
	case e.anyStale && n < e.last:
		e.hold(ReasonStale, "stale")
	case e.sources > 0 && !e.anyUsable && e.d.Raw < e.last:
		e.hold(ReasonNoSignalAtZero, "missing")
	default:
		return n
	}
	return e.last
}

// holdZero decides whether a service may go to zero: only after it was idle for the whole idle time, counted from the
// later of the last demand and the last readiness, not while its last replica is still starting, and not when a need is
// forecast within the lead.
func (e *evaluation) holdZero() int {
	if e.lastKnown && e.last == 0 {
		return 0
	}
	var code, limited string
	switch since := e.idleSince(); {
	case e.now.Sub(since) < e.policy.IdleAfter:
		code, limited = ReasonIdle, "idle"
	case e.startingLast():
		code, limited = ReasonStarting, "starting"
	case e.in.Forecast != nil && e.in.Forecast.Used && e.in.Forecast.NeedWithin:
		code, limited = ReasonForecastHold, "forecast"
	default:
		return 0
	}
	if !e.lastKnown {
		e.unavailable(code, "the demand is zero, but the present count is unknown and no whole idle time has been seen")
		return 0
	}
	e.hold(code, limited)
	return 1
}

// idleSince is since when nothing has happened that a service has to be kept for.
func (e *evaluation) idleSince() time.Time {
	since := e.next.Since
	for _, t := range [...]time.Time{e.next.LastDemand, e.next.BecameReady} {
		if t.After(since) {
			since = t
		}
	}
	return since
}

// startingLast tells whether no replica is ready and one is starting that is not stuck.
func (e *evaluation) startingLast() bool {
	if !e.in.Pods.Known || e.in.Pods.Ready > 0 {
		return false
	}
	for _, age := range e.in.Pods.Starting {
		if age <= e.stuckAfter {
			return true
		}
	}
	return false
}

// hold notes what kept the target up.
func (e *evaluation) hold(code, limited string) {
	e.reason(code)
	e.d.Limited = limited
}
