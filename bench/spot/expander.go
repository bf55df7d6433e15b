package main

import (
	"regexp"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// chooser answers for the expander: the group to grow, nil for none.
type chooser func(w *world, pending []*pod, offered []*group) *group

func cheapest(_ *world, _ []*pod, offered []*group) *group {
	best := offered[0]
	for _, g := range offered {
		if g.price < best.price {
			best = g
		}
	}
	return best
}

func newChooser(p policy, c conditions, groups []*group) chooser {
	p.memory = p.remembers(c)
	if p.memory == 0 && p.base == 0 {
		return cheapest
	}
	e := &realExpander{policy: compile(p, groups), base: p.base > 0}
	for _, g := range groups {
		labels := map[string]string{"node.kubernetes.io/lifecycle": "normal"}
		if g.spot {
			labels["node.kubernetes.io/lifecycle"] = "spot"
		}
		e.templates = append(e.templates, expander.Group{ID: g.id, Labels: labels, Allocatable: oneGPU})
	}
	return e.choose
}

var oneGPU = expander.Resources{MilliCPU: 3900, Memory: 15 << 30, Extended: map[string]int64{sim.GPU: 1}}

// realExpander asks package expander as the Cluster Autoscaler would.
type realExpander struct {
	policy    *expander.Policy
	templates []expander.Group
	history   expander.History
	base      bool
	// asked is when it was asked last.
	asked int
}

func compile(p policy, groups []*group) *expander.Policy {
	out := &expander.Policy{
		Mode: expander.Active,
		Rank: []expander.Criterion{{Name: expander.DollarsPerDollarNeeded}, {Name: expander.Size}},
		Failures: expander.FailureMemory{
			SingleGPU: p.memory, MultiGPU: p.memory, Factor: 1, Max: 6 * time.Hour, StickFor: 2 * time.Minute,
			Quota: 2 * time.Hour, Suspected: shortMemory,
		},
	}
	var spots []string
	for _, g := range groups {
		capacity := expander.OnDemand
		if g.spot {
			capacity = expander.Spot
			spots = append(spots, g.id)
		}
		out.Pools = append(out.Pools, expander.Pool{
			Name: g.id, CapacityType: capacity, HourlyCost: g.price,
			Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(g.id) + "$")}},
		})
	}
	escalate := expander.Escalation{Attempts: 1, FirstSeen: time.Minute}
	if p.patient {
		escalate = expander.Escalation{}
	}
	out.Workloads = []expander.Workload{{
		Name: "service", OnDemandBase: expander.Base{Share: p.base},
		Stages: []expander.Stage{
			{Pools: spots, Escalate: escalate}, {Pools: []string{"on-demand"}},
		},
	}}
	return out
}

func (e *realExpander) choose(w *world, pending []*pod, offered []*group) *group {
	req := expander.Request{Groups: e.templates}
	for i, p := range pending {
		req.Pods = append(req.Pods, expander.Pod{UID: p.id, Name: p.id, Namespace: "replay", Requests: oneGPU})
		_ = i
	}
	all := make([]int, len(pending))
	for i := range all {
		all[i] = i
	}
	for _, g := range offered {
		req.Options = append(req.Options, expander.Option{GroupID: g.id, NodeCount: len(pending), Pods: all})
	}
	d, next := expander.Select(e.policy, e.view(w), req, e.history, clock(w.now))
	e.history, e.asked = next, w.now
	if len(d.Answer) == 0 {
		return nil
	}
	for _, g := range offered {
		if g.id == d.Answer[0] {
			return g
		}
	}
	return nil
}

// view is what informers would know.
func (e *realExpander) view(w *world) expander.View {
	v := expander.View{Known: true, At: clock(w.now), Groups: map[string]expander.GroupView{}}
	for _, g := range w.groups {
		seen := expander.UnknownGroup()
		seen.Nodes, seen.Registered, seen.Target = g.registered, g.registered, g.registered
		if g.backoffUntil > w.now {
			seen.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: clock(g.lastFailure)}
		}
		v.Groups[g.id] = seen
		for _, at := range g.failures {
			if at < e.asked {
				continue // told before, and kept in the history
			}
			v.Failures = append(v.Failures, expander.Failure{At: clock(at), GroupID: g.id, Class: expander.FailureStock})
		}
	}
	for _, g := range w.groups {
		if n := len(g.lost); w.p.losses && link.Reclaimed(n, g.registered) {
			v.Failures = append(v.Failures, expander.Failure{At: clock(g.lost[n-1]), GroupID: g.id, Class: expander.FailureStock, Suspected: true})
		}
	}
	for _, l := range w.late {
		v.Failures = append(v.Failures, expander.Failure{At: l.Since, GroupID: l.Pool, Class: expander.FailureOther, Suspected: true})
	}
	if e.base {
		counts := map[expander.CapacityType]int{}
		for _, p := range w.pods {
			if p.node != nil && p.node.group.spot {
				counts[expander.Spot]++
			} else if p.node != nil {
				counts[expander.OnDemand]++
			}
		}
		v.CapacityReplicas = map[string]map[expander.CapacityType]int{"service": counts}
	}
	return v
}
