package scaler

import (
	"math"
	"sort"
	"time"
)

// History is what a metric store still knows after a restart.
type History struct {
	// Signals holds the samples of each signal, oldest first; the last scale-down window is enough, more is better.
	Signals map[Signal][]Sample
	// Ready holds the numbers of ready replicas, oldest first; empty is unknown.
	Ready []Sample
	// Current is the present number of replicas of the scale target; negative is unknown.
	Current int
	// Stored is the state that was written before the restart; the zero value without one. Its last answer, its prewarms
	// and what it has learned go into the rebuilt state.
	Stored State
	// Step is the evaluation interval, 15 s by default.
	Step time.Duration
	// Lead is the last known lead, for [CatchUp]; 0 is what the policy says.
	Lead time.Duration
}

const (
	defaultStep = 15 * time.Second
	// maxReplay bounds how far back a history is replayed.
	maxReplay = 6 * time.Hour
)

// Rebuild makes the state of a service from its history, so that a restart never scales anything down: it replays the
// evaluations of the history, takes the stored answer or the present number of replicas if that is larger, and starts a
// whole scale-down window and a whole idle time with it. Learned capacities come back with the replay as far as the
// history reaches. A history without any sample and with an unknown count gives the state of a new service.
func Rebuild(policy Policy, history History, now time.Time) State {
	replayed := policy
	replayed.Frozen = false
	step := orDefault(history.Step, defaultStep)
	state := State{}
	r := newReplay(&history)
	for at := r.start(now, step); !at.After(now); at = at.Add(step) {
		_, state = Evaluate(replayed, state, r.inputs(at, replayed.StaleAfter), at)
	}
	present := -1
	if history.Current >= 0 {
		present = history.Current
	}
	window := effectiveWindow(policy.ScaleDown.Window, time.Duration(Lead(policy.Startup, nil).Seconds*float64(time.Second)))
	if !history.Stored.answeredSince(now.Add(-window)) && (state.Valid || present >= 0) {
		history.Stored.Valid = false // too old to say how many are needed, where anything else does
	}
	return resume(state, history.Stored, min(present, policy.Max), now)
}

// answeredSince tells whether the state's last answer is not older than that.
func (s *State) answeredSince(t time.Time) bool {
	n := len(s.Computed)
	return s.Valid && n > 0 && !s.Computed[n-1].At.Before(t)
}

// resume joins what was replayed, what was stored and the present count, negative if unknown, into the state to go on
// from: the largest of the three is the last answer, and it starts a window.
func resume(state, stored State, present int, now time.Time) State {
	state.Since = now
	if !stored.Since.IsZero() {
		state.Prewarms, state.Ordered, state.Released = stored.Prewarms, stored.Ordered, stored.Released
		state.Observed = stored.Observed
	}
	if stored.Valid && (!state.Valid || stored.N > state.N) {
		state.N, state.Valid = stored.N, true
		state.Need = max(state.Need, stored.Need)
	}
	if present >= 0 && (!state.Valid || present > state.N) {
		state.N, state.Valid = present, true
	}
	if !state.Valid {
		return state
	}
	state.Need = max(state.Need, present)
	state.Computed = pushTarget(state.Computed, Target{At: now, N: state.N})
	state.LastStep = now
	return state
}

// replay hands out a history tick by tick.
type replay struct {
	history *History
	next    map[Signal]int
	ready   int
}

func newReplay(h *History) replay {
	return replay{history: h, next: make(map[Signal]int, len(h.Signals))}
}

// start is the first tick, aligned to the step; after now when there is no sample.
func (r *replay) start(now time.Time, step time.Duration) time.Time {
	first := now.Add(step)
	for _, samples := range r.history.Signals {
		if len(samples) > 0 && samples[0].At.Before(first) {
			first = samples[0].At
		}
	}
	if earliest := now.Add(-maxReplay); first.Before(earliest) {
		first = earliest
	}
	aligned := first.Truncate(step)
	if aligned.Before(first) {
		aligned = aligned.Add(step)
	}
	return aligned
}

// inputs are the samples since the last tick.
func (r *replay) inputs(at time.Time, staleAfter time.Duration) Inputs {
	in := Inputs{Signals: make(map[Signal][]Sample, len(r.history.Signals)), CurrentReplicas: -1}
	for signal, samples := range r.history.Signals {
		from := r.next[signal]
		n := sort.Search(len(samples)-from, func(i int) bool { return samples[from+i].At.After(at) })
		in.Signals[signal] = samples[from : from+n]
		r.next[signal] = from + n
	}
	ready := r.history.Ready
	for r.ready < len(ready) && !ready[r.ready].At.After(at) {
		r.ready++
	}
	if r.ready > 0 {
		newest := ready[r.ready-1]
		if at.Sub(newest.At) <= orDefault(staleAfter, defaultStaleAfter) {
			in.Pods = Pods{Known: true, Ready: int(math.Round(newest.Value))}
		}
	}
	return in
}
