package scaler

import "time"

// CatchUp takes a state over the ticks from one time to another that were never evaluated, because the process was
// suspended or its clock was set: it replays them from the history. The scale-down window then holds what an unbroken run
// would have computed. Nothing was answered meanwhile: the last answer stays the one from before, so that steps down
// begin with it, and what the forecast has ordered stays as it was. A source whose samples are not in the history is
// missing in the replay, as it would have been in the run.
//
// A time between the last evaluation and from that the history does not cover belongs to [State.Unseen] first.
func CatchUp(policy Policy, state State, history History, from, to time.Time) State {
	policy.ScaleDown.Window = effectiveWindow(policy.ScaleDown.Window, history.Lead)
	step := orDefault(history.Step, defaultStep)
	next := state
	r := newReplay(&history)
	for at := from; !at.After(to); at = at.Add(step) {
		_, next = Evaluate(policy, next, r.inputs(at, policy.StaleAfter), at)
	}
	next.N, next.Valid, next.LastStep = state.N, state.Valid, state.LastStep
	next.Prewarms, next.Ordered, next.Released = state.Prewarms, state.Ordered, state.Released
	return next
}

// Unseen returns the state after a time of which not everything is known, up to at: the last answer starts a whole
// scale-down window, a whole idle time and a whole time of quiet. Before the first answer there is nothing to hold.
func (s State) Unseen(at time.Time) State {
	if !s.Valid {
		return s
	}
	s.Computed = pushTarget(s.Computed, Target{At: at, N: s.N})
	s.Since, s.LastStep, s.QuietSince = at, at, time.Time{}
	return s
}
