package sim

import (
	"slices"
	"time"
)

// Placement is the record of one expander on one list of pods.
type Placement struct {
	Usage
	// Unplaceable counts pods that no group can hold even on an empty node; they are left out.
	Unplaceable int
	// CPUOnGPU counts scale-ups of a GPU group for pods without GPU demand although another group was offered.
	CPUOnGPU int
	// ScaleUps counts loops in which a group grew.
	ScaleUps int
}

// Place plays pods in order of creation against an expander until the last one is done and the last node is gone.
func Place(pods []PodSpec, groups []GroupSpec, o Options, choose Choose) Placement {
	c := NewCluster(groups, o)
	all := len(pods)
	pods = Placeable(pods, groups)
	p := Placement{Unplaceable: all - len(pods)}
	slices.SortStableFunc(pods, func(a, b PodSpec) int { return a.Created.Compare(b.Created) })
	for len(pods) > 0 || len(c.live) > 0 {
		next := c.nextMoment(pods)
		c.Advance(next)
		for len(pods) > 0 && !pods[0].Created.After(next) {
			c.AddPod(pods[0])
			pods = pods[1:]
		}
		c.Schedule()
		if o.Drain && next.Sub(o.Start)%DrainInterval == 0 {
			c.drain()
		}
		if len(c.pending) > 0 && next.Sub(o.Start)%ScanInterval == 0 {
			if done := c.Autoscale(choose); done.Group != "" {
				p.ScaleUps++
				if done.CPUOnGPU {
					p.CPUOnGPU++
				}
			}
		}
	}
	c.Advance(c.now.Add(2 * ScaleDownIdle)) // the last nodes are removed and billed
	p.Usage = c.Usage()
	return p
}

// nextMoment is when something happens next: an event, a new pod, or a loop of the autoscaler while pods wait.
func (c *Cluster) nextMoment(pods []PodSpec) time.Time {
	next := c.NextEvent()
	earlier := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(pods) > 0 {
		earlier(pods[0].Created)
	}
	if len(c.pending) > 0 {
		earlier(c.nextMultiple(ScanInterval))
	}
	if c.opts.Drain && len(c.live) > 0 {
		earlier(c.nextMultiple(DrainInterval))
	}
	return next
}

// nextMultiple is the next moment that is a whole number of steps from the start.
func (c *Cluster) nextMultiple(step time.Duration) time.Time {
	since := c.now.Sub(c.opts.Start)
	return c.opts.Start.Add(since - since%step + step)
}

// Placeable are the pods that fit an empty node of some group.
func Placeable(pods []PodSpec, groups []GroupSpec) []PodSpec {
	return slices.DeleteFunc(slices.Clone(pods), func(p PodSpec) bool {
		return !slices.ContainsFunc(groups, func(g GroupSpec) bool { return holds(&g, &p) })
	})
}

// holds tells whether an empty node of a group takes a pod.
func holds(g *GroupSpec, p *PodSpec) bool {
	return amountOf(p.Requests).within(amountOf(g.Allocatable)) && accepts(&g.Group, &p.Pod)
}
