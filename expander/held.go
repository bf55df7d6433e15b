package expander

import (
	"slices"
	"strings"
	"time"
)

// HeldBack lists the groups that the failure memory of a workload holds back at a time, in the order of their ids, for
// those who must know between two requests what can be had. A workload without a name of the policy has the policy's
// own memory.
func HeldBack(policy *Policy, history History, workload string, groups []Group, now time.Time) []FailureState {
	named := policy.withWorkloads()
	memory := named.memory(slices.IndexFunc(named.Workloads, func(w Workload) bool { return w.Name == workload }))
	var held []FailureState
	for i := range groups {
		facts := named.describe(&groups[i], View{})
		if state, blocked := history.block(&facts, memory, now); blocked {
			held = append(held, state)
		}
	}
	slices.SortFunc(held, func(a, b FailureState) int { return strings.Compare(a.GroupID, b.GroupID) })
	return held
}

// StageOf is the number of the first stage of a workload that a group belongs to, from 1; 0 if there is none, or no
// such workload.
func (p *Policy) StageOf(workload string, g *Group) int {
	named := p.withWorkloads()
	i := slices.IndexFunc(named.Workloads, func(w Workload) bool { return w.Name == workload })
	if i < 0 {
		return 0
	}
	facts := named.describe(g, View{})
	stage, _ := named.Workloads[i].stageOf(&facts)
	return stage
}
