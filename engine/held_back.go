package engine

import (
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// mostHeldBack bounds the groups of earlier requests: their ids are what the callers make them.
const mostHeldBack = 1000

// heldBack is what the last decisions said about groups that recently failed, so that it can be shown between requests.
type heldBack struct {
	mu     sync.Mutex
	groups map[string]heldGroup
}

type heldGroup struct {
	pool     string
	capacity expander.CapacityType
	until    time.Time
}

// poolKey is a pool with the capacity type of its groups.
type poolKey struct {
	pool     string
	capacity expander.CapacityType
}

// update takes over a decision. Groups that the request does not know stay until their time is over.
func (h *heldBack) update(request expander.Request, d *expander.Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := make(map[string]heldGroup, len(d.Failures))
	for _, f := range d.Failures {
		next[f.GroupID] = heldGroup{h.groups[f.GroupID].pool, h.groups[f.GroupID].capacity, f.Until}
	}
	for _, c := range d.Candidates {
		if g, ok := next[c.ID]; ok {
			next[c.ID] = heldGroup{c.Pool, c.CapacityType, g.until}
		}
	}
	known := make(map[string]bool, len(request.Groups))
	for i := range request.Groups {
		known[request.Groups[i].ID] = true
	}
	for id, g := range h.groups {
		if !known[id] && g.until.After(d.Time) && len(next) < mostHeldBack {
			if _, ok := next[id]; !ok {
				next[id] = g
			}
		}
	}
	h.groups = next
}

// count counts the groups that are held back at a time.
func (h *heldBack) count(now time.Time) map[poolKey]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[poolKey]int{}
	for _, g := range h.groups {
		if g.until.After(now) {
			counts[poolKey{g.pool, g.capacity}]++
		}
	}
	return counts
}
