package cluster

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// askedFor is for how long a pod counts as asked for after a request with it.
const askedFor = 30 * time.Minute

// mostAsked bounds the pods that count as asked for: callers are not authenticated. The oldest make room.
const mostAsked = 50_000

// demand is what the requests told: node templates, the policy in force, which pods were asked for and when.
type demand struct {
	mu        sync.Mutex
	policy    *expander.Policy
	templates []template
	print     uint64
	lastCall  time.Time
	lastAsked map[string]time.Time
}

var printSeed = maphash.MakeSeed()

// observe returns whether the templates or the policy are other ones now. A request without templates says nothing
// about them: one that could not be sent costs all.
func (d *demand) observe(policy *expander.Policy, request *expander.Request, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastCall = now
	if d.lastAsked == nil {
		d.lastAsked = map[string]time.Time{}
	}
	for uid, at := range d.lastAsked {
		if now.Sub(at) > askedFor {
			delete(d.lastAsked, uid)
		}
	}
	for i := range request.Pods {
		d.lastAsked[request.Pods[i].UID] = now
	}
	d.forgetOldest()
	return d.take(policy, request.Groups)
}

// adopt takes over what another instance was told.
func (d *demand) adopt(policy *expander.Policy, groups []expander.Group) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.take(policy, groups)
}

// take returns whether anything is another one now. The caller holds mu.
func (d *demand) take(policy *expander.Policy, groups []expander.Group) bool {
	changed := d.policy == nil || policy == nil || d.policy.Hash != policy.Hash
	d.policy = policy
	if len(groups) == 0 {
		return changed
	}
	templates := make([]template, len(groups))
	var sum uint64
	for i := range groups {
		g := &groups[i]
		text := encodeLabels(g.Labels)
		templates[i] = template{Group: *g, labels: decodeLabels(text), zone: expander.ZoneOf(g.Labels)}
		// A sum does not depend on the order, which is another one in every request.
		sum += maphash.String(printSeed, g.ID+"\n"+text)
	}
	if sum != d.print || len(templates) != len(d.templates) {
		changed = true
	}
	d.templates, d.print = templates, sum
	return changed
}

// forgetOldest drops the pods of the oldest requests above the bound.
func (d *demand) forgetOldest() {
	above := len(d.lastAsked) - mostAsked
	if above <= 0 {
		return
	}
	times := slices.SortedFunc(maps.Values(d.lastAsked), time.Time.Compare)
	oldest := times[above-1]
	for uid, at := range d.lastAsked {
		if !at.After(oldest) && len(d.lastAsked) > mostAsked {
			delete(d.lastAsked, uid)
		}
	}
}

func (d *demand) known() (*expander.Policy, []template) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.policy, d.templates
}

func (d *demand) asked(uid string) (at, lastCall time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastAsked[uid], d.lastCall
}
