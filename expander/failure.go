package expander

import (
	"math"
	"time"
)

// block tells whether, and until when, the failure memory holds a group back.
func (h *History) block(g *groupFacts, memory FailureMemory, now time.Time) (FailureState, bool) {
	state := FailureState{GroupID: g.ID}
	record := h.Groups[g.ID]
	for _, f := range record.Standing() {
		if f.Proven {
			state.Failures++
		}
		state.extend(f, memory.duration(f, g.cards > 1, state.Failures))
	}
	if g.quotaGroup != "" {
		for id, other := range h.Groups {
			if id == g.ID {
				continue
			}
			for _, f := range other.Standing() {
				if f.Class == FailureQuota && f.QuotaGroup == g.quotaGroup {
					state.extend(f, memory.Quota)
				}
			}
		}
	}
	return state, state.Until.After(now)
}

// Standing are the failures that still count, oldest first: those that no later choice with nodes has outdated. The
// failure that a choice itself met counts, although some of its nodes may have come.
func (g GroupHistory) Standing() []FailureRecord {
	var standing []FailureRecord
	for _, f := range g.Failures {
		delivered := g.DeliveredAt
		if f.Proven {
			delivered = delivered.Add(-ownFailure)
		}
		if f.At.After(delivered) {
			standing = append(standing, f)
		}
	}
	return standing
}

// extend takes over a failure that blocks for longer than those before.
func (s *FailureState) extend(f FailureRecord, block time.Duration) {
	if until := f.At.Add(block); block > 0 && until.After(s.Until) {
		s.Until, s.Class, s.Proven = until, f.Class, f.Proven
	}
}

// duration is for how long the n-th failure blocks. Suspicions do not grow.
func (m FailureMemory) duration(f FailureRecord, multiGPU bool, n int) time.Duration {
	if !f.Proven {
		return m.Suspected
	}
	if f.Class == FailureQuota && m.Quota > 0 {
		return m.Quota
	}
	block := m.SingleGPU
	if multiGPU {
		block = m.MultiGPU
	}
	factor := max(1, m.Factor)
	grown := float64(block) * math.Pow(factor, float64(n-1))
	if limit := float64(m.Max); m.Max > 0 && grown > limit {
		grown = limit
	}
	return time.Duration(min(grown, float64(failureExpiry)))
}

// lastFailure is the time of the newest failure that still counts against a group.
func (h *History) lastFailure(id string) time.Time {
	standing := h.Groups[id].Standing()
	if len(standing) == 0 {
		return time.Time{}
	}
	return standing[len(standing)-1].At
}

// failuresNow lists the groups that are held back now, in the order of the request.
func (p *problem) failuresNow(memory FailureMemory) []FailureState {
	var held []FailureState
	for i := range p.groups {
		if state, blocked := p.history.block(&p.groups[i], memory, p.now); blocked {
			held = append(held, state)
		}
	}
	return held
}
