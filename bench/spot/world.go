package main

import (
	"math/rand/v2"
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
	// room is how many nodes can run at each tick, times as many of such groups; nil is no limit.
	room  []int
	times int
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

func (g *group) roomAt(tick int) int { return g.times * g.room[tick%len(g.room)] }

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

// world is one closed loop.
type world struct {
	p      policy
	c      conditions
	demand []float64 // replicas needed by tick
	// foreseen is what the predictor has ordered by tick.
	foreseen []float64
	rng      *rand.Rand
	groups   []*group
	nodes    []*node
	pods     []*pod
	orders   []order
	now      int
	nextID   int
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
func run(p policy, c conditions, s service, rooms map[string][]int, headroom float64) record {
	w := &world{p: p, c: c, demand: s.demand, foreseen: s.foreseen, rng: rand.New(rand.NewPCG(s.seed, 7))}
	for _, name := range c.spots {
		if p.spot {
			w.groups = append(w.groups, &group{id: "spot-" + name, spot: true, price: spotPrice, room: rooms[name], times: max(1, c.times)})
		}
	}
	if p.onDemand {
		w.groups = append(w.groups, &group{id: "on-demand", price: 1})
	}
	w.choose = newChooser(p, c, w.groups)
	for w.now = 0; w.now < len(s.demand); w.now++ {
		w.reclaim()
		w.arrive()
		w.scale(headroom)
		w.scaleUp()
		w.scaleDown()
		w.account()
	}
	return w.record
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
