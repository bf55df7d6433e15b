package link

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// swapTrial is how long the first replica that went back to a pool has to serve before the next one follows.
	swapTrial = 30 * time.Minute
	// swapPatience is how long the new replica of a swap may take until it serves: a boot and a load, and as much again.
	swapPatience = 20 * time.Minute
	// swapPause is how long nothing goes back after the first setback: a swap that failed, or a loss on the pool that took
	// replicas back. Each further one doubles it, up to swapPauseMax, until a trial is passed: where spot is good the next
	// attempt comes soon, where it is scarce there are hardly any (docs/spot.md has what each choice costs).
	swapPause    = 15 * time.Minute
	swapPauseMax = 6 * time.Hour
)

// SwapState is what [Swap] remembers of one scale target. The zero value is a target of which nothing went back yet.
type SwapState struct {
	// Since is when the swap that is under way began, to Pool; zero without one. Before are the replicas of that time.
	Since  time.Time `json:"since,omitzero"`
	Pool   string    `json:"pool,omitempty"`
	Before []string  `json:"before,omitempty"`
	// Trial is the pool that the first replica went back to, TrialReplica which one, from TrialAt on. Passed is set when it
	// has served for long enough.
	Trial        string    `json:"trial,omitempty"`
	TrialReplica string    `json:"trialReplica,omitempty"`
	TrialAt      time.Time `json:"trialAt,omitzero"`
	Passed       bool      `json:"passed,omitempty"`
	// Paused is until when nothing goes back, Setbacks how often it was paused since a trial was passed.
	Paused   time.Time `json:"paused,omitzero"`
	Setbacks int       `json:"setbacks,omitempty"`
	// Moved counts the replicas that went back.
	Moved int `json:"moved,omitempty"`
}

// SwapView is what a swap depends on.
type SwapView struct {
	Target Target
	// Base is the number of on-demand replicas that are no fall-back, Wanted what is asked for without a swap, Max the most
	// that may be.
	Base, Wanted, Max int
	// OnDemandCost is what a fall-back node costs per hour; 0 is unknown.
	OnDemandCost float64
	// Pools are the spot groups that the replicas may use.
	Pools []ReturnPool
	// Busy tells that a swap of another target is under way.
	Busy bool
}

// SwapStep is what a swap asks for now.
type SwapStep struct {
	// Extra is 1 while one more replica is wanted, which is to serve before a fall-back one goes.
	Extra int `json:"extra,omitempty"`
	// Text says what happens, or why nothing does.
	Text string `json:"text"`
}

// Swap moves fall-back replicas back to spot, one at a time, the new one before the old one: while one is under way the
// target has one more, whose node is ordered from the first stage as any other; when that replica serves on a spot pool
// the surplus ends, and the deletion cost has a fall-back replica go. The first one to a pool is a trial. Nothing begins
// unless every replica serves, the pool can deliver and is calm, and a fall-back replica above the base carries its
// deletion cost; what begins ends with the first sign that it will not come.
func Swap(v SwapView, state SwapState, now time.Time) (SwapStep, SwapState) {
	state = state.judgeTrial(&v, now)
	back := v.fallBack()
	if back.ready == 0 {
		state.stop()
		return SwapStep{Text: "nothing to swap: no replica above the base runs on a fall-back node"}, state
	}
	if !state.Since.IsZero() {
		return v.proceed(state, back, now)
	}
	pool, why := v.obstacle(&state, now)
	if why == "" && back.mixed && back.marked == 0 {
		why = "none is marked to go first; the patch of pods may not be granted"
	}
	if why != "" {
		return SwapStep{Text: fmt.Sprintf("%s on fall-back nodes, nothing goes back now: %s", counted(back.ready, "replica"), why)}, state
	}
	state.Since, state.Pool, state.Before = now, pool.Pool, nil
	for i := range v.Target.Replicas {
		state.Before = append(state.Before, v.Target.Replicas[i].ID)
	}
	slices.Sort(state.Before)
	return SwapStep{Extra: 1, Text: state.underWay()}, state
}

// fallBack counts the replicas that may go: above the base, on on-demand that is not paid for anyway, and serving. The
// controller takes those first that are marked, which is done once the replicas of the target are mixed.
type fallBack struct {
	ready, marked int
	mixed         bool
}

func (v *SwapView) fallBack() fallBack {
	var f fallBack
	wanted := wantedCosts(v.Target.Replicas, v.Base)
	for i, cost := range wanted {
		f.mixed = f.mixed || cost != wanted[0]
		if r := &v.Target.Replicas[i]; cost == CostFallBack && r.Ready {
			f.ready++
			if carried(r) == CostFallBack {
				f.marked++
			}
		}
	}
	return f
}

// judgeTrial looks after the replica on trial: when it is lost, nothing goes back for a while.
func (s SwapState) judgeTrial(v *SwapView, now time.Time) SwapState {
	if lost := slices.ContainsFunc(v.Pools, func(p ReturnPool) bool { return p.Pool == s.Trial && p.Lost > 0 }); lost && s.Trial != "" {
		s.Trial, s.TrialReplica, s.TrialAt, s.Passed = "", "", time.Time{}, false
		s.pause(now)
	}
	if s.Trial == "" || s.Passed {
		return s
	}
	i := slices.IndexFunc(v.Target.Replicas, func(r Replica) bool { return r.ID == s.TrialReplica })
	switch {
	case i >= 0 && v.Target.Replicas[i].Doomed.IsZero() && v.Target.Replicas[i].Ready:
		if s.Passed = now.Sub(s.TrialAt) >= swapTrial; s.Passed {
			s.Setbacks = 0
		}
	case i < 0 && len(v.Target.Replicas) <= v.Wanted && !now.Before(s.TrialAt):
		s.Trial, s.TrialReplica, s.TrialAt = "", "", time.Time{} // scaled in: it proved nothing
	}
	return s
}

func (s *SwapState) stop() { s.Since, s.Pool, s.Before = time.Time{}, "", nil }

// pause ends what is under way, and keeps the next one back for longer with every setback.
func (s *SwapState) pause(now time.Time) {
	d := swapPause
	for range s.Setbacks {
		if d = min(2*d, swapPauseMax); d == swapPauseMax {
			break
		}
	}
	s.Paused = later(s.Paused, now.Add(d))
	s.Setbacks++
	s.stop()
}

func (s *SwapState) underWay() string {
	return fmt.Sprintf("one replica goes back to %s: its replacement comes first, ordered at %s", s.Pool, clock(s.Since))
}

// proceed looks after the swap that is under way.
func (v *SwapView) proceed(state SwapState, back fallBack, now time.Time) (SwapStep, SwapState) {
	give := func(why string) (SwapStep, SwapState) {
		pool := state.Pool
		state.pause(now)
		return SwapStep{Text: fmt.Sprintf("the swap to %s was given up: %s; the next is tried after %s", pool, why, clock(state.Paused))}, state
	}
	for i := range v.Target.Replicas {
		r := &v.Target.Replicas[i]
		if _, old := slices.BinarySearch(state.Before, r.ID); old || r.Node == "" {
			continue
		}
		if r.Capacity != Spot {
			return give("the new replica came on " + cmp.Or(r.Pool, "a node that is not spot"))
		}
		if r.Ready && back.marked > 0 {
			pool := r.Pool
			if state.Trial != pool {
				state.Trial, state.TrialReplica, state.TrialAt, state.Passed = pool, r.ID, now, false
			}
			state.Moved++
			state.stop()
			return SwapStep{Text: "a replica serves on " + pool + "; a fall-back one goes"}, state
		}
	}
	pool := slices.IndexFunc(v.Pools, func(p ReturnPool) bool { return p.Pool == state.Pool })
	switch {
	case now.Sub(state.Since) > swapPatience:
		return give(fmt.Sprintf("no replica served within %v", swapPatience))
	case Watch(v.Target.Replicas).Replicas > 0:
		return give("machines were given notice")
	case pool < 0 || !v.Pools[pool].Deliverable || v.Pools[pool].Lost > 0:
		return give("the pool cannot deliver any more")
	}
	return SwapStep{Extra: 1, Text: state.underWay()}, state
}

// obstacle says why no swap may begin; without one it returns the cheapest pool to go back to.
func (v *SwapView) obstacle(s *SwapState, now time.Time) (ReturnPool, string) {
	serving := 0
	for i := range v.Target.Replicas {
		if r := &v.Target.Replicas[i]; r.Ready && r.Doomed.IsZero() {
			serving++
		}
	}
	switch {
	case !HonoursCost(v.Target.Owner):
		return ReturnPool{}, noEffect(v.Target.Owner)
	case s.Paused.After(now):
		return ReturnPool{}, "the last one failed, the next is tried after " + clock(s.Paused)
	case s.Trial != "" && !s.Passed:
		return ReturnPool{}, "the first one is on trial on " + s.Trial + " until " + clock(s.TrialAt.Add(swapTrial))
	case serving != len(v.Target.Replicas) || serving != v.Wanted:
		return ReturnPool{}, fmt.Sprintf("%d of %s serve, wanted %d", serving, counted(len(v.Target.Replicas), "replica"), v.Wanted)
	case v.Wanted >= v.Max:
		return ReturnPool{}, fmt.Sprintf("the target is at its maximum of %d, there is no room for one more", v.Max)
	case v.Busy:
		return ReturnPool{}, "another service is being moved"
	}
	best, why := calmest(v.Pools, func(p *ReturnPool) string {
		switch {
		case p.Lost > 0:
			return p.Pool + " has just lost nodes"
		case v.OnDemandCost > 0 && p.HourlyCost >= v.OnDemandCost:
			return p.Pool + " is no cheaper"
		case p.Deliverable && p.ReclaimsPerHour < 0:
			return "" // the trial tells
		}
		return p.unfit()
	})
	if best == nil {
		return ReturnPool{}, orNone(why)
	}
	return *best, ""
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
