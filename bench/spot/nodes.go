package main

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/link"
)

// reclaim gives notice when the recording has fewer nodes than run, and takes what was announced.
func (w *world) reclaim() {
	for _, g := range w.groups {
		if g.room == nil || !w.threatened(g) {
			continue
		}
		var alive []*node
		for _, n := range w.nodes {
			if n.group == g && n.failAt < 0 && n.dieAt < 0 {
				alive = append(alive, n)
			}
		}
		for _, n := range alive[:min(len(alive), w.toKill(g, len(alive)))] {
			n.dieAt = w.now + ticksOf(w.c.notice)
			g.lost = append(g.lost, w.now)
			g.reclaims++
			if n.pod != nil {
				n.pod.doomed = w.now
			}
		}
	}
	w.bury()
	for _, g := range w.groups {
		g.registered = 0
	}
	for _, n := range w.nodes {
		if n.upAt >= 0 && n.upAt <= w.now {
			n.group.registered++
		}
	}
	for _, g := range w.groups {
		g.lost = slices.DeleteFunc(g.lost, func(at int) bool { return w.since(at) > link.LossWindow })
		fade := 1 - tick.Hours()/24
		g.exposed, g.reclaims = g.exposed*fade+float64(g.registered)*tick.Hours(), g.reclaims*fade
	}
}

// threatened tells whether the recording may take nodes now.
func (w *world) threatened(g *group) bool {
	return w.c.kill == killToCount || g.roomAt(w.now) == 0
}

// bury takes the nodes whose time has come, with their pods.
func (w *world) bury() {
	due := func(n *node) bool { return n.dieAt >= 0 && n.dieAt <= w.now }
	if !slices.ContainsFunc(w.nodes, due) {
		return
	}
	w.nodes = slices.DeleteFunc(w.nodes, func(n *node) bool {
		if !due(n) {
			return false
		}
		if n.pod != nil {
			w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return p == n.pod })
			w.record.lost++
		}
		return true
	})
}

func (w *world) toKill(g *group, alive int) int {
	if w.now == 0 || alive == 0 {
		return 0
	}
	room, before := g.roomAt(w.now), g.roomAt(w.now-1)
	if w.c.kill == killToCount {
		return max(0, alive-room)
	}
	switch {
	case room > 0:
		return 0
	case w.c.kill == killAll:
		return alive
	case before > 0:
		return (3*alive + 9) / 10
	case w.now%ticksOf(10*time.Minute) == 0:
		return (alive + 9) / 10
	}
	return 0
}

// arrive moves ordered nodes, and gives free nodes to the pods that wait.
func (w *world) arrive() {
	failed := func(n *node) bool { return n.failAt >= 0 && n.failAt <= w.now }
	if slices.ContainsFunc(w.nodes, failed) {
		w.giveUp(failed)
	}
	for _, n := range w.nodes {
		if n.upAt == w.now && n.failAt < 0 {
			o := &w.orders[n.order]
			o.done = true
			n.idle = w.now
			w.boots = w.boots.Learn(n.group.id, w.since(o.at))
			n.group.backoff = 0
		}
	}
	w.schedule()
}

// giveUp removes the orders that failed.
func (w *world) giveUp(failed func(*node) bool) {
	w.nodes = slices.DeleteFunc(w.nodes, func(n *node) bool {
		if !failed(n) {
			return false
		}
		if o := &w.orders[n.order]; !o.done {
			o.done = true
			w.fail(n.group)
		}
		return true
	})
}

// fail starts the backoff of the Cluster Autoscaler.
func (w *world) fail(g *group) {
	if w.since(g.lastFailure) > sim.BackoffReset {
		g.backoff = 0
	}
	g.backoff = min(max(sim.BackoffFirst, 2*g.backoff), sim.BackoffMax)
	g.backoffUntil, g.lastFailure = w.now+ticksOf(g.backoff), w.now
	g.failures = append(g.failures, w.now)
	if len(g.failures) > 16 {
		g.failures = g.failures[1:]
	}
}

// scaleDown removes nodes that were empty for ten minutes.
func (w *world) scaleDown() {
	unneeded := func(n *node) bool {
		return n.pod == nil && n.upAt >= 0 && n.upAt <= w.now && n.dieAt < 0 && w.since(n.idle) >= sim.ScaleDownIdle
	}
	if slices.ContainsFunc(w.nodes, unneeded) {
		w.nodes = slices.DeleteFunc(w.nodes, unneeded)
	}
}
