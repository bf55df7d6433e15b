package scaler

import (
	"math"
	"time"
)

const (
	defaultStaleAfter = 90 * time.Second
	// shareSlack is what a share may exceed 1 by before it is taken for another unit, such as per cent.
	shareSlack = 1.5
)

// The positions of the signals in an evaluation.
const (
	waiting = iota
	running
	rate
	latency
	utilization
	kvCache
	signalCount
)

// position is where a signal is kept; ok is false for a name that no rule knows.
func position(s Signal) (i int, ok bool) {
	switch s {
	case Waiting:
		return waiting, true
	case Running:
		return running, true
	case Rate:
		return rate, true
	case Latency:
		return latency, true
	case Utilization:
		return utilization, true
	case KVCache:
		return kvCache, true
	}
	return 0, false
}

// Valid tells whether a value can be a reading of the signal: finite, not negative, and a share where a share is due.
func (s Signal) Valid(v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return false
	}
	return v <= shareSlack || !s.share()
}

// share tells whether the signal is a share from 0 to 1.
func (s Signal) share() bool { return s == Utilization || s == KVCache }

// reading is one configured signal as this evaluation sees it. Exactly one of fresh, stale, missing and excused holds
// for a configured signal, except that an excused one may still have a usable value.
type reading struct {
	configured bool
	// usable values vote: they are not older than StaleAfter.
	usable, fresh, stale, missing bool
	// excused sources are exported by the replicas, and no replica is ready.
	excused bool
	value   float64
	age     time.Duration
	// samples are the newest ones, oldest first; the last added of them are new.
	samples []Sample
	added   int
}

// read takes in the samples of this tick and sorts the configured sources into fresh, stale, missing and excused.
func (e *evaluation) read() {
	sources := e.policy.Sources
	keep := 0
	for _, source := range sources {
		keep += e.keep(source.Signal)
	}
	buffer := make([]Sample, 0, keep)
	e.next.Last = make(map[Signal][]Sample, len(sources))
	e.d.Signals = make([]SignalAge, 0, len(sources))
	for _, source := range sources {
		i, ok := position(source.Signal)
		if !ok || e.readings[i].configured {
			continue
		}
		r := &e.readings[i]
		buffer = e.take(r, source, buffer)
		if len(r.samples) > 0 {
			e.next.Last[source.Signal] = r.samples
		}
		e.describe(r, source)
	}
}

// keep is how many samples of a signal the rules look back.
func (e *evaluation) keep(s Signal) int {
	if s == Utilization {
		return e.utilRule.Samples
	}
	return 1
}

// take appends the newest samples of a source to buffer and sorts the source into its state.
func (e *evaluation) take(r *reading, source Source, buffer []Sample) []Sample {
	from, keep := len(buffer), e.keep(source.Signal)
	for _, s := range e.prev.Last[source.Signal] {
		buffer = pushNewest(buffer, from, keep, s)
	}
	read := false
	for _, s := range e.in.Signals[source.Signal] {
		if !source.Signal.Valid(s.Value) {
			continue
		}
		read = true
		if source.Signal.share() {
			s.Value = min(s.Value, 1)
		}
		if s.At.After(e.now) {
			s.At = e.now // the clocks differ; a sample from the future would never become stale
		}
		if n := len(buffer); n == from || s.At.After(buffer[n-1].At) {
			buffer = pushNewest(buffer, from, keep, s)
			r.added++
		}
	}
	r.samples = buffer[from:len(buffer):len(buffer)]
	r.added = min(r.added, len(r.samples))
	e.sort(r, read, source.OnlyWhenReady)
	return buffer
}

// pushNewest appends a sample to the part of buffer that starts at from and keeps that part's newest ones.
func pushNewest(buffer []Sample, from, keep int, s Sample) []Sample {
	if len(buffer)-from == keep {
		copy(buffer[from:], buffer[from+1:])
		buffer = buffer[:len(buffer)-1]
	}
	return append(buffer, s)
}

// sort tells whether a source is fresh, stale, missing or excused; read tells whether this tick brought anything.
func (e *evaluation) sort(r *reading, read, onlyWhenReady bool) {
	r.configured, r.age = true, -1
	if n := len(r.samples); n > 0 {
		r.value, r.age = r.samples[n-1].Value, e.now.Sub(r.samples[n-1].At)
		r.usable = r.age <= e.staleAfter
	}
	r.fresh = r.usable && read
	r.excused = !r.fresh && onlyWhenReady && e.in.Pods.Known && e.in.Pods.Serving() == 0
	r.stale = r.usable && !r.fresh && !r.excused
	r.missing = !r.usable && !r.excused
}

// describe records a source in the decision and counts it.
func (e *evaluation) describe(r *reading, source Source) {
	s := source.Signal
	age := SignalAge{Signal: s, Value: r.value, Age: -1, Error: e.in.Errors[s]}
	if len(r.samples) > 0 {
		age.Age = r.age.Seconds()
	}
	absent := source.Optional && !r.usable
	switch {
	case r.excused:
		age.Excused = ExcusedNotReady
	case r.missing && absent:
		age.Excused = ExcusedOptional
	}
	e.d.Signals = append(e.d.Signals, age)
	switch {
	case r.stale:
		e.d.Stale = append(e.d.Stale, s)
	case r.missing && !absent:
		e.d.Missing = append(e.d.Missing, s)
	}
	if s == Latency || absent {
		return // what never votes, or need not be there, holds nothing
	}
	e.sources++
	e.anyUsable = e.anyUsable || r.usable
	e.anyStale = e.anyStale || r.stale
	e.anyMissing = e.anyMissing || r.missing
	if s == Waiting || s == Running || s == Rate {
		e.describeDemand(r)
	}
}

// describeDemand notes what a source of the demand says about demand at all.
func (e *evaluation) describeDemand(r *reading) {
	e.demandMissing = e.demandMissing || r.missing
	e.demandOpen = e.demandOpen || r.missing || r.stale
	if r.fresh && r.value > 0 {
		e.next.LastDemand = e.now
	}
}
