package cluster

import (
	"time"
	"unique"

	"github.com/warmpool/warmpool/expander"
)

// snapshot is the view at one time. It is not changed any more once it is stored.
type snapshot struct {
	view expander.View
	// statusAt is when the Cluster Autoscaler wrote its status; zero without one.
	statusAt time.Time
	status   []GroupStatus
	// spotNodes counts by group the nodes that may be reclaimed.
	spotNodes map[string]int
	// accelerators counts by group what the nodes advertise and what pods hold of it.
	accelerators map[string]*accelerators
	// pending are the pods that wait for a node with a GPU.
	pending []*pod
	// placed tells what is known of each distinct set of node labels.
	placed map[unique.Handle[string]]*place
}

type accelerators struct{ offered, held int64 }

// place is what the labels of a node tell.
type place struct {
	match
	pool     string
	capacity expander.CapacityType
	zone     string
}

// refresh builds the view anew. Several calls at a time build it one after the other.
func (c *Cluster) refresh(now time.Time) {
	c.rebuild.Lock()
	defer c.rebuild.Unlock()
	b := &builder{cluster: c, now: now, snapshot: &snapshot{
		spotNodes: map[string]int{}, accelerators: map[string]*accelerators{}, placed: map[unique.Handle[string]]*place{},
	}}
	policy, templates := c.demand.known()
	b.policy = policy
	b.readStatus()
	ids := make([]string, 0, len(b.status))
	for i := range b.status {
		ids = append(ids, b.status[i].Name)
	}
	b.matcher = newMatcher(templates, ids)
	b.groups = make(map[string]*expander.GroupView, len(templates)+len(ids))
	for i := range templates {
		b.group(templates[i].ID)
	}
	b.countNodes()
	b.applyStatus()
	b.countPods()
	b.finish()
	c.current.Store(b.snapshot)
}

// builder is a snapshot in the making.
type builder struct {
	*snapshot
	cluster *Cluster
	now     time.Time
	policy  *expander.Policy
	matcher *matcher
	groups  map[string]*expander.GroupView
	byNode  map[string]*place
	// uncertain are groups that may or may not have nodes which cannot be placed.
	uncertain map[string]bool
}

func (b *builder) group(id string) *expander.GroupView {
	g := b.groups[id]
	if g == nil {
		unknown := expander.UnknownGroup()
		g = &unknown
		if b.cluster.nodes.readable() {
			g.Nodes, g.ReadyNodes = 0, 0
		}
		b.groups[id] = g
	}
	return g
}

func (b *builder) readStatus() {
	c := b.cluster
	if s, ok := c.lastStatus(); ok {
		b.statusAt, b.status = s.At, s.Groups
	}
	if c.events.readable() {
		b.view.Failures = c.failures()
	}
}

// place is what is known of a node, by its labels and the policy.
func (b *builder) place(n *node) *place {
	if p, ok := b.placed[n.labels]; ok {
		return p
	}
	p := &place{match: b.matcher.of(n)}
	p.zone = expander.ZoneOf(p.labels)
	p.capacity = expander.CapacityTypeOf(p.labels)
	if b.policy != nil {
		// A node's taints come and go, those of a template do not; without one the labels have to do.
		g := expander.Group{ID: p.group, Labels: p.labels}
		for i := range b.matcher.templates {
			if t := &b.matcher.templates[i]; t.ID == p.group {
				g = t.Group
			}
		}
		p.pool, p.capacity = b.policy.PoolOf(&g), b.policy.CapacityTypeOf(&g)
	}
	b.placed[n.labels] = p
	return p
}

func (b *builder) countNodes() {
	b.byNode, b.uncertain = map[string]*place{}, map[string]bool{}
	if !b.cluster.nodes.readable() {
		return
	}
	b.view.ZoneNodes = map[string]int{}
	if b.policy != nil {
		b.view.PoolZoneNodes = map[string]map[string]int{}
	}
	b.cluster.eachNode(func(n *node) {
		p := b.place(n)
		b.byNode[n.Name] = p
		b.countZone(p)
		for _, id := range p.ambiguous {
			b.uncertain[id] = true
		}
		if p.group == "" {
			return
		}
		g := b.group(p.group)
		g.Nodes++
		if p.capacity == expander.Spot {
			b.spotNodes[p.group]++
		}
		if n.accelerators > 0 {
			b.accelerated(p.group).offered += n.accelerators
		}
		if !n.ready {
			return
		}
		g.ReadyNodes++
		for _, key := range n.caches {
			if g.CacheNodes == nil {
				g.CacheNodes = map[string]int{}
			}
			g.CacheNodes[key]++
		}
	})
	for id, g := range b.groups {
		if b.uncertain[id] {
			g.Nodes, g.ReadyNodes, g.CacheNodes = -1, -1, nil
		}
		g.Registered = g.Nodes
	}
}

func (b *builder) accelerated(id string) *accelerators {
	a := b.accelerators[id]
	if a == nil {
		a = &accelerators{}
		b.accelerators[id] = a
	}
	return a
}

func (b *builder) countZone(p *place) {
	if p.zone == "" {
		return
	}
	b.view.ZoneNodes[p.zone]++
	if b.policy != nil && p.pool != "" {
		zones := b.view.PoolZoneNodes[p.pool]
		if zones == nil {
			zones = map[string]int{}
			b.view.PoolZoneNodes[p.pool] = zones
		}
		zones[p.zone]++
	}
}

// applyStatus takes what the Cluster Autoscaler says of its groups: target and registered count come from one look,
// so that their difference means something.
func (b *builder) applyStatus() {
	for i := range b.status {
		s := &b.status[i]
		g := b.group(s.Name)
		g.Target, g.Min, g.Max, g.Backoff = s.Target, s.Min, s.Max, s.Backoff
		if s.Registered >= 0 {
			g.Registered = s.Registered
		}
		if g.Nodes <= 0 && s.Registered > 0 {
			// No node could be placed in it: then that one knows better.
			g.Nodes = s.Registered
			if g.ReadyNodes == 0 {
				g.ReadyNodes = -1
			}
		}
	}
}

// countPods counts what holds GPUs and what waits for them.
func (b *builder) countPods() {
	if !b.cluster.pods.readable() {
		return
	}
	workloads := map[unique.Handle[string]]string{}
	if b.policy != nil {
		b.view.CapacityReplicas = map[string]map[expander.CapacityType]int{}
	}
	b.cluster.eachPod(func(p *pod) {
		if !p.wantsAccelerator() || p.ended {
			return
		}
		if p.pending() {
			b.pending = append(b.pending, p)
			return
		}
		on := b.byNode[p.node]
		if p.node == "" || p.leaving || on == nil {
			return
		}
		if on.group != "" {
			b.accelerated(on.group).held += int64(p.accelerators)
		}
		if b.policy == nil {
			return
		}
		name, ok := workloads[p.shape]
		if !ok {
			name = b.policy.WorkloadOf(decodeShape(p.shape.Value()))
			workloads[p.shape] = name
		}
		if name == "" {
			return
		}
		if b.view.CapacityReplicas[name] == nil {
			b.view.CapacityReplicas[name] = map[expander.CapacityType]int{}
		}
		b.view.CapacityReplicas[name][on.capacity]++
	})
}

func (b *builder) finish() {
	b.view.Groups = make(map[string]expander.GroupView, len(b.groups))
	for id, g := range b.groups {
		g.ReclaimsPerHour = b.cluster.reclaims.rate(id, b.now)
		g.Lost, g.LostAt = b.cluster.reclaims.lately(id, b.now)
		b.view.Groups[id] = *g
	}
	b.view.Known = b.cluster.nodes.readable() && b.cluster.status.readable() && len(b.status) > 0
}

// statusFresh tells whether the Cluster Autoscaler is at work: it writes its status in every loop. A status without a
// time is believed.
func (s *snapshot) statusFresh(now time.Time) bool {
	return len(s.status) > 0 && (s.statusAt.IsZero() || now.Sub(s.statusAt) <= staleAfter)
}

// spotGroup is the group of a node, and whether its nodes may be reclaimed.
func (c *Cluster) spotGroup(n *node) (id string, spot bool) {
	p := c.current.Load().placed[n.labels]
	if p == nil || p.group == "" {
		return "", false
	}
	return p.group, p.capacity == expander.Spot
}
