package scaler

import (
	"math"
	"time"
)

const (
	defaultDrainTime      = 60 * time.Second
	defaultMaxUtilization = 0.8
)

// form is the queue form that the policy and what is known of a replica lead to. A form whose capacity is not known,
// because it has still to be learned, is no better than waiting alone.
func (e *evaluation) form() QueueForm {
	form, c := e.policy.Form, &e.d.Capacity
	byCount, byRate := e.readings[running].configured, e.readings[rate].configured
	switch {
	case form == FormWaiting || (form == FormAuto && !byCount && !byRate):
		return FormWaiting
	case c.Concurrency > 0 && (form == FormConcurrency || (form == FormAuto && byCount)):
		return FormConcurrency
	case c.Rate > 0 && (form == FormRate || (form == FormAuto && byRate)):
		return FormRate
	}
	e.reason(ReasonCapacityUnknown)
	return FormWaiting
}

// replicasForSlots is how many replicas hold load requests at a time.
func (e *evaluation) replicasForSlots(load float64) float64 {
	c := e.d.Capacity.Concurrency
	if wait := e.policy.WaitProbability; wait > 0 {
		return float64(Slots(load, wait)) / c
	}
	return load / (c * e.planned(load))
}

// planned is the share of the slots that so many busy ones may take. While a forecast is used it is the lifted one, less
// where the slots are few: half the square root of the busy slots stays spare (Halfin and Whitt, 1981), because the
// fewer there are, the longer a request that finds them taken has to wait. It is never below the usual share.
func (e *evaluation) planned(busy float64) float64 {
	if e.lifted <= 0 || !(busy > 0) {
		return e.share
	}
	return max(e.share, min(e.lifted, busy/(busy+math.Sqrt(busy)/2)))
}

// replicasForRate is how many replicas serve so many requests per second.
func (e *evaluation) replicasForRate(perSecond float64) float64 {
	c := e.d.Capacity
	if e.policy.WaitProbability > 0 && c.Concurrency > 0 {
		return e.replicasForSlots(perSecond * c.Concurrency / c.Rate)
	}
	return perSecond / (c.Rate * e.plannedRate(perSecond))
}

// plannedRate is planned for so many requests per second.
func (e *evaluation) plannedRate(perSecond float64) float64 {
	if e.lifted <= 0 {
		return e.share
	}
	return e.planned(perSecond * e.d.Capacity.Concurrency / e.d.Capacity.Rate)
}

// voteQueue votes from the requests in the system. All forms are absolute, so that they cannot compound while pods
// start. A part that is missing counts as nothing here: what is left may raise the target, and a missing source keeps
// it from falling.
func (e *evaluation) voteQueue() {
	q := &e.readings[waiting]
	switch e.queueForm {
	case FormConcurrency:
		e.voteConcurrency(&e.readings[running], q)
	case FormRate:
		e.voteRateForm(&e.readings[rate], q)
	default:
		if !q.usable || e.policy.QueuePerReplica <= 0 {
			return
		}
		t := e.text().num(q.value).str(" waiting at ").num(e.policy.QueuePerReplica).str(" per replica")
		e.vote("queue", q.value/e.policy.QueuePerReplica, q.stale, t)
	}
}

func (e *evaluation) voteConcurrency(busy, q *reading) {
	c := e.d.Capacity.Concurrency
	if !(busy.usable || q.usable) {
		return
	}
	t := e.text()
	switch {
	case busy.usable:
		t = t.num(busy.value).str(" running")
	case busy.excused:
		t = t.str("none ready")
	default:
		t = t.str("running unknown")
	}
	if q.usable {
		t = t.str(" + ").num(q.value).str(" waiting")
	}
	t = t.str(" over ").num(c).str(" slots")
	if e.policy.Concurrency <= 0 {
		t = t.learned(e.d.Capacity.LearnedConcurrency)
	}
	load := busy.usableValue() + q.usableValue()
	t = e.target(t, e.planned(load))
	e.vote("queue", e.replicasForSlots(load), busy.stale || q.stale, t)
}

func (e *evaluation) voteRateForm(arrivals, q *reading) {
	if !(arrivals.usable || q.usable) {
		return
	}
	perSecond := arrivals.usableValue() + q.usableValue()/e.drain.Seconds()
	t := e.text()
	switch {
	case arrivals.usable:
		t = t.num(arrivals.value).str(" req/s")
	case arrivals.excused:
		t = t.str("none ready")
	default:
		t = t.str("rate unknown")
	}
	if q.usable {
		t = t.str(" + ").num(q.value).str(" waiting within ").dur(e.drain)
	}
	t = e.perReplica(t, perSecond)
	e.vote("queue", e.replicasForRate(perSecond), arrivals.stale || q.stale, t)
}

// voteRate votes from the arrivals alone, whatever the form of the queue.
func (e *evaluation) voteRate() {
	arrivals := &e.readings[rate]
	if !arrivals.usable || e.d.Capacity.Rate <= 0 {
		return
	}
	t := e.perReplica(e.text().num(arrivals.value).str(" req/s"), arrivals.value)
	e.vote("rate", e.replicasForRate(arrivals.value), arrivals.stale, t)
}

// perReplica adds the rate of a replica to a text, and how sure it is.
func (e *evaluation) perReplica(t text, perSecond float64) text {
	p, c := e.policy, &e.d.Capacity
	t = t.str(" over ").num(c.Rate).str(" req/s")
	switch {
	case p.RatePerReplica > 0:
	case p.Concurrency <= 0 && (p.ServiceTime > 0 || c.LearnedConcurrency.Confidence < c.LearnedService.Confidence):
		t = t.learned(c.LearnedConcurrency)
	case p.ServiceTime <= 0:
		t = t.learned(c.LearnedService)
	}
	return e.target(t, e.plannedRate(perSecond))
}

// target adds the staffing target to a text.
func (e *evaluation) target(t text, share float64) text {
	if wait := e.policy.WaitProbability; wait > 0 && e.d.Capacity.Concurrency > 0 {
		return t.str(", at most ").percent(wait).str(" wait")
	}
	return t.str(" at ").percent(share)
}

// usableValue is the value that votes, 0 without one.
func (r *reading) usableValue() float64 {
	if !r.usable {
		return 0
	}
	return r.value
}
