package engine

import (
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// missedFor is how many evaluation intervals may lie between two evaluations of a service without a look at what came
// meanwhile. One left-out tick is nothing; after more of them the process was suspended, or its clock was set.
const missedFor = 2

// gap is a time in which a service was not evaluated although it should have been.
type gap struct {
	// last is when it was evaluated before, by the clock of now.
	last time.Time
	// from is the first instant to read again; nothing is known of the instants between last and from.
	from time.Time
	// back is set after the clock was set back: how much time has passed is not known.
	back bool
}

// gapOf tells whether evaluations of a service are missing before at. Where the clock was set back, the times in the state
// are moved to it first, as if one step had passed. The caller holds s.mu.
func gapOf(s *service, at time.Time, step time.Duration) (g gap, missed bool) {
	if s.evaluated.IsZero() || !s.rebuilt {
		return gap{}, false
	}
	passed := at.Sub(s.evaluated)
	if passed < -step {
		s.state, s.evaluated = s.state.Shift(passed-step), at.Add(-step)
		return gap{last: s.evaluated, from: at, back: true}, true
	}
	if passed <= missedFor*step {
		return gap{}, false
	}
	g.last = s.evaluated
	g.from = g.last.Truncate(step).Add(step)
	if least := at.Add(-lookback(s, step)).Truncate(step); g.from.Before(least) {
		g.from = least
	}
	return g, true
}

// lookback is how far back something can still decide today's target: the scale-down window, which is at least the lead,
// the idle time before zero, and what votes with its last value.
func lookback(s *service, step time.Duration) time.Duration {
	p := &s.compiled.Policy
	span := max(p.ScaleDown.Window, s.lead())
	if p.Min == 0 {
		span = max(span, p.IdleAfter)
	}
	const staleAfter = 90 * time.Second
	return min(span+max(p.StaleAfter, staleAfter)+missedFor*step, longestRewind)
}

// lead is that of the last decision; 0 without one.
func (s *service) lead() time.Duration {
	if line := s.entry.Load(); line != nil {
		return leadOf(&line.decision)
	}
	return 0
}

func leadOf(d *scaler.Decision) time.Duration {
	return time.Duration(d.Lead.Seconds * float64(time.Second))
}

// catchUp brings the state of a service over a gap, so that its target does not fall because time went by unobserved. What the
// metric store tells of the missed ticks is replayed. Where that is not all that would have been seen, the last answer
// holds for one more window. It reports whether that was so.
func (e *Engine) catchUp(s *service, g gap, history scaler.History, lost bool, to time.Time) (holds bool) {
	policy := s.compiled.Policy
	policy.Override = e.overrideAt(s, g.last)
	state := s.state
	if g.from.Sub(g.last) > missedFor*history.Step {
		state = state.Unseen(g.from) // too long ago to be read
	}
	history.Lead = s.lead()
	state = scaler.CatchUp(policy, state, history, g.from, to)
	holds = lost || g.back || s.unreadable()
	if holds {
		state = state.Unseen(to)
	}
	s.state, s.evaluated = state, to
	return holds
}

// unreadable tells whether the last target may have come from something that the metric store cannot give for the past:
// utilisation says how many replicas are busy only with the number of ready ones at that time, and a forecast orders by
// what was known then.
func (s *service) unreadable() bool {
	if len(s.state.Last[scaler.Utilization]) > 0 {
		return true
	}
	line := s.entry.Load()
	return line != nil && line.decision.Forecast != nil && line.decision.Forecast.Used
}

// tellGaps logs what was missed, once for all services of a batch.
func (e *Engine) tellGaps(b *batch, gaps map[int]gap, held int) {
	if len(gaps) == 0 {
		return
	}
	longest := time.Duration(0)
	for _, g := range gaps {
		longest = max(longest, b.at.Sub(g.last))
	}
	if longest >= refreshAfter {
		e.forecasts.refresh(b.at)
	}
	e.log.Warn("evaluations are missing: the process was suspended, or its clock was set; the scale-down windows are read again from the metric store",
		"services", len(gaps), "longest", longest, "held", held)
}
