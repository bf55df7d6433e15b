package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/link"
)

const (
	// tick is the resolution of the world: the scan interval of the Cluster Autoscaler.
	tick = sim.ScanInterval
	// modelLoad is how long a replica loads on a node that is ready.
	modelLoad = 3 * time.Minute
	// holdDown is how long the largest target counts.
	holdDown = 10 * time.Minute
	// metricAge is how old the demand is that the scaler sees.
	metricAge = 30 * time.Second
	spotPrice = sim.SpotPriceShare
)

// group is one node group of the world.
type group struct {
	id    string
	spot  bool
	price float64
	// room is how many nodes can run at each tick; nil is no limit.
	room []int
	// backoff is the Cluster Autoscaler's own.
	backoffUntil, lastFailure int
	backoff                   time.Duration
	failures                  []int
	// lost are the times of the last losses, at the notice where there is one.
	lost []int
	// exposed and reclaims are node hours and losses of about the last day, older ones fading.
	exposed, reclaims float64
	registered        int
}

// pod is one replica. Times are ticks; -1 is never.
type pod struct {
	id      string
	created int
	node    *node
	ready   int
	order   int
	doomed  int
	// only is the capacity that the pod is bound to; empty is any.
	only link.Capacity
}

// node is one machine, ordered or running.
type node struct {
	group *group
	// order is the scale-up that it belongs to. failAt is when it turns out not to come, upAt when it joins.
	order, upAt, failAt int
	dieAt               int
	idle                int
	pod                 *pod
}

// order is one scale-up.
type order struct {
	group      *group
	at         int
	registered int
	done       bool
}

// conditions of one replay.
type conditions struct {
	name string
	// spots name the recorded availability of each spot group.
	spots []string
	kill  killing
	// notice is how long before its end a node is announced, detect how long a failed scale-up stays unnoticed.
	notice, detect time.Duration
}

// killing is what happens to running nodes when the recording says that none can be had.
type killing string

const (
	killAll killing = "all"
	// killMild takes 30 % at once and 10 % of the rest every ten minutes.
	killMild killing = "mild"
	// killToCount takes what exceeds the recorded number of running nodes.
	killToCount killing = "count"
)

// world is one closed loop.
type world struct {
	p      policy
	c      conditions
	demand []float64 // replicas needed by tick
	rng    *rand.Rand
	groups []*group
	nodes  []*node
	pods   []*pod
	orders []order
	now    int
	nextID int
	// targets of the last holdDown, descending.
	targets []sampledTarget
	boots   link.Boots
	suspect link.SuspectState
	late    []link.Late
	missing int
	swap    link.SwapState
	choose  chooser
	record  record
}

type sampledTarget struct{ at, n int }

// record is what a run adds up.
type record struct {
	cost, spotCost        float64
	short, ticks          int
	unserved, need        float64
	lost, started, orders int
}

func (r record) shortShare() float64    { return float64(r.short) / float64(r.ticks) }
func (r record) unservedShare() float64 { return r.unserved / r.need }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func clock(t int) time.Time                { return epoch.Add(time.Duration(t) * tick) }
func ticksOf(d time.Duration) int          { return int(d / tick) }
func (w *world) since(t int) time.Duration { return time.Duration(w.now-t) * tick }

// run plays the demand with a headroom on top of the need.
func run(p policy, c conditions, demand []float64, rooms map[string][]int, seed uint64, headroom float64) record {
	w := &world{p: p, c: c, demand: demand, rng: rand.New(rand.NewPCG(seed, 7))}
	for _, name := range c.spots {
		if p.spot {
			w.groups = append(w.groups, &group{id: "spot-" + name, spot: true, price: spotPrice, room: rooms[name]})
		}
	}
	if p.onDemand {
		w.groups = append(w.groups, &group{id: "on-demand", price: 1})
	}
	w.choose = newChooser(p, c, w.groups)
	for w.now = 0; w.now < len(demand); w.now++ {
		w.reclaim()
		w.arrive()
		w.scale(headroom)
		w.scaleUp()
		w.scaleDown()
		w.account()
	}
	return w.record
}

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
	return w.c.kill == killToCount || g.room[w.now%len(g.room)] == 0
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
	room, before := g.room[w.now%len(g.room)], g.room[(w.now-1)%len(g.room)]
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

// scaleDown removes nodes that were empty for ten minutes.
func (w *world) scaleDown() {
	unneeded := func(n *node) bool {
		return n.pod == nil && n.upAt >= 0 && n.upAt <= w.now && n.dieAt < 0 && w.since(n.idle) >= sim.ScaleDownIdle
	}
	if slices.ContainsFunc(w.nodes, unneeded) {
		w.nodes = slices.DeleteFunc(w.nodes, unneeded)
	}
}

func (w *world) account() {
	if w.now < warmUp {
		return
	}
	hours := tick.Hours()
	for _, n := range w.nodes {
		if n.failAt >= 0 {
			continue
		}
		w.record.cost += n.group.price * hours
		if n.group.spot {
			w.record.spotCost += n.group.price * hours
		}
	}
	need := w.demand[w.now]
	w.record.ticks++
	w.record.need += need
	if lack := need - float64(w.serving()); lack > 1e-9 {
		w.record.short++
		w.record.unserved += lack
	}
}

// warmUp is not scored: the loop begins with nothing.
const warmUp = int(12 * time.Hour / tick)
