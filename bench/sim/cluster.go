package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

// GroupSpec is a node group of the virtual cluster.
type GroupSpec struct {
	expander.Group
	// HourlyCost is the price of one node, Max the largest number of them.
	HourlyCost float64
	Max        int
	Spot       bool
	// Stock tells when a node can be had; nil is always. All nodes of a spot group are reclaimed when it ends.
	Stock *trace.Availability
	// BootMin and BootMax bound the boot time, uniform; 0 takes the protocol's.
	BootMin, BootMax time.Duration
	// StockFailure is how late a missing node is found; 0 takes the protocol's.
	StockFailure time.Duration
}

// PodSpec is a pod of the virtual cluster.
type PodSpec struct {
	expander.Pod
	Created time.Time
	// Run is how long it works once started; 0 is until it is deleted.
	Run time.Duration
	// Model names the weights it loads before it is ready; empty is ready at once.
	Model string
}

// Packing is how the virtual scheduler chooses among nodes that fit.
type Packing int

// The two scoring settings of the Kubernetes scheduler.
const (
	LeastAllocated Packing = iota
	MostAllocated
)

// Options are the settings of a cluster that are not node groups.
type Options struct {
	Start   time.Time
	Seed    uint64
	Packing Packing
	// Notice is the warning before a spot node is taken.
	Notice time.Duration
	// Drain lets the autoscaler move pods off nodes that are hardly used.
	Drain bool
	// Watch, when set, sees every event as it happens.
	Watch func(Event)
}

// Event is something that happened in the cluster.
type Event struct {
	At   time.Time
	Kind EventKind
	// Group, Node and Pod are filled where they apply; Count is the number of nodes asked for.
	Group, Node, Pod string
	Count            int
}

// EventKind names what happened.
type EventKind string

// The kinds of events.
const (
	NodesOrdered  EventKind = "nodes-ordered"
	NodeReady     EventKind = "node-ready"
	NodeFailed    EventKind = "node-failed"
	NodeRemoved   EventKind = "node-removed"
	NodeNotified  EventKind = "node-notified"
	NodeReclaimed EventKind = "node-reclaimed"
	PodBound      EventKind = "pod-bound"
	PodReady      EventKind = "pod-ready"
	PodDone       EventKind = "pod-done"
	PodKilled     EventKind = "pod-killed"
)

// Cluster is a virtual cluster: pods, nodes, a scheduler and the Cluster Autoscaler's loop.
type Cluster struct {
	opts   Options
	now    time.Time
	groups []*group
	// pending holds pods without a node in order of arrival, live every pod by UID.
	pending []*pod
	live    map[string]*pod
	events  timeline
	seq     int
	rng     *rand.Rand
	usage   Usage
}

type group struct {
	GroupSpec
	alloc amount
	nodes []*node
	// inFlight counts nodes that were asked for and are neither ready nor known to have failed.
	inFlight int
	backoff  backoff
	stockOut int
	// failures is what an events watcher would have seen, newest last.
	failures []expander.Failure
	nextNode int
}

// failuresKept is how long events of failed scale-ups are seen, as the API server keeps them.
const failuresKept = time.Hour

type backoff struct {
	until, last time.Time
	wait        time.Duration
}

type node struct {
	name      string
	group     *group
	ordered   time.Time
	ready     bool
	doomed    bool // reclaimed at the end of the notice
	missing   bool // never comes: the provider has no stock
	gone      bool
	free      amount
	pods      []*pod
	idleSince time.Time
	lowSince  time.Time // since when it could be drained; zero while it could not
	models    map[string]bool
}

type pod struct {
	PodSpec
	need    amount
	node    *node
	created time.Time
	bound   time.Time
	ready   bool
	left    time.Duration
	seq     int
	version int // of the run: an event of an earlier run is stale
}

// NewCluster is an empty cluster.
func NewCluster(specs []GroupSpec, o Options) *Cluster {
	c := &Cluster{opts: o, now: o.Start, live: map[string]*pod{}, rng: rand.New(rand.NewPCG(o.Seed, 0x636c7573))}
	for _, s := range specs {
		if s.BootMax == 0 {
			s.BootMin, s.BootMax = BootMin, BootMax
		}
		if s.StockFailure == 0 {
			s.StockFailure = StockFailure
		}
		g := &group{GroupSpec: s, alloc: amountOf(s.Allocatable)}
		c.groups = append(c.groups, g)
		c.watchStock(g, o.Start)
	}
	return c
}

// Now is the present moment.
func (c *Cluster) Now() time.Time { return c.now }

// AddPod creates a pod; its UID must be new.
func (c *Cluster) AddPod(s PodSpec) {
	c.seq++
	p := &pod{PodSpec: s, need: amountOf(s.Requests), created: s.Created, left: s.Run, seq: c.seq}
	c.live[s.UID] = p
	c.pending = append(c.pending, p)
}

// DeletePod removes a pod, bound or not. An unknown UID is ignored.
func (c *Cluster) DeletePod(uid string) {
	p, ok := c.live[uid]
	if !ok {
		return
	}
	delete(c.live, uid)
	c.release(p)
	c.pending = slices.DeleteFunc(c.pending, func(q *pod) bool { return q == p })
}

// Advance lets everything happen that is due until a moment. It does not schedule and does not run the autoscaler.
func (c *Cluster) Advance(to time.Time) {
	for len(c.events) > 0 && !c.events[0].at.After(to) {
		e := heap.Pop(&c.events).(due)
		c.settle(e.at)
		e.do()
	}
	c.settle(to)
}

// NextEvent is when something is due; the zero time if nothing is.
func (c *Cluster) NextEvent() time.Time {
	if len(c.events) == 0 {
		return time.Time{}
	}
	return c.events[0].at
}

func (c *Cluster) at(when time.Time, do func()) {
	c.seq++
	heap.Push(&c.events, due{when, c.seq, do})
}

func (c *Cluster) emit(e Event) {
	if c.opts.Watch != nil {
		e.At = c.now
		c.opts.Watch(e)
	}
}

// order asks the provider for nodes of a group.
func (c *Cluster) order(g *group, count int) {
	c.emit(Event{Kind: NodesOrdered, Group: g.ID, Count: count})
	for range count {
		g.nextNode++
		n := &node{
			name: fmt.Sprintf("%s-%d", g.ID, g.nextNode), group: g, ordered: c.now, free: g.alloc,
			models: map[string]bool{}, missing: g.Stock != nil && !g.Stock.At(c.now),
		}
		g.nodes = append(g.nodes, n)
		g.inFlight++
		if n.missing {
			g.stockOut++
			c.at(c.now.Add(g.StockFailure), func() { c.fail(n) })
			continue
		}
		c.usage.Nodes++
		boot := g.BootMin + time.Duration(c.rng.Float64()*float64(g.BootMax-g.BootMin))
		c.at(c.now.Add(boot), func() { c.boot(n) })
	}
}

// boot makes a node ready.
func (c *Cluster) boot(n *node) {
	if n.gone {
		return
	}
	n.ready = true
	n.group.inFlight--
	c.emit(Event{Kind: NodeReady, Group: n.group.ID, Node: n.name})
	c.idle(n)
}

// fail is when a missing node is found out: the group goes into backoff.
func (c *Cluster) fail(n *node) {
	g := n.group
	c.drop(n)
	g.inFlight--
	g.backoff.fail(c.now)
	g.failures = slices.DeleteFunc(g.failures, func(f expander.Failure) bool { return c.now.Sub(f.At) > failuresKept })
	g.failures = append(g.failures, expander.Failure{At: c.now, GroupID: g.ID, Class: expander.FailureStock, Reason: "ScaleUpFailed"})
	c.emit(Event{Kind: NodeFailed, Group: g.ID, Node: n.name})
}

func (b *backoff) fail(now time.Time) {
	switch {
	case now.Before(b.until): // one failure per backoff: nodes of one order fail together
		return
	case b.wait == 0 || now.Sub(b.last) > BackoffReset:
		b.wait = BackoffFirst
	default:
		b.wait = min(2*b.wait, BackoffMax)
	}
	b.last, b.until = now, now.Add(b.wait)
}

// idle starts the time after which an empty node is removed.
func (c *Cluster) idle(n *node) {
	if len(n.pods) > 0 || !n.ready {
		return
	}
	since := c.now
	n.idleSince = since
	c.at(since.Add(ScaleDownIdle), func() {
		if !n.gone && len(n.pods) == 0 && n.idleSince.Equal(since) {
			c.drop(n)
			c.emit(Event{Kind: NodeRemoved, Group: n.group.ID, Node: n.name})
		}
	})
}

// drop takes a node out of the cluster; its pods must be gone.
func (c *Cluster) drop(n *node) {
	n.gone, n.ready = true, false
	g := n.group
	g.nodes = slices.DeleteFunc(g.nodes, func(m *node) bool { return m == n })
}

// watchStock reclaims the nodes of a spot group when its stock ends.
func (c *Cluster) watchStock(g *group, from time.Time) {
	if g.Stock == nil || !g.Spot {
		return
	}
	end, ok := stockEnd(g.Stock, from)
	if !ok {
		return
	}
	c.at(end, func() {
		for _, n := range slices.Clone(g.nodes) {
			if !n.missing && !n.doomed {
				c.notify(n)
			}
		}
		c.watchStock(g, end)
	})
}

// stockEnd is the next moment after from at which stock goes from some to none, within two recordings.
func stockEnd(a *trace.Availability, from time.Time) (time.Time, bool) {
	at := from.Sub(a.Start).Truncate(a.Step)
	for range 2 * len(a.Available) {
		at += a.Step
		when := a.Start.Add(at)
		if when.After(from) && a.At(when.Add(-a.Step)) && !a.At(when) {
			return when, true
		}
	}
	return time.Time{}, false
}

// notify warns that a node will be taken, and takes it after the notice.
func (c *Cluster) notify(n *node) {
	n.doomed = true
	if c.opts.Notice > 0 {
		c.emit(Event{Kind: NodeNotified, Group: n.group.ID, Node: n.name})
	}
	c.at(c.now.Add(c.opts.Notice), func() { c.reclaim(n) })
}

func (c *Cluster) reclaim(n *node) {
	if n.gone {
		return
	}
	if !n.ready {
		n.group.inFlight--
	}
	for _, p := range slices.Clone(n.pods) {
		c.kill(p)
	}
	c.drop(n)
	c.emit(Event{Kind: NodeReclaimed, Group: n.group.ID, Node: n.name})
}

// due is something that will happen.
type due struct {
	at  time.Time
	seq int
	do  func()
}

// timeline orders what is due by time, and by order of entry at the same time.
type timeline []due

func (t timeline) Len() int { return len(t) }
func (t timeline) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].seq < t[j].seq
}
func (t timeline) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timeline) Push(x any)   { *t = append(*t, x.(due)) }
func (t *timeline) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}
