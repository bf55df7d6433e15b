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
	var p Placement
	pods = slices.DeleteFunc(slices.Clone(pods), func(s PodSpec) bool {
		need := amountOf(s.Requests)
		fits := slices.ContainsFunc(c.groups, func(g *group) bool { return need.within(g.alloc) && accepts(&g.Group, &s.Pod) })
		if !fits {
			p.Unplaceable++
		}
		return !fits
	})
	slices.SortStableFunc(pods, func(a, b PodSpec) int { return a.Created.Compare(b.Created) })
	for len(pods) > 0 || len(c.live) > 0 {
		next := c.nextMoment(pods)
		c.Advance(next)
		for len(pods) > 0 && !pods[0].Created.After(next) {
			c.AddPod(pods[0])
			pods = pods[1:]
		}
		c.Schedule()
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
		since := c.now.Sub(c.opts.Start)
		earlier(c.opts.Start.Add(since - since%ScanInterval + ScanInterval))
	}
	return next
}

// LowerBound is the least that the pods' resource-hours can cost on fractions of nodes: a linear program with three
// resources, solved on the vertices of its dual. No expander and no scheduler can be cheaper.
func LowerBound(pods []PodSpec, groups []GroupSpec) float64 {
	var total [3]float64
	for _, p := range pods {
		n := amountOf(p.Requests)
		for i, v := range [3]int64{n.cpu, n.mem, n.gpu} {
			total[i] += float64(v) * p.Run.Hours()
		}
	}
	// Rows a.x <= b: a group's resources at the prices x cost no more than the group; prices are not negative.
	var rows [][4]float64
	for _, g := range groups {
		a := amountOf(g.Allocatable)
		rows = append(rows, [4]float64{float64(a.cpu), float64(a.mem), float64(a.gpu), g.HourlyCost})
	}
	for i := range 3 {
		var row [4]float64
		row[i] = -1
		rows = append(rows, row)
	}
	best := 0.0
	for i := range rows {
		for j := range i {
			for k := range j {
				if x, ok := solve(rows[i], rows[j], rows[k]); ok && feasible(rows, x) {
					best = max(best, total[0]*x[0]+total[1]*x[1]+total[2]*x[2])
				}
			}
		}
	}
	return best
}

// solve is Cramer's rule for three equations.
func solve(a, b, c [4]float64) (x [3]float64, ok bool) {
	det := func(i, j, k int) float64 {
		return a[i]*(b[j]*c[k]-b[k]*c[j]) - a[j]*(b[i]*c[k]-b[k]*c[i]) + a[k]*(b[i]*c[j]-b[j]*c[i])
	}
	d := det(0, 1, 2)
	if d == 0 {
		return x, false
	}
	return [3]float64{det(3, 1, 2) / d, det(0, 3, 2) / d, det(0, 1, 3) / d}, true
}

func feasible(rows [][4]float64, x [3]float64) bool {
	for _, r := range rows {
		left := r[0]*x[0] + r[1]*x[1] + r[2]*x[2]
		if left > r[3]+1e-9*max(1, r[3]) {
			return false
		}
	}
	return x[0] > -1e-15 && x[1] > -1e-15 && x[2] > -1e-15
}
