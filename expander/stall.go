package expander

import "time"

// Calls is what is known of the flow of requests.
type Calls struct {
	// Last is the time of the newest request.
	Last time.Time
	// PendingSince is since when pods have been pending that a node would help; zero if none are.
	PendingSince time.Time
}

// Stall is a silence of the Cluster Autoscaler that is not for lack of demand.
type Stall struct {
	Stalled bool
	// Since is when the silence began to be one.
	Since time.Time
	// PhantomNodes counts by group the nodes that it waits for and that will not come.
	PhantomNodes map[string]int
}

// DetectStall tells whether the Cluster Autoscaler has stopped asking because it counts nodes of a failed scale-up as
// on their way (Cluster Autoscaler before 1.36): pods are pending, a group is in backoff with a target above its
// registered nodes, and no request came for alertAfter. It can only be reported; nothing in an answer repairs it.
func DetectStall(groups map[string]GroupView, calls Calls, alertAfter time.Duration, now time.Time) Stall {
	phantoms := map[string]int{}
	var since time.Time
	for _, id := range sortedKeys(groups) {
		g := groups[id]
		if g.Backoff == nil || g.Registered < 0 || g.Target <= g.Registered {
			continue
		}
		phantoms[id] = g.Target - g.Registered
		if since.IsZero() || g.Backoff.Since.Before(since) {
			since = g.Backoff.Since
		}
	}
	if len(phantoms) == 0 || calls.PendingSince.IsZero() {
		return Stall{}
	}
	since = later(since, later(calls.Last, calls.PendingSince))
	if now.Sub(since) < alertAfter {
		return Stall{}
	}
	return Stall{Stalled: true, Since: since, PhantomNodes: phantoms}
}
