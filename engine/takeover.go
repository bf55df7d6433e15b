package engine

import (
	"encoding/json"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// takeOver gives a service the state that the leader sent last, at the first evaluation after this instance became the
// leader. The state is exact as long as no more than a few ticks are missing; an older one goes into the rebuilding from
// the metric store, as after a restart. The caller holds s.mu.
func (e *Engine) takeOver(s *service, at time.Time) {
	e.lockstep.mu.RLock()
	epoch := e.lockstep.epoch
	e.lockstep.mu.RUnlock()
	again := s.epoch != epoch
	s.epoch = epoch
	r := s.received.Swap(nil)
	if r == nil {
		if line := s.entry.Load(); again && s.rebuilt && line != nil && at.Sub(line.decision.Time) > e.exact() {
			state := s.state // of an earlier time as leader, and nothing came since
			s.carried, s.rebuilt, s.rebuildSince = &state, false, time.Time{}
		}
		return
	}
	state, exact := e.receivedState(s, r)
	if !state.Valid {
		s.rebuilt, s.rebuildSince = false, time.Time{}
		return
	}
	if exact {
		if line := s.entry.Load(); line != nil && line.decision.Forecast != nil && line.decision.Forecast.Used {
			// This instance has to read the history of its forecast first: what the last leader's forecast held up must not
			// fall meanwhile.
			state.Computed = []scaler.Target{{At: at, N: state.N}}
		}
	}
	if exact && at.Sub(r.at) <= e.exact() {
		s.state, s.rebuilt, s.evaluated = state, true, at
		return
	}
	s.carried, s.rebuilt, s.rebuildSince = &state, false, time.Time{}
}

// receivedState is what the leader sent, by this instance's clock. It is exact if it is the leader's own state; else only
// the answer is known, and how it came about is not. It is not valid if there was no answer either.
func (e *Engine) receivedState(s *service, r *received) (state scaler.State, exact bool) {
	if len(r.state) > 0 {
		err := json.Unmarshal(r.state, &state)
		if err == nil && state.Valid && state.N >= 0 {
			return state.Shift(r.skew), true
		}
		if err != nil {
			e.log.Warn("the state that the last leader sent cannot be used; it is rebuilt", "service", s.id, "error", err)
		}
	}
	if !r.valid {
		return scaler.State{}, false
	}
	return scaler.State{N: r.n, Valid: true, Computed: []scaler.Target{{At: r.at, N: r.n}}, Since: r.at}, false
}

// exactFor is how many evaluation intervals may pass between two leaders without a look at what came meanwhile. A lease
// changes hands within one or two.
const exactFor = 4

func (e *Engine) exact() time.Duration { return exactFor * e.config.Load().EvaluationInterval }

// carry joins the state of the last leader to one that was rebuilt from the metric store: the larger answer starts a
// whole window, so that the change of the leader never scales down.
func (e *Engine) carry(s *service, rebuilt scaler.State, to time.Time) scaler.State {
	carried := s.carried
	s.carried = nil
	if carried == nil {
		return rebuilt
	}
	if !rebuilt.Valid || carried.N > rebuilt.N {
		rebuilt.N, rebuilt.Need, rebuilt.Valid = carried.N, max(rebuilt.Need, carried.Need), true
	}
	rebuilt.Prewarms, rebuilt.Ordered, rebuilt.Released, rebuilt.Observed = carried.Prewarms, carried.Ordered, carried.Released, carried.Observed
	rebuilt.Computed, rebuilt.LastStep = []scaler.Target{{At: to, N: rebuilt.N}}, to
	return rebuilt
}

// refreshAfter is how long a predictor may have seen nothing.
const refreshAfter = 3 * slotLength

// refresh lets the forecasts that have not seen the last slots, because another instance computed, read them.
func (f *forecasts) refresh(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.bySeries {
		if one.predictor == nil || now.Sub(one.newest) < refreshAfter {
			continue
		}
		one.predictor, one.mean, one.waiting, one.nextTryAt = nil, slotMean{}, nil, time.Time{}
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
