package scaler

import (
	"math"
	"slices"
	"time"
)

const (
	// nearCapacity is from which share of its slots, and of its key-value cache, a replica counts as full enough to
	// believe its utilisation.
	nearCapacity = 0.8
	// downMargin keeps the replicas that remain after a down-vote this far below the up threshold.
	downMargin = 0.9
)

// withDefaults fills in what is not set.
func (r UtilizationRule) withDefaults() UtilizationRule {
	if r.ScaleUp <= 0 {
		r.ScaleUp = 0.8
	}
	if r.ScaleDown <= 0 {
		r.ScaleDown = 0.3
	}
	if r.Samples <= 0 {
		r.Samples = 3
	}
	if r.MaxUpCount <= 0 && r.MaxUpPercent <= 0 {
		r.MaxUpCount, r.MaxUpPercent = 4, 100
	}
	if r.MaxUpPeriod <= 0 {
		r.MaxUpPeriod = 60 * time.Second
	}
	return r
}

// voteUtilization votes ready x utilisation over the up threshold. That product is the number of busy replicas, so more
// ready replicas at the same work give the same vote; it belongs to the time of the sample, so that replicas that became
// ready since do not multiply an old value. Utilisation is near 1 with a single request on many GPUs, hence
// the vote counts only when it is high in several samples and something else says that the replicas are full.
func (e *evaluation) voteUtilization() {
	u := &e.readings[utilization]
	if !u.usable {
		return
	}
	if !e.in.Pods.Known {
		e.reason(ReasonReadyUnknown)
		return
	}
	rule := e.utilRule
	if len(u.samples) < rule.Samples || e.in.Pods.Serving() == 0 {
		return
	}
	for _, s := range u.samples {
		if s.Value < rule.ScaleUp {
			return
		}
	}
	busy, over := e.next.LastBusy, rule.ScaleUp
	if e.lifted > 0 {
		// Replicas that are as full as planned are no reason for more of them.
		over = max(over, e.planned(busy*e.d.Capacity.Concurrency))
	}
	t := e.text().num(busy).str(" busy at ").percent(u.value).str(" over ").percent(over)
	t, corroborated := e.corroborate(t)
	v := e.vote("utilisation", busy/over, u.stale, t)
	if !corroborated {
		v.Used = false
		e.reason(ReasonNotCorroborated)
	}
}

// corroborate tells whether anything else says that the replicas are full, and what.
func (e *evaluation) corroborate(t text) (text, bool) {
	q, busy, cache := &e.readings[waiting], &e.readings[running], &e.readings[kvCache]
	slots := e.d.Capacity.Concurrency * float64(e.in.Pods.Serving())
	switch {
	case q.usable && q.value > 0:
		return t.str(", with ").num(q.value).str(" waiting"), true
	case busy.usable && slots > 0 && busy.value/slots >= nearCapacity:
		return t.str(", with ").percent(busy.value / slots).str(" of the slots taken"), true
	case cache.usable && cache.value > nearCapacity:
		return t.str(", with the key-value cache at ").percent(cache.value), true
	}
	return t.str(", but nothing waits and the replicas are not full"), false
}

// limitUtilization cuts the utilisation vote to what it may add within its period above the other votes.
func (e *evaluation) limitUtilization(vote, others int) int {
	rule := e.utilRule
	base := e.last
	if !e.lastKnown {
		base = e.in.Pods.Ready
	}
	ups := e.prev.UtilizationUps
	for len(ups) > 0 && e.now.Sub(ups[0].At) >= rule.MaxUpPeriod {
		ups = ups[1:]
	}
	e.next.UtilizationUps = ups
	for _, up := range ups {
		base = min(base, up.N)
	}
	limit := max(others, base+max(rule.MaxUpCount, int(rule.MaxUpPercent/100*float64(base))))
	if vote > limit {
		e.reason(ReasonUtilizationLimit)
		e.d.Limited = "rate"
		return limit
	}
	return vote
}

// recordUp remembers the target that the utilisation vote alone has lifted.
func (e *evaluation) recordUp(others int) {
	if e.lastKnown && e.d.Binding == "utilisation" && e.kept > max(e.last, others) {
		e.next.UtilizationUps = append(slices.Clip(e.next.UtilizationUps), Target{At: e.now, N: e.last})
	}
}

// watchQuiet follows since when the service is quiet, and how many replicas were busy at most.
func (e *evaluation) watchQuiet() {
	u, q := &e.readings[utilization], &e.readings[waiting]
	added := u.samples[len(u.samples)-u.added:]
	e.recordBusy(added)
	if !u.fresh || !e.in.Pods.Known || (q.configured && !q.fresh) {
		return // QuietSince is zero: whatever is not seen is not quiet
	}
	e.next.QuietSince = e.prev.QuietSince
	for _, s := range added {
		switch {
		case s.Value >= e.utilRule.ScaleDown:
			e.next.QuietSince = time.Time{}
		case e.next.QuietSince.IsZero():
			e.next.QuietSince = s.At
		}
	}
	if q.configured && slices.ContainsFunc(e.in.Signals[Waiting], func(s Sample) bool { return s.Value > 0 }) {
		e.next.QuietSince = time.Time{}
	}
}

// recordBusy adds new samples of utilisation to the busy replicas of the window.
func (e *evaluation) recordBusy(added []Sample) {
	busy := e.prev.Busy
	for len(busy) > 0 && e.now.Sub(busy[0].At) > e.window {
		busy = busy[1:]
	}
	e.next.LastBusy = e.prev.LastBusy
	if e.in.Pods.Known {
		for _, s := range added {
			e.next.LastBusy = s.Value * float64(e.in.Pods.Serving())
			busy = pushSample(busy, Sample{At: s.At, Value: e.next.LastBusy})
		}
	}
	e.next.Busy = busy
}

// voteDown is the fewest replicas on which the work of the window stays safely below the up threshold. It holds only
// when every sample of the window was valid, below the down threshold and with nothing waiting.
func (e *evaluation) voteDown() (n int, ok bool) {
	u := &e.readings[utilization]
	if e.next.QuietSince.IsZero() || e.now.Sub(e.next.QuietSince) < e.window || len(u.samples) < e.utilRule.Samples {
		return 0, false
	}
	for _, s := range u.samples {
		if s.Value >= e.utilRule.ScaleDown {
			return 0, false
		}
	}
	busy := 0.0
	for _, s := range e.next.Busy {
		busy = max(busy, s.Value)
	}
	n = downVote(busy, e.utilRule.ScaleUp)
	t := e.text().str("at most ").num(busy).str(" busy and nothing waiting for ").dur(e.now.Sub(e.next.QuietSince))
	e.vote("down", float64(n), false, t)
	return n, true
}

// downVote is the fewest replicas, at least one, on which so many busy ones stay below 0.9 of the up threshold.
func downVote(busy, scaleUp float64) int {
	return max(1, int(math.Floor(busy/(downMargin*scaleUp)+ceilGuard))+1)
}

// pushSample appends a sample and drops the earlier ones that it exceeds: what stays is a descending list whose first
// entry is the maximum. The list passed in is not changed.
func pushSample(list []Sample, s Sample) []Sample {
	n := len(list)
	for n > 0 && list[n-1].Value <= s.Value {
		n--
	}
	return append(list[:n:n], s)
}

// pushTarget is pushSample for targets.
func pushTarget(list []Target, t Target) []Target {
	n := len(list)
	for n > 0 && list[n-1].N <= t.N {
		n--
	}
	return append(list[:n:n], t)
}
