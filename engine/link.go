package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
)

// A TargetReader is a [Cluster] that knows where the replicas of a scale target run.
type TargetReader interface {
	// ReplicasOf returns the replicas of the target of a scaled object, and one of its pods as a policy matches workloads by
	// it; nil without one. It is false when they are not known.
	ReplicasOf(namespace, scaledObject string, now time.Time) (target link.Target, example *expander.Pod, ok bool)
}

// A StartReader is a [Cluster] that tells warm starts from cold ones.
type StartReader interface {
	// StartsOf returns the recorded starts of the target of a scaled object, oldest first.
	StartsOf(namespace, scaledObject string) []link.Start
}

// A CostWriter is a [Cluster] that can write deletion costs. It must not wait, and is told again what it did not write.
type CostWriter interface {
	WriteCosts(namespace string, changes []link.CostChange)
}

// A FreeReader is a [Cluster] that knows what nobody holds on the nodes.
type FreeReader interface {
	// FreeAccelerators counts by group the accelerators of its nodes that no pod holds; false is not known.
	FreeAccelerators() (byGroup map[string]int, ok bool)
}

// costRate bounds the writes of deletion costs of the whole cluster.
var costRate = link.Rate{Burst: 20, Every: 200 * time.Millisecond}

// links is what the two halves know of each other.
type links struct {
	mu     sync.Mutex
	byID   map[string]*linked
	bucket link.Bucket
	boots  link.Boots
	// watched are the choices that were seen before their nodes came.
	watched map[uint64]bool
	// crossing is that of the last tick.
	crossing *crossing
}

// linked is what is remembered of one service. Its fields are guarded by links.mu.
type linked struct {
	memory
	// epoch is that of the last evaluation, see lockstep.
	epoch uint64

	// What the last evaluation found, for the ledger.
	at       time.Time
	target   link.Target
	workload string
	base     int
	waiting  []link.Waiting
	late     []link.Late
	missing  int
	pools    []link.PoolState
	supply   link.Supply
	plan     link.CostPlan
	swapping *link.SwapStep
}

// of returns the memory of a service. The caller holds mu.
func (l *links) of(id string) *linked {
	if l.byID == nil {
		l.byID = map[string]*linked{}
	}
	one := l.byID[id]
	if one == nil {
		one = &linked{}
		l.byID[id] = one
	}
	return one
}

// keep drops what belongs to services that are gone.
func (l *links) keep(known func(id string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.byID {
		if !known(id) {
			delete(l.byID, id)
		}
	}
}

// span gives an evaluation what the nodes under a service say, and the pods what that leaves of them. Without a view of
// where replicas run nothing changes.
func (e *Engine) span(s *service, inputs *scaler.Inputs, at time.Time) {
	reader, ok := e.cluster.(TargetReader)
	if !ok || s.trigger == nil || !inputs.Pods.Known {
		return
	}
	target, example, ok := reader.ReplicasOf(s.trigger.Namespace, s.trigger.ScaledObject, at)
	if !ok {
		return
	}
	rules := e.config.Load().Spot
	last := 0
	if line := s.entry.Load(); line != nil && line.decision.Unavailable == "" {
		last = line.decision.Replicas
	}
	l := &e.links
	l.mu.Lock()
	defer l.mu.Unlock()
	c := e.crossing(at)
	c.describe(&target)
	one := l.of(s.id)
	e.recollect(s.id, one, at)
	one.at, one.target, one.workload = at, target, ""
	if c.policy != nil && example != nil {
		one.workload = c.policy.WorkloadOf(example)
	}
	one.waiting = c.waiting(target.Replicas)
	one.missing, one.late, one.Suspects = 0, nil, keepSuspects(rules.SuspectNodes, one.Suspects)
	if rules.SuspectNodes {
		one.missing, one.late, one.Suspects = link.Suspect(one.waiting, l.boots, one.Suspects, at)
	}
	placedReplicas := len(target.Replicas) - countWaiting(target.Replicas)
	one.pools = c.pools(one.workload, target.Accelerators)
	one.supply = link.Assess(one.pools, placedReplicas, at)
	out := &scaler.Link{Missing: one.missing, Text: one.supply.Text(max(last, len(target.Replicas)))}
	out.Ceiling, one.Ceiling = link.Ceiling(one.supply, len(target.Replicas), last, one.Ceiling, at)
	if rules.ReplaceAtNotice {
		out.Replace = link.Watch(target.Replicas).Replicas
		leaveReady(&inputs.Pods, target.Replicas, at)
	}
	if starts, ok := e.cluster.(StartReader); ok {
		if cold := link.ColdStarts(starts.StartsOf(s.trigger.Namespace, s.trigger.ScaledObject), l.boots, poolOf(target.Replicas)); len(cold) > 0 {
			inputs.Pods.StartTimes = cold
		}
	}
	inputs.Link = out
	one.base = c.base(one.workload, len(target.Replicas))
	out.Swap = e.swap(s, one, c, at)
	e.planCosts(one, rules.OnDemandFirstScaleIn, at)
	if one.plan.NoEffect != "" && rules.OnDemandFirstScaleIn && hasFallBack(target.Replicas) {
		out.Text = joinText(out.Text, "fall-back nodes are not emptied first: "+one.plan.NoEffect)
	}
}

// swap moves a replica of a service back to spot where that is asked for; it returns how many more are wanted meanwhile.
// The caller holds links.mu.
func (e *Engine) swap(s *service, one *linked, c *crossing, at time.Time) int {
	one.swapping = nil
	line := s.entry.Load()
	if e.config.Load().Rebalance.Mode != config.Swap {
		one.Swap = link.SwapState{}
		return 0
	}
	if line == nil || line.decision.Unavailable != "" || !c.view.Known {
		return 0
	}
	d, a := &line.decision, account{crossing: c, workload: one.workload}
	view := link.SwapView{
		Target: one.target, Base: one.base, Wanted: d.Replicas - d.Replacing - d.Swapping, Max: d.Max,
		OnDemandCost: a.onDemandPrice(one.target.Replicas), Pools: a.spotPools(one.pools),
	}
	for id, other := range e.links.byID {
		view.Busy = view.Busy || (id != s.id && !other.Swap.Since.IsZero())
	}
	var step link.SwapStep
	step, one.Swap = link.Swap(view, one.Swap, at)
	one.swapping = &step
	return step.Extra
}

// planCosts plans the deletion costs of a service and has them written. The caller holds links.mu.
func (e *Engine) planCosts(one *linked, on bool, at time.Time) {
	one.plan = link.CostPlan{}
	writer, ok := e.cluster.(CostWriter)
	if !on || !ok {
		return
	}
	one.plan, e.links.bucket = link.PlanCosts(one.target, one.base, costRate, e.links.bucket, at)
	if len(one.plan.Changes) > 0 {
		writer.WriteCosts(one.target.Namespace, one.plan.Changes)
	}
}

func keepSuspects(on bool, s link.SuspectState) link.SuspectState {
	if !on {
		return link.SuspectState{}
	}
	return s
}

func countWaiting(replicas []link.Replica) int {
	n := 0
	for i := range replicas {
		if replicas[i].Node == "" {
			n++
		}
	}
	return n
}

func hasFallBack(replicas []link.Replica) bool {
	spot := slices.ContainsFunc(replicas, func(r link.Replica) bool { return r.Capacity == link.Spot })
	return spot && slices.ContainsFunc(replicas, func(r link.Replica) bool { return r.Capacity == link.OnDemand && !r.Paid })
}

// poolOf is where the newest replica that has a node runs.
func poolOf(replicas []link.Replica) string {
	pool, newest := "", time.Time{}
	for i := range replicas {
		if r := &replicas[i]; r.Pool != "" && !r.Created.Before(newest) {
			pool, newest = r.Pool, r.Created
		}
	}
	return pool
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// leaveReady takes replicas that were given notice out of the counts of ready and starting ones.
func leaveReady(pods *scaler.Pods, replicas []link.Replica, now time.Time) {
	starting := slices.Clone(pods.Starting)
	for i := range replicas {
		r := &replicas[i]
		if r.Doomed.IsZero() {
			continue
		}
		switch {
		case r.Ready && pods.Ready > 0:
			pods.Ready--
			pods.DoomedServing++
		case len(starting) > 0:
			at := nearest(starting, now.Sub(r.Created))
			starting = slices.Delete(starting, at, at+1)
		default:
			continue // the two views are of different moments
		}
		pods.Doomed++
	}
	pods.Starting = starting
}

// nearest is the index of the age that is nearest to another one.
func nearest(ages []time.Duration, age time.Duration) int {
	best := 0
	for i := range ages {
		if (ages[i] - age).Abs() < (ages[best] - age).Abs() {
			best = i
		}
	}
	return best
}
