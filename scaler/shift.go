package scaler

import (
	"slices"
	"time"
)

// Shift returns the state as it is by a clock that is ahead by that much, negative for one that is behind, for an
// instance that goes on where another one ended. Times that an evaluation noted are moved. Times that came with a
// reading belong to the clock of its source, which is not known: they are moved only in the direction that cannot make
// the target fall, back where a later one would hide the next reading, and ahead where an earlier one would end a
// window.
func (s State) Shift(by time.Duration) State {
	if by == 0 {
		return s
	}
	ahead, back := max(by, 0), min(by, 0)
	last := make(map[Signal][]Sample, len(s.Last))
	for signal, samples := range s.Last {
		last[signal] = shiftSamples(samples, back)
	}
	s.Last = last
	s.Computed, s.UtilizationUps = shiftTargets(s.Computed, by), shiftTargets(s.UtilizationUps, by)
	s.Busy = shiftSamples(s.Busy, ahead)
	for _, t := range []*time.Time{&s.LastStep, &s.LastDemand, &s.Since, &s.FirstStuck, &s.Observed.At} {
		*t = shiftTime(*t, by)
	}
	for _, t := range []*time.Time{&s.QuietSince, &s.BecameReady} {
		*t = shiftTime(*t, ahead)
	}
	s.Prewarms = slices.Clone(s.Prewarms)
	for i := range s.Prewarms {
		p := &s.Prewarms[i]
		p.At, p.Due = shiftTime(p.At, by), shiftTime(p.Due, by)
	}
	return s
}

func shiftTime(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

func shiftTargets(list []Target, by time.Duration) []Target {
	out := slices.Clone(list)
	for i := range out {
		out[i].At = out[i].At.Add(by)
	}
	return out
}

func shiftSamples(list []Sample, by time.Duration) []Sample {
	out := slices.Clone(list)
	for i := range out {
		out[i].At = out[i].At.Add(by)
	}
	return out
}
