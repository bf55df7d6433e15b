package expander_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// autoscaler is a small Cluster Autoscaler on a virtual clock: it asks every 10 s while pods are pending that no node
// on the way would take, finds failed scale-ups after a minute, backs off for 5 to 30 minutes, and gets nodes after
// three minutes. One pod takes one node.
type autoscaler struct {
	groups []*simGroup
	now    time.Duration
	// pending are pods without a node, underWay those that wait for a node that was asked for.
	pending  []string
	underWay []scaleUp
	failures []expander.Failure
	// ask chooses a group; nil answers stand for a server that is down.
	ask  func(*autoscaler, expander.View, expander.Request) []string
	view bool // a cluster view exists
	log  []step
}

type simGroup struct {
	id, capacity string
	nodes        int
	available    func(time.Duration) bool
	class        expander.FailureClass
	backoffUntil time.Duration
	backoff      time.Duration
	backoffSince time.Duration
}

type scaleUp struct {
	group *simGroup
	pods  []string
	at    time.Duration
	ok    bool
}

// step is one choice.
type step struct {
	at    time.Duration
	group string
	pods  int
}

const (
	loop        = 10 * time.Second
	failsAfter  = time.Minute
	bootsAfter  = 3 * time.Minute
	gpuPerNode  = 1
	maxBackoff  = 30 * time.Minute
	firstBackff = 5 * time.Minute
)

func always(time.Duration) bool { return true }

func never(time.Duration) bool { return false }

// outBetween is capacity that is gone for a while.
func outBetween(from, to time.Duration) func(time.Duration) bool {
	return func(at time.Duration) bool { return at < from || at >= to }
}

// run lets the cluster live until a time; arrivals gives the pods that appear at a loop.
func (a *autoscaler) run(until time.Duration, arrivals func(time.Duration) []string) {
	for ; a.now < until; a.now += loop {
		a.pending = append(a.pending, arrivals(a.now)...)
		a.settle()
		if len(a.pending) > 0 {
			a.scaleUp()
		}
	}
}

// settle ends the scale-ups that have come or failed.
func (a *autoscaler) settle() {
	var left []scaleUp
	for _, s := range a.underWay {
		switch {
		case s.ok && a.now-s.at >= bootsAfter:
			s.group.nodes += len(s.pods)
		case !s.ok && a.now-s.at >= failsAfter:
			g := s.group
			if g.backoff = max(firstBackff, min(maxBackoff, 2*g.backoff)); a.now-g.backoffUntil > 3*time.Hour {
				g.backoff = firstBackff
			}
			g.backoffSince, g.backoffUntil = a.now, a.now+g.backoff
			a.failures = append(a.failures, expander.Failure{At: epoch.Add(a.now), GroupID: g.id, Class: g.class, Reason: "ScaleUpFailed"})
			a.pending = append(a.pending, s.pods...)
		default:
			left = append(left, s)
		}
	}
	a.underWay = left
}

func (a *autoscaler) scaleUp() {
	req := expander.Request{}
	for _, uid := range a.pending {
		req.Pods = append(req.Pods, expander.Pod{UID: uid, Name: uid, Requests: gpuResources(6, 24, gpuPerNode)})
	}
	all := make([]int, len(req.Pods))
	for i := range all {
		all[i] = i
	}
	for _, g := range a.groups {
		req.Groups = append(req.Groups, expander.Group{
			ID: g.id, Labels: map[string]string{"karpenter.sh/capacity-type": g.capacity},
			Capacity: gpuResources(8, 32, gpuPerNode), Allocatable: gpuResources(8, 32, gpuPerNode),
		})
		if a.now >= g.backoffUntil {
			req.Options = append(req.Options, expander.Option{GroupID: g.id, NodeCount: len(all), Pods: all})
		}
	}
	if len(req.Options) == 0 {
		return
	}
	answer := a.ask(a, a.clusterView(), req)
	if answer == nil {
		answer = expander.LeastWaste(req)
	}
	if len(answer) == 0 {
		return
	}
	g := a.groups[slices.IndexFunc(a.groups, func(g *simGroup) bool { return g.id == answer[0] })]
	a.log = append(a.log, step{a.now, g.id, len(a.pending)})
	a.underWay = append(a.underWay, scaleUp{g, a.pending, a.now, g.available(a.now)})
	a.pending = nil
}

func (a *autoscaler) clusterView() expander.View {
	if !a.view {
		return expander.View{}
	}
	view := expander.View{Known: true, At: epoch.Add(a.now), Groups: map[string]expander.GroupView{}, Failures: slices.Clone(a.failures)}
	for _, g := range a.groups {
		seen := expander.UnknownGroup()
		seen.Nodes, seen.Registered, seen.Target = g.nodes, g.nodes, g.nodes
		for _, s := range a.underWay {
			if s.group == g {
				seen.Target += len(s.pods)
			}
		}
		if a.now < g.backoffUntil {
			seen.Backoff = &expander.Backoff{Class: g.class, Since: epoch.Add(g.backoffSince)}
		}
		view.Groups[g.id] = seen
	}
	return view
}

func gpuResources(cores, memoryGiB, gpus int64) expander.Resources {
	return expander.Resources{MilliCPU: cores * 1000, Memory: memoryGiB << 30, Extended: map[string]int64{"nvidia.com/gpu": gpus}}
}

// server is one instance with its history.
type server struct {
	policy  *expander.Policy
	history expander.History
}

func (s *server) ask(a *autoscaler, view expander.View, req expander.Request) []string {
	var d expander.Decision
	d, s.history = expander.Select(s.policy, view, req, s.history, epoch.Add(a.now))
	return d.Answer
}

// online is the policy of a service: spot first, ten minutes of memory.
func online() *expander.Policy {
	return &expander.Policy{
		Mode: expander.Active, VetoSupported: true,
		Rank: []expander.Criterion{{Name: expander.GPUWaste}},
		Workloads: []expander.Workload{{
			Name: "online",
			Stages: []expander.Stage{
				{CapacityTypes: []expander.CapacityType{expander.Spot}, Escalate: expander.Escalation{Attempts: 2, FirstSeen: 3 * time.Minute}},
				{CapacityTypes: []expander.CapacityType{expander.OnDemand}},
			},
		}},
		Failures: expander.FailureMemory{SingleGPU: 10 * time.Minute, MultiGPU: 10 * time.Minute, Factor: 1, Max: time.Hour, StickFor: 2 * time.Minute, Quota: 2 * time.Hour, Suspected: 10 * time.Minute},
	}
}

// every gives one pod at each multiple of a period.
func every(period time.Duration) func(time.Duration) []string {
	return func(at time.Duration) []string {
		if at%period != 0 {
			return nil
		}
		return []string{fmt.Sprintf("pod-%s", at)}
	}
}

func groupsOf(log []step) []string {
	var ids []string
	for _, s := range log {
		ids = append(ids, s.group)
	}
	return ids
}

func counts(log []step) map[string]int {
	n := map[string]int{}
	for _, s := range log {
		n[s.group]++
	}
	return n
}
