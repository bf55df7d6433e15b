package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/warmpool/warmpool/link"
)

// schedule puts waiting pods on free nodes, the oldest first, on the cheapest and longest idle node.
func (w *world) schedule() {
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.pod == nil && n.upAt >= 0 && n.upAt <= w.now }) {
		return
	}
	for _, p := range w.pods {
		if p.node != nil {
			continue
		}
		var best *node
		for _, n := range w.nodes {
			if n.pod != nil || n.upAt < 0 || n.upAt > w.now || n.dieAt >= 0 || !p.may(n.group) {
				continue
			}
			if best == nil || n.group.price < best.group.price {
				best = n
			}
		}
		if best != nil {
			best.pod, p.node, p.ready = p, best, w.now+ticksOf(modelLoad)
		}
	}
}

func (p *pod) may(g *group) bool {
	return p.only == "" || (p.only == link.Spot) == g.spot
}

func (w *world) serving() int {
	n := 0
	for _, p := range w.pods {
		if p.node != nil && p.ready <= w.now {
			n++
		}
	}
	return n
}

// remove deletes n pods as a ReplicaSet does.
func (w *world) remove(n int, among func(*pod) bool) {
	if n <= 0 {
		return
	}
	costs := w.costs()
	order := slices.Clone(w.pods)
	order = slices.DeleteFunc(order, func(p *pod) bool { return !among(p) })
	number := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b *pod) int {
		return cmp.Or(
			cmp.Compare(number(a.node != nil), number(b.node != nil)),
			cmp.Compare(number(a.node != nil && a.ready <= w.now), number(b.node != nil && b.ready <= w.now)),
			cmp.Compare(costs[a.id], costs[b.id]), cmp.Compare(b.ready, a.ready), cmp.Compare(b.created, a.created),
		)
	})
	gone := order[:min(n, len(order))]
	for _, p := range gone {
		if p.node != nil {
			p.node.pod, p.node.idle = nil, w.now
		}
	}
	w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return slices.Contains(gone, p) })
}

// replicas are the pods as the rules see them.
func (w *world) replicas() []link.Replica {
	out := make([]link.Replica, 0, len(w.pods))
	for _, p := range w.pods {
		r := link.Replica{ID: p.id, Name: p.id, Created: clock(p.created)}
		if p.node != nil {
			r.Node, r.Pool, r.Capacity, r.Ready = "node", p.node.group.id, link.OnDemand, p.ready <= w.now
			if p.node.group.spot {
				r.Capacity = link.Spot
			}
		}
		if p.doomed >= 0 {
			r.Doomed = clock(p.doomed)
		}
		out = append(out, r)
	}
	return out
}

// costs are the deletion costs of the pods, written without delay.
func (w *world) costs() map[string]int32 {
	if !w.p.deletionCost {
		return nil
	}
	plan, _ := link.PlanCosts(link.Target{Owner: "ReplicaSet", Replicas: w.replicas()}, 0, link.Rate{Burst: len(w.pods)}, link.Bucket{}, clock(w.now))
	costs := map[string]int32{}
	for _, c := range plan.Changes {
		costs[c.ID] = c.Cost
	}
	return costs
}

func (w *world) create(n int, only link.Capacity) {
	for range n {
		w.nextID++
		w.pods = append(w.pods, &pod{id: fmt.Sprintf("pod-%06d", w.nextID), created: w.now, ready: -1, order: -1, doomed: -1, only: only})
		w.record.started++
	}
}
