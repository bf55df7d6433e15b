package main

import (
	"math"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/link"
)

// scale is a reactive scaler, with the order of the predictor where the policy has it, and the rules of the policy on top.
func (w *world) scale(headroom float64) {
	seen := w.demand[max(0, w.now-ticksOf(metricAge))]
	if w.p.forecast {
		seen = max(seen, w.foreseen[w.now])
	}
	raw := max(1, int(math.Ceil(seen*(1+headroom)-1e-9)))
	for n := len(w.targets); n > 0 && w.targets[n-1].n <= raw; n = len(w.targets) {
		w.targets = w.targets[:n-1]
	}
	w.targets = append(w.targets, sampledTarget{w.now, raw})
	for w.since(w.targets[0].at) > holdDown {
		w.targets = w.targets[1:]
	}
	n := w.targets[0].n
	if w.p.hedge > 0 {
		w.hedge(n)
		return
	}
	target := n + w.surge(n)
	w.remove(len(w.pods)-target, func(*pod) bool { return true })
	w.create(target-len(w.pods), "")
	w.schedule()
}

// surge is what the rules add to the target.
func (w *world) surge(n int) int {
	extra := 0
	if w.p.replace && slices.ContainsFunc(w.pods, func(p *pod) bool { return p.doomed >= 0 }) {
		extra += link.Watch(w.replicas()).Replicas
	}
	w.late, w.missing = nil, 0
	if w.p.suspect {
		w.missing, w.late, w.suspect = link.Suspect(w.waiting(), w.boots, w.suspect, clock(w.now))
		extra += min(w.missing, max(0, n-w.serving()))
	}
	if w.p.swap {
		var step link.SwapStep
		step, w.swap = link.Swap(w.swapView(n), w.swap, clock(w.now))
		extra += step.Extra
	}
	return extra
}

// swapView is what a swap depends on; deletion costs are written without delay.
func (w *world) swapView(n int) link.SwapView {
	v := link.SwapView{Target: link.Target{Owner: "ReplicaSet", Replicas: w.replicas()}, Wanted: n, Max: n + 1, OnDemandCost: 1}
	costs := w.costs()
	for i := range v.Target.Replicas {
		r := &v.Target.Replicas[i]
		if cost, ok := costs[r.ID]; ok {
			r.Cost = &cost
		}
	}
	for _, g := range w.groups {
		if !g.spot {
			continue
		}
		p := link.ReturnPool{Pool: g.id, HourlyCost: g.price, ReclaimsPerHour: -1, Lost: len(g.lost)}
		p.Deliverable = g.backoffUntil <= w.now && (len(g.failures) == 0 || w.since(g.lastFailure) > w.p.remembers(w.c))
		if g.exposed >= 1 {
			p.ReclaimsPerHour = g.reclaims / g.exposed
		}
		v.Pools = append(v.Pools, p)
	}
	return v
}

// waiting are the pods whose node was ordered and is neither here nor given up.
func (w *world) waiting() []link.Waiting {
	var out []link.Waiting
	for _, p := range w.pods {
		if p.node != nil || p.order < 0 || w.orders[p.order].done {
			continue
		}
		o := w.orders[p.order]
		out = append(out, link.Waiting{Replica: p.id, Attempt: uint64(p.order) + 1, Pool: o.group.id, Ordered: clock(o.at)})
	}
	return out
}

// hedge keeps more spot replicas than are needed, and on-demand ones for as many as do not serve (after SpotHedge, Mao
// et al. 2025: fall-back replicas go when spot ones are ready).
func (w *world) hedge(n int) {
	spotServing, spot, firm := 0, 0, 0
	for _, p := range w.pods {
		switch {
		case p.only != link.Spot:
			firm++
		default:
			spot++
			if p.node != nil && p.ready <= w.now {
				spotServing++
			}
		}
	}
	onSpot := func(p *pod) bool { return p.only == link.Spot }
	onFirm := func(p *pod) bool { return p.only != link.Spot }
	want := n + w.p.hedge
	w.remove(spot-want, onSpot)
	w.create(want-spot, link.Spot)
	back := max(0, min(n, n+w.p.hedge-1-spotServing))
	if spotServing >= n {
		back = 0
	}
	w.remove(firm-back, onFirm)
	w.create(back-firm, link.OnDemand)
	w.schedule()
}

// scaleUp is one loop of the Cluster Autoscaler: pods that neither a free nor a coming node will hold are offered to the
// groups that are not in backoff, and the policy chooses one of those.
func (w *world) scaleUp() {
	pending := w.uncovered()
	if len(pending) == 0 {
		return
	}
	var offered []*group
	for _, g := range w.groups {
		if g.backoffUntil <= w.now && slices.ContainsFunc(pending, func(p *pod) bool { return p.may(g) }) {
			offered = append(offered, g)
		}
	}
	if len(offered) == 0 {
		return
	}
	g := w.choose(w, pending, offered)
	if g == nil {
		return
	}
	pending = slices.DeleteFunc(pending, func(p *pod) bool { return !p.may(g) })
	w.buy(g, pending)
}

// uncovered are the pods that wait, less as many as there are nodes on the way, the oldest first.
func (w *world) uncovered() []*pod {
	if !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.node == nil }) {
		return nil
	}
	coming := map[bool]int{}
	for _, n := range w.nodes {
		if n.pod == nil && (n.upAt > w.now || n.failAt > w.now) && n.dieAt < 0 {
			coming[n.group.spot]++
		}
	}
	var out []*pod
	for _, p := range w.pods {
		if p.node != nil {
			continue
		}
		spot := p.only == link.Spot || (p.only == "" && coming[true] > 0)
		if coming[spot] > 0 {
			coming[spot]--
			continue
		}
		if w.since(p.created) >= sim.YoungGPUPod {
			out = append(out, p)
		}
	}
	return out
}

// buy orders one node for each pod. What the recording has no room for fails after the time of detection.
func (w *world) buy(g *group, pods []*pod) {
	id := len(w.orders)
	w.orders = append(w.orders, order{group: g, at: w.now, registered: g.registered})
	w.record.orders++
	room := len(pods)
	if g.room != nil {
		here := 0
		for _, n := range w.nodes {
			if n.group == g && n.failAt < 0 {
				here++
			}
		}
		room = max(0, g.roomAt(w.now)-here)
	}
	for i, p := range pods {
		p.order = id
		n := &node{group: g, order: id, upAt: -1, failAt: -1, dieAt: -1}
		boot := sim.BootMin + time.Duration(w.rng.Float64()*float64(sim.BootMax-sim.BootMin))
		if i < room {
			n.upAt = w.now + ticksOf(boot)
		} else {
			n.failAt = w.now + ticksOf(w.c.detect)
		}
		w.nodes = append(w.nodes, n)
	}
}
