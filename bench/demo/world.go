package demo

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/wire"
)

// step is how far the world moves at a time.
const step = 5 * time.Second

// world is the virtual cluster with the service, its traffic and its autoscaler.
type world struct {
	start   time.Time
	load    *sim.Load
	queue   *sim.Queue
	cluster *sim.Cluster
	hpa     *sim.HPA
	// pods holds the objects of the pods that exist, for the autoscaler's requests.
	pods     map[string]*corev1.Pod
	nodes    map[string]*corev1.Node
	replicas int
	numbers  int
	jobs     int // how many of the day's jobs have begun
	events   []sim.Event
	// readyBefore is the number of ready replicas a step ago, by pod.
	readyBefore map[string]bool
	created     map[string]time.Time
	startTimes  []time.Duration
	becameReady time.Time
	recorded    []reading
	// costs are the deletion costs that pods carry.
	costs deletionCosts
	// seen is what the engine may read while the world stands still in the middle of a step.
	seen atomic.Pointer[snapshot]
}

// snapshot is an immutable picture of the world.
type snapshot struct {
	now  time.Time
	view expander.View
	pods scaler.Pods
	// groups are the node groups with their GPUs.
	groups []sim.GroupState
	// target is where the replicas run, and example one of their pods.
	target  link.Target
	example *expander.Pod
}

// newWorld begins a day at a midnight, with the smallest number of replicas already serving.
func newWorld(start time.Time, seed uint64) (*world, error) {
	series := traffic(start, seed)
	load, err := sim.NewDayLoad(series, start, seed)
	if err != nil {
		return nil, fmt.Errorf("draw the day's traffic: %w", err)
	}
	w := &world{
		start: start, load: load, queue: sim.NewQueue(load), hpa: sim.NewExactHPA(smallest, largest),
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, readyBefore: map[string]bool{}, created: map[string]time.Time{},
	}
	for _, m := range machines {
		w.nodes[m.id] = m.template()
	}
	// The cluster begins a little earlier, so that the first replicas are up at midnight.
	w.cluster = sim.NewCluster(groups(start), sim.Options{
		Start: start.Add(-15 * time.Minute), Seed: seed, Packing: sim.MostAllocated, Notice: sim.ReclaimNotice,
		Watch: func(e sim.Event) { w.events = append(w.events, e) },
	})
	w.scaleTo(smallest, w.cluster.Now())
	first := func(o offer) []string { return o.ids()[:1] }
	for w.cluster.Now().Before(start) {
		w.cluster.Advance(w.cluster.Now().Add(sim.ScanInterval))
		w.cluster.Schedule()
		w.autoscale(first)
	}
	w.observe()
	w.events = nil
	w.remember()
	w.publish()
	return w, nil
}

// advance moves the world to a moment: the cluster, then the traffic on the replicas that are ready.
func (w *world) advance(to time.Time) {
	w.queue.Advance(to, len(w.readyBefore)*sim.Slots)
	w.cluster.Advance(to)
	for w.jobs < len(jobs) && !w.start.Add(jobs[w.jobs].at).After(to) {
		for range jobs[w.jobs].count {
			w.create(jobs[w.jobs].kind, to)
		}
		w.jobs++
	}
	w.replace(to)
	w.cluster.Schedule()
	w.observe()
	w.publish()
}

// create adds a pod of a workload.
func (w *world) create(kind workload, at time.Time) {
	w.numbers++
	p := kind.pod(w.numbers, at)
	w.pods[string(p.UID)] = p
	w.created[string(p.UID)] = at
	w.cluster.AddPod(sim.PodSpec{Pod: wire.Pod(p), Created: at, Run: kind.run, Model: kind.model})
}

// replace lets the ReplicaSet make up for replicas that were lost with their nodes.
func (w *world) replace(at time.Time) {
	for missing := w.replicas - len(w.replicaPods()); missing > 0; missing-- {
		w.create(replica, at)
	}
}

func (w *world) replicaPods() []sim.PodState {
	return w.cluster.Pods(map[string]string{"app": service})
}

// scaleTo sets the number of replicas. Pods without a node go first, then those that are not ready, then those with the
// lowest deletion cost, then the youngest, as a ReplicaSet deletes them.
func (w *world) scaleTo(n int, at time.Time) {
	w.replicas = n
	pods := w.replicaPods()
	rank := func(p sim.PodState) int {
		switch {
		case p.Node == "":
			return 0
		case !p.Ready:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(pods, func(a, b sim.PodState) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(w.costs.of(a.UID), w.costs.of(b.UID)), cmp.Compare(a.Age, b.Age))
	})
	for i := range len(pods) - n {
		if pods[i].Ready {
			w.queue.Drain(len(w.readyBefore))
			delete(w.readyBefore, pods[i].UID)
		}
		w.cluster.DeletePod(pods[i].UID)
		delete(w.pods, pods[i].UID)
	}
	w.replace(at)
}

// observe notes which replicas became ready or were lost since the last look.
func (w *world) observe() {
	now := map[string]bool{}
	for _, p := range w.replicaPods() {
		if !p.Ready {
			continue
		}
		now[p.UID] = true
		if !w.readyBefore[p.UID] {
			w.startTimes = append(w.startTimes, w.cluster.Now().Sub(w.created[p.UID]))
			w.becameReady = w.cluster.Now()
		}
	}
	for uid := range w.readyBefore {
		if !now[uid] {
			w.queue.Kill(len(w.readyBefore))
			delete(w.readyBefore, uid)
		}
	}
	w.readyBefore = now
}

// publish renews the picture for the engine.
func (w *world) publish() {
	pods := scaler.Pods{Known: true, StartTimes: slices.Clone(w.startTimes), BecameReady: w.becameReady}
	target, now := link.Target{Namespace: namespace, Owner: "ReplicaSet"}, w.cluster.Now()
	var example *expander.Pod
	for _, r := range w.replicaPods() {
		if r.Ready {
			pods.Ready++
		} else {
			pods.Starting = append(pods.Starting, r.Age)
		}
		target.Replicas = append(target.Replicas, link.Replica{
			ID: r.UID, Name: w.pods[r.UID].Name, Node: r.Node, Pool: r.Group, Ready: r.Ready, Created: now.Add(-r.Age),
			Cost: w.costs.carried(r.UID),
		})
		if example == nil {
			pod := wire.Pod(w.pods[r.UID])
			example = &pod
		}
	}
	w.seen.Store(&snapshot{
		now: w.queue.Now(), view: w.cluster.View(), pods: pods, groups: w.cluster.Groups(), target: target, example: example,
	})
}

// takeEvents returns what happened since the last call.
func (w *world) takeEvents() []sim.Event {
	e := w.events
	w.events = nil
	return e
}
