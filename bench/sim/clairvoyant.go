package sim

import (
	"slices"
	"time"
)

// rented is a node of the clairvoyant plan.
type rented struct {
	group      int
	free       amount
	ready, end time.Time
	leaving    []leaving // pods by their end
}

type leaving struct {
	at   time.Time
	need amount
}

// Clairvoyant is the cost of a plan by someone who knows when every pod ends, chooses the node as well as the group, and
// orders it the moment the pod comes: each pod in order of creation goes where it adds least to the bill. Nodes boot and
// are removed as everybody's are. It can be carried out, but is no bound: a plan that looks ahead to pods to come can be
// cheaper.
func Clairvoyant(pods []PodSpec, groups []GroupSpec) float64 {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b PodSpec) int { return a.Created.Compare(b.Created) })
	boot := (BootMin + BootMax) / 2
	var nodes []*rented
	var cost float64
	for i := range pods {
		p := &pods[i]
		nodes = slices.DeleteFunc(nodes, func(n *rented) bool { return !n.end.After(p.Created) })
		n, added := cheapestSeat(nodes, groups, p)
		for g := range groups {
			if price := groups[g].HourlyCost * (boot + p.Run + ScaleDownIdle).Hours(); holds(&groups[g], p) && (n == nil || price < added) {
				ready := p.Created.Add(boot)
				n, added = &rented{group: g, free: amountOf(groups[g].Allocatable), ready: ready, end: ready}, price
			}
		}
		if n == nil {
			continue // no group holds it
		}
		if n.end.Equal(n.ready) && len(n.leaving) == 0 {
			nodes = append(nodes, n)
		}
		cost += added
		n.seat(p)
	}
	return cost
}

// cheapestSeat is the existing node on which a pod adds least.
func cheapestSeat(nodes []*rented, groups []GroupSpec, p *PodSpec) (best *rented, added float64) {
	need := amountOf(p.Requests)
	for _, n := range nodes {
		n.leave(p.Created)
		if !need.within(n.free) || !accepts(&groups[n.group].Group, &p.Pod) {
			continue
		}
		price := groups[n.group].HourlyCost * max(0, n.start(p).Add(p.Run+ScaleDownIdle).Sub(n.end)).Hours()
		if best == nil || price < added {
			best, added = n, price
		}
	}
	return best, added
}

func (n *rented) start(p *PodSpec) time.Time {
	if n.ready.After(p.Created) {
		return n.ready
	}
	return p.Created
}

func (n *rented) seat(p *PodSpec) {
	need, done := amountOf(p.Requests), n.start(p).Add(p.Run)
	n.free = n.free.minus(need)
	n.leaving = append(n.leaving, leaving{done, need})
	if end := done.Add(ScaleDownIdle); end.After(n.end) {
		n.end = end
	}
}

// leave frees what pods that have ended held.
func (n *rented) leave(now time.Time) {
	n.leaving = slices.DeleteFunc(n.leaving, func(l leaving) bool {
		if l.at.After(now) {
			return false
		}
		n.free = n.free.plus(l.need)
		return true
	})
}
