package engine

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// crossing translates what the expander half knows, at one time, into the terms of package link.
type crossing struct {
	policy *expander.Policy
	view   expander.View
	last   *placed
	now    time.Time

	// facts and states are worked out once for all services of a tick.
	facts map[string]expander.GroupFacts
	// free are the accelerators that nobody holds, by group; nil is unknown.
	free   map[string]int
	states map[poolsKey][]link.PoolState
	// before are the nodes of a choice's group without its own, by the id of the choice; nil until it is asked for.
	before map[uint64]int
}

// crossing is what is known at a time, the same for all services of a tick. The caller holds links.mu.
func (e *Engine) crossing(at time.Time) *crossing {
	policy, last := e.config.Load().Expander, e.lastPlaced()
	if c := e.links.crossing; c != nil && c.now.Equal(at) && c.policy == policy && c.last == last {
		return c
	}
	c := &crossing{policy: policy, view: e.view(at), last: last, now: at, states: map[poolsKey][]link.PoolState{}, facts: map[string]expander.GroupFacts{}}
	if reader, ok := e.cluster.(FreeReader); ok {
		if free, known := reader.FreeAccelerators(); known {
			c.free = free
		}
	}
	if policy != nil {
		for i := range last.groups {
			c.facts[last.groups[i].ID] = policy.Describe(&last.groups[i])
		}
	}
	e.links.crossing = c
	return c
}

// describe completes the replicas by what the policy says about their groups.
func (c *crossing) describe(t *link.Target) {
	for i := range t.Replicas {
		r := &t.Replicas[i]
		if f, ok := c.facts[r.Pool]; ok && f.CapacityType != expander.CapacityUnknown {
			r.Capacity = link.Capacity(f.CapacityType)
		}
		r.Paid = r.Node != "" && r.Capacity == link.Reserved
	}
	c.payMinimum(t.Replicas)
}

// payMinimum marks the replicas on on-demand nodes that stay whoever leaves them: no more of a group can go than it has
// above its minimum size, so the others under the service are paid for. Which these are is told by their names, so that
// the deletion costs do not change from tick to tick.
func (c *crossing) payMinimum(replicas []link.Replica) {
	nodes := map[string][]string{}
	for i := range replicas {
		if r := &replicas[i]; r.Node != "" && r.Capacity == link.OnDemand && !slices.Contains(nodes[r.Pool], r.Node) {
			nodes[r.Pool] = append(nodes[r.Pool], r.Node)
		}
	}
	for pool, names := range nodes {
		g, ok := c.view.Groups[pool]
		if !ok || g.Min <= 0 || g.Nodes < 0 {
			continue
		}
		slices.Sort(names)
		staying := names[:max(0, len(names)-max(0, g.Nodes-g.Min))]
		for i := range replicas {
			if r := &replicas[i]; r.Capacity == link.OnDemand && r.Pool == pool && slices.Contains(staying, r.Node) {
				r.Paid = true
			}
		}
	}
}

// waiting are the replicas without a node, with the newest order that covers them as long as it is open.
func (c *crossing) waiting(replicas []link.Replica) []link.Waiting {
	var out []link.Waiting
	for i := range replicas {
		r := &replicas[i]
		if r.Node != "" || r.Ready {
			continue
		}
		w := link.Waiting{Replica: r.ID}
		if choice, ok := c.choice(r.ID); ok && c.open(choice) {
			w.Attempt, w.Pool, w.Ordered = choice.ID, choice.Group, choice.At
		}
		out = append(out, w)
	}
	return out
}

// choice is the newest choice that covers a pod.
func (c *crossing) choice(pod string) (expander.Choice, bool) {
	known := c.last.history.Pods[pod].Choices
	if len(known) == 0 {
		return expander.Choice{}, false
	}
	var newest expander.Choice
	found := false
	for _, choice := range c.last.history.Choices {
		if slices.Contains(known, choice.ID) && !choice.At.Before(newest.At) {
			newest, found = choice, true
		}
	}
	return newest, found
}

// open tells whether the nodes of a choice are neither here nor known to have failed.
func (c *crossing) open(choice expander.Choice) bool {
	return !choice.Observed && !choice.Failed && !choice.Delivered && !c.came(choice)
}

// came tells whether the group has more registered nodes than it had, or waited for, before the choice.
func (c *crossing) came(choice expander.Choice) bool {
	if c.policy == nil {
		return false
	}
	if c.before == nil {
		c.before = expander.NodesBefore(c.policy, c.last.history)
	}
	g, ok := c.view.Groups[choice.Group]
	before, known := c.before[choice.ID]
	return ok && known && g.Registered > before
}

// poolsKey is what the pools of a service depend on: its workload, and how many accelerators a replica asks for.
type poolsKey struct {
	workload string
	each     int
}

// pools are the groups that a workload may grow, in any of its stages, in terms of replicas that ask for so many
// accelerators each: how many fit on a node, and how many on what is free. Where that is not known, a replica is taken to
// fill a node. Without a view of their state nothing is known of any, and none is listed. The caller holds links.mu, and
// nobody changes the answer.
func (c *crossing) pools(workload string, each int) []link.PoolState {
	if c.policy == nil || workload == "" || !c.view.Known {
		return nil
	}
	key := poolsKey{workload, each}
	if known, ok := c.states[key]; ok {
		return known
	}
	held := map[string]expander.FailureState{}
	if c.policy.Mode == expander.Active {
		for _, f := range expander.HeldBack(c.policy, c.last.history, workload, c.last.groups, c.now) {
			held[f.GroupID] = f
		}
	}
	var out []link.PoolState
	for i := range c.last.groups {
		g := &c.last.groups[i]
		if c.policy.StageOf(workload, g) == 0 {
			continue
		}
		p := link.PoolState{Pool: g.ID, Capacity: link.Capacity(c.facts[g.ID].CapacityType), Nodes: -1, Max: -1, Free: -1}
		if c.free != nil {
			p.Free = c.free[g.ID]
		}
		if p.Free > 0 {
			p.Free /= max(1, each)
		}
		if each > 0 {
			p.Replicas = int(c.policy.Accelerators.Accelerated(offered(g))) / each
		}
		if seen, ok := c.view.Groups[g.ID]; ok {
			p.Nodes, p.Max = max(seen.Nodes, seen.Target), seen.Max
			if b := seen.Backoff; b != nil {
				p.HeldUntil, p.HeldBy = c.backoffEnd(b), "the Cluster Autoscaler backs off after "+string(b.Class)
			}
		}
		if f, ok := held[g.ID]; ok && f.Proven && f.Until.After(p.HeldUntil) {
			p.HeldUntil, p.HeldBy = f.Until, "it failed with "+string(f.Class)
		}
		out = append(out, p)
	}
	c.states[key] = out
	return out
}

// offered are the extended resources of a node of a group.
func offered(g *expander.Group) map[string]int64 {
	if len(g.Allocatable.Extended) > 0 {
		return g.Allocatable.Extended
	}
	return g.Capacity.Extended
}

// backoffEnd is when the autoscaler's backoff may end: it lasts five minutes at least, and is seen while it lasts.
func (c *crossing) backoffEnd(b *expander.Backoff) time.Time {
	const shortest = 5 * time.Minute
	if until := b.Since.Add(shortest); !b.Since.IsZero() && until.After(c.now) {
		return until
	}
	return c.now.Add(time.Minute)
}

// base is how many of a service's replicas are its part of the on-demand base of its workload.
func (c *crossing) base(workload string, replicas int) int {
	if c.policy == nil {
		return 0
	}
	i := slices.IndexFunc(c.policy.Workloads, func(w expander.Workload) bool { return w.Name == workload })
	if i < 0 {
		return 0
	}
	configured := c.policy.Workloads[i].OnDemandBase
	part := configured.Share * float64(replicas)
	if configured.Count > 0 {
		all := 0
		for _, n := range c.view.CapacityReplicas[workload] {
			all += n
		}
		own := float64(configured.Count)
		if all > replicas && replicas > 0 {
			own *= float64(replicas) / float64(all)
		}
		part = max(part, own)
	}
	return int(math.Ceil(part - 1e-9))
}

// learnBoots watches the choices whose nodes are on the way, and records how long they took when the first of them
// joins. A choice that was not seen before its nodes came teaches nothing. It also forgets services that are gone.
func (e *Engine) learnBoots(at time.Time) {
	l := &e.links
	l.keep(func(id string) bool { _, ok := e.services.get(id); return ok })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boots = l.boots.Join(e.heard().Boots)
	c := e.crossing(at)
	if !c.view.Known {
		return
	}
	watched := make(map[uint64]bool, len(l.watched))
	for _, choice := range c.last.history.Choices {
		switch {
		case choice.Observed || choice.Registered < 0:
		case c.came(choice):
			if l.watched[choice.ID] {
				l.boots = l.boots.Learn(choice.Group, at.Sub(choice.At))
			}
		case !choice.Failed && !choice.Delivered:
			watched[choice.ID] = true
		}
	}
	l.watched = watched
}

// lossesIn are the losses of nodes that count as failures of their groups.
func lossesIn(view expander.View) []expander.Failure {
	var out []expander.Failure
	for _, id := range slices.Sorted(maps.Keys(view.Groups)) {
		if g := view.Groups[id]; link.Reclaimed(g.Lost, g.Nodes) {
			out = append(out, expander.Failure{At: g.LostAt, GroupID: id, Class: expander.FailureStock, Reason: "reclaimed", Suspected: true})
		}
	}
	return out
}

// suspected adds the orders that are late, by this instance or by the one that computes, and losses of nodes to what the
// expander sees of failures.
func (e *Engine) suspected(view expander.View) expander.View {
	told := e.heard().Late
	view.Failures = slices.Clone(view.Failures) // others read it
	l := &e.links
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[uint64]bool{}
	add := func(all []link.Late) {
		for _, late := range all {
			if !seen[late.Attempt] {
				seen[late.Attempt] = true
				view.Failures = append(view.Failures, expander.Failure{
					At: late.Since, GroupID: late.Pool, Class: expander.FailureOther, Reason: "late", Suspected: true,
				})
			}
		}
	}
	for _, one := range l.byID {
		add(one.late)
	}
	add(told)
	if e.config.Load().Spot.HoldAfterLoss {
		view.Failures = append(view.Failures, lossesIn(view)...)
	}
	slices.SortStableFunc(view.Failures, func(a, b expander.Failure) int { return a.At.Compare(b.At) })
	return view
}
