package sim

import (
	"slices"
	"time"
)

// drain empties one node that has been little used for as long as an idle one is kept, if its pods fit on others now.
// A moved pod repeats what it lost since its last checkpoint.
func (c *Cluster) drain() {
	var candidate *node
	for _, g := range c.groups {
		for _, n := range g.nodes {
			if !n.ready || n.doomed || len(n.pods) == 0 || n.used() >= DrainBelow || !c.movable(n) {
				n.lowSince = time.Time{}
				continue
			}
			if n.lowSince.IsZero() {
				n.lowSince = c.now
			}
			if candidate == nil && c.now.Sub(n.lowSince) >= ScaleDownIdle {
				candidate = n
			}
		}
	}
	if candidate == nil {
		return
	}
	candidate.doomed = true
	for _, p := range slices.Clone(candidate.pods) {
		c.kill(p)
	}
	c.drop(candidate)
	c.emit(Event{Kind: NodeRemoved, Group: candidate.group.ID, Node: candidate.name})
	c.Schedule()
}

// used is the share of a node that pods hold, as the Cluster Autoscaler counts it: GPUs alone where there are any, else
// the larger of CPU and memory.
func (n *node) used() float64 {
	all := n.group.alloc
	if all.gpu > 0 {
		return 1 - float64(n.free.gpu)/float64(all.gpu)
	}
	return max(1-float64(n.free.cpu)/float64(all.cpu), 1-float64(n.free.mem)/float64(all.mem))
}

// movable tells whether the other ready nodes have room for all pods of a node.
func (c *Cluster) movable(from *node) bool {
	room := map[*node]amount{}
	for _, p := range from.pods {
		if !c.moved(p, from, room) {
			return false
		}
	}
	return true
}

// moved takes room for a pod on the first other node that has it.
func (c *Cluster) moved(p *pod, from *node, room map[*node]amount) bool {
	for _, g := range c.groups {
		if !p.need.within(g.alloc) || !accepts(&g.Group, &p.Pod) {
			continue
		}
		for _, n := range g.nodes {
			if n == from || !n.ready || n.doomed || len(n.pods) == 0 {
				continue
			}
			free, seen := room[n]
			if !seen {
				free = n.free
			}
			if p.need.within(free) {
				room[n] = free.minus(p.need)
				return true
			}
		}
	}
	return false
}
