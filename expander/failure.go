package expander

import (
	"math"
	"time"
)

// block tells whether, and until when, the failure memory holds a group back.
func (h *History) block(g *groupFacts, memory FailureMemory, now time.Time) (FailureState, bool) {
	state := FailureState{GroupID: g.ID}
	record := h.Groups[g.ID]
	for _, f := range record.Failures {
		if !f.At.After(record.DeliveredAt) {
			continue
		}
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
			for _, f := range other.Failures {
				if f.Class == FailureQuota && f.QuotaGroup == g.quotaGroup && f.At.After(other.DeliveredAt) {
					state.extend(f, memory.Quota)
				}
			}
		}
	}
	return state, state.Until.After(now)
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
	g := h.Groups[id]
	if n := len(g.Failures); n > 0 && g.Failures[n-1].At.After(g.DeliveredAt) {
		return g.Failures[n-1].At
	}
	return time.Time{}
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
