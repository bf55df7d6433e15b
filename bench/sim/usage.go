package sim

import (
	"slices"
	"time"
)

// Usage is what a cluster used and what its pods waited, summed up to the present.
type Usage struct {
	// Cost is in the unit of the groups' prices.
	Cost float64
	// SpotCost is the part of it that went to spot groups.
	SpotCost float64
	// GPUHours counts cards on nodes that exist, from order to removal; BusyGPUHours those that pods hold.
	GPUHours, BusyGPUHours float64
	// Nodes counts nodes that were started, StockOuts orders that found nothing.
	Nodes, StockOuts int
	// Waits are the times from creation to a node of the pods that got one, GPU pods only, in order of binding.
	Waits []time.Duration
}

// settle moves time forward and charges for it.
func (c *Cluster) settle(to time.Time) {
	hours := to.Sub(c.now).Hours()
	if hours <= 0 {
		return
	}
	c.now = to
	for _, g := range c.groups {
		nodes, busy := 0, int64(0)
		for _, n := range g.nodes {
			if !n.missing {
				nodes++
				busy += g.alloc.gpu - n.free.gpu
			}
		}
		cost := float64(nodes) * g.HourlyCost * hours
		c.usage.Cost += cost
		if g.Spot {
			c.usage.SpotCost += cost
		}
		c.usage.GPUHours += float64(int64(nodes)*g.alloc.gpu) * hours
		c.usage.BusyGPUHours += float64(busy) * hours
	}
}

func (u *Usage) waited(p *pod, now time.Time) {
	if p.need.gpu > 0 {
		u.Waits = append(u.Waits, now.Sub(p.Created))
	}
}

// Usage is what was used so far.
func (c *Cluster) Usage() Usage {
	u := c.usage
	u.Waits = slices.Clone(u.Waits)
	for _, g := range c.groups {
		u.StockOuts += g.stockOut
	}
	return u
}

// Pending is the number of pods without a node.
func (c *Cluster) Pending() int { return len(c.pending) }

// PodState is one pod as its owner sees it.
type PodState struct {
	UID   string
	Age   time.Duration
	Node  string
	Group string
	Ready bool
}

// Pods lists the pods whose labels match, in order of creation.
func (c *Cluster) Pods(labels map[string]string) []PodState {
	var found []*pod
	for _, p := range c.live {
		if matchesAll(p.Labels, labels) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *pod) int { return a.seq - b.seq })
	out := make([]PodState, 0, len(found))
	for _, p := range found {
		s := PodState{UID: p.UID, Age: c.now.Sub(p.created), Ready: p.ready}
		if p.node != nil {
			s.Node, s.Group = p.node.name, p.node.group.ID
		}
		out = append(out, s)
	}
	return out
}

func matchesAll(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// GroupState is one node group as a dashboard shows it.
type GroupState struct {
	ID                  string
	Ready, Coming, Busy int
	BackedOff           bool
	// GPUs are those of the ready nodes, HeldGPUs the ones that pods hold.
	GPUs, HeldGPUs int
}

// Groups lists the node groups in their order of configuration. Busy counts ready nodes that run a pod.
func (c *Cluster) Groups() []GroupState {
	var out []GroupState
	for _, g := range c.groups {
		s := GroupState{ID: g.ID, BackedOff: c.now.Before(g.backoff.until)}
		for _, n := range g.nodes {
			switch {
			case !n.ready:
				s.Coming++
			default:
				s.Ready++
				s.GPUs += int(g.alloc.gpu)
				s.HeldGPUs += int(g.alloc.gpu - n.free.gpu)
				if len(n.pods) > 0 {
					s.Busy++
				}
			}
		}
		out = append(out, s)
	}
	return out
}
