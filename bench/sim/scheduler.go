package sim

import (
	"cmp"
	"slices"
	"time"
)

// Schedule binds pending pods to ready nodes, higher priority first, then in order of arrival.
func (c *Cluster) Schedule() {
	if len(c.pending) == 0 {
		return
	}
	slices.SortStableFunc(c.pending, func(a, b *pod) int {
		if d := cmp.Compare(b.Priority, a.Priority); d != 0 {
			return d
		}
		return cmp.Compare(a.seq, b.seq)
	})
	// A pod of a size that was just turned away need not be tried again; only plain pods are that alike.
	refused := map[amount]bool{}
	c.pending = slices.DeleteFunc(c.pending, func(p *pod) bool {
		plain := len(p.NodeSelector) == 0 && len(p.Required) == 0 && len(p.Tolerations) == 0
		if plain && refused[p.need] {
			return false
		}
		n := c.choose(p)
		if n == nil {
			refused[p.need] = refused[p.need] || plain
			return false
		}
		c.bind(p, n)
		return true
	})
}

// choose is the node with the best score, the first of equal ones; nil if none fits.
func (c *Cluster) choose(p *pod) *node {
	var best *node
	var bestScore float64
	for _, g := range c.groups {
		if !p.need.within(g.alloc) || !accepts(&g.Group, &p.Pod) {
			continue
		}
		for _, n := range g.nodes {
			if !n.ready || n.doomed || !p.need.within(n.free) {
				continue
			}
			if s := c.score(n, p); best == nil || s > bestScore {
				best, bestScore = n, s
			}
		}
	}
	return best
}

// score is the mean share of the node that is used (or left) after binding, over the resources that the node has.
func (c *Cluster) score(n *node, p *pod) float64 {
	left := n.free.minus(p.need)
	all := n.group.alloc
	sum, parts := 0.0, 0.0
	for _, r := range [3][2]int64{{left.cpu, all.cpu}, {left.mem, all.mem}, {left.gpu, all.gpu}} {
		if r[1] > 0 {
			sum += float64(r[0]) / float64(r[1])
			parts++
		}
	}
	if c.opts.Packing == MostAllocated {
		return 1 - sum/parts
	}
	return sum / parts
}

func (c *Cluster) bind(p *pod, n *node) {
	p.node, p.bound = n, c.now
	p.version++
	n.free = n.free.minus(p.need)
	n.pods = append(n.pods, p)
	if !p.waited() {
		c.usage.waited(p, c.now)
	}
	c.emit(Event{Kind: PodBound, Group: n.group.ID, Node: n.name, Pod: p.UID})
	version := p.version
	c.at(c.now.Add(c.startTime(p, n)), func() {
		if p.version == version && p.node == n {
			c.start(p)
		}
	})
}

// waited tells whether the wait of the pod is already on record: only the first one counts.
func (p *pod) waited() bool { return p.version > 1 }

// startTime is pull and load on a node; the first pod of a model pays for both.
func (c *Cluster) startTime(p *pod, n *node) time.Duration {
	if p.Model == "" {
		return 0
	}
	if n.models[p.Model] {
		return ModelLoadCached
	}
	n.models[p.Model] = true
	return ImagePull + ModelLoad
}

// start makes a pod ready.
func (c *Cluster) start(p *pod) {
	p.ready = true
	c.emit(Event{Kind: PodReady, Group: p.node.group.ID, Node: p.node.name, Pod: p.UID})
	if p.Run == 0 {
		return
	}
	version := p.version
	c.at(c.now.Add(p.left), func() {
		if p.version == version && p.node != nil {
			c.emit(Event{Kind: PodDone, Group: p.node.group.ID, Node: p.node.name, Pod: p.UID})
			c.DeletePod(p.UID)
		}
	})
}

// release takes a pod off its node.
func (c *Cluster) release(p *pod) {
	n := p.node
	if n == nil {
		return
	}
	p.node, p.ready = nil, false
	p.version++
	n.free = n.free.plus(p.need)
	n.pods = slices.DeleteFunc(n.pods, func(q *pod) bool { return q == p })
	c.idle(n)
}

// kill loses a pod with its node. A batch pod comes back and repeats what it lost since its last checkpoint; one without
// an end is gone, and its owner replaces it.
func (c *Cluster) kill(p *pod) {
	c.emit(Event{Kind: PodKilled, Group: p.node.group.ID, Node: p.node.name, Pod: p.UID})
	done := c.now.Sub(p.bound)
	c.release(p)
	if p.Run == 0 {
		delete(c.live, p.UID)
		return
	}
	p.left += min(done, LostWork) - done
	p.created = c.now
	c.pending = append(c.pending, p)
}
