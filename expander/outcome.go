package expander

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// passThrough leaves the choice to the caller's next filter, without the options that isolation rejects.
func (d *draft) passThrough(reason string, keep []int) {
	if keep == nil {
		for i := range d.options {
			keep = append(keep, i)
		}
	}
	d.outcome, d.keep = PassThrough, keep
	d.reasons = append(d.reasons, reason)
}

// passUnmatched passes the pods of no workload through. If isolation leaves a single option of several, that is the
// answer.
func (d *draft) passUnmatched() {
	keep := d.notIsolated()
	if len(keep) == 1 && len(d.options) > 1 {
		d.outcome, d.chosen = Selected, keep[0]
		d.reasons = append(d.reasons, "only-option-left")
		return
	}
	d.passThrough("no-workload", keep)
}

// notIsolated are the options that no rule forbids; those of which too little is known are among them.
func (d *draft) notIsolated() []int {
	keep := []int{}
	for i := range d.options {
		if code := d.options[i].rejected; code == "" || unknown(code) {
			keep = append(keep, i)
		}
	}
	return keep
}

// nothingLeft answers when no workload has a valid option: what is unknown passes through, and if isolation rejected
// everything, the growth is stopped where the caller understands that.
func (d *draft) nothingLeft() {
	if keep := d.notIsolated(); len(keep) > 0 {
		d.passThrough("nothing-known-to-choose-from", keep)
		return
	}
	cpu := slices.ContainsFunc(d.options, func(o option) bool { return o.rejected == RejectedCPUPods })
	switch {
	case d.policy.WhenAllRejected == PassThroughAll:
		d.passThrough("all-rejected", nil)
	case !d.policy.VetoSupported:
		d.passThrough("all-rejected", nil)
		d.warn(WarnNotEnforceable)
	default:
		d.outcome = Veto
		d.reasons = append(d.reasons, "all-rejected")
		if cpu {
			d.warn(WarnVetoedCPUPods)
		}
	}
}

// decision writes everything down.
func (d *draft) decision() Decision {
	d.warnChoice()
	out := Decision{
		Time: d.now, Outcome: d.outcome, Mode: d.policy.Mode, Reasons: d.reasons,
		Selected: []string{}, Answer: []string{}, Workloads: []WorkloadDecision{}, Candidates: []Candidate{},
		LeastWaste: d.baseline(), PolicyHash: d.policy.Hash,
	}
	if out.Mode == "" {
		out.Mode = Observe
	}
	keep := d.keep
	if d.outcome == Selected {
		keep = []int{d.chosen}
		out.Selected = append(out.Selected, d.options[d.chosen].GroupID)
	}
	if d.policy.Mode != Active || d.policy.Frozen {
		keep = nil
		for i := range d.options {
			keep = append(keep, i)
		}
	}
	answered := make(map[string]bool, len(keep))
	for _, i := range keep {
		if id := d.options[i].GroupID; !answered[id] {
			answered[id] = true
			out.Answer = append(out.Answer, id)
		}
	}
	for i := range d.options {
		out.Candidates = append(out.Candidates, d.candidate(i))
	}
	out.Workloads = d.workloads()
	slices.SortFunc(d.warnings, strings.Compare)
	out.Warnings = d.warnings
	memory := d.policy.Failures
	if d.servedBy >= 0 {
		memory = d.policy.memory(d.servedBy)
	}
	out.Failures = d.failuresNow(memory)
	return out
}

func (d *draft) candidate(i int) Candidate {
	o := &d.options[i]
	c := Candidate{
		ID: o.GroupID, NodeCount: o.NodeCount, Pods: len(o.pods), Rejected: d.rejected[i],
		Waste: Waste{GPU: o.values.gpuWaste, GPUMemory: o.values.memoryWaste, CPU: o.values.cpu, Memory: o.values.memory},
		Cost:  d.knownCost(i),
	}
	if o.group < 0 {
		return c
	}
	g := d.facts(i)
	c.Pool, c.CapacityType, c.GPUModel = g.poolName, g.capacity, g.model
	if d.anyPrice && len(o.pods) > 0 && o.NodeCount > 0 {
		c.Score = d.score(i, max(d.servedBy, unmatched))
	}
	if d.race != nil {
		if at := slices.Index(d.race.options, i); at >= 0 {
			c.Criteria = d.race.trace[at]
		}
	}
	return c
}

// workloads has one entry per workload of the request: the one that was served first, then the others by name.
func (d *draft) workloads() []WorkloadDecision {
	out := []WorkloadDecision{}
	for w := range d.policy.Workloads {
		s, plan := &d.standings[w], &d.plans[w]
		if s.pods == 0 {
			continue
		}
		entry := WorkloadDecision{
			Name: d.policy.Workloads[w].Name, Pods: s.pods, Stage: plan.stage.stage, StageReason: plan.stage.reason,
			Served: d.serves(w), UnservedLoops: d.unservedNow(w), IgnoredForAge: slices.Sorted(slices.Values(s.ignored)), Relaxed: plan.relaxed,
		}
		for _, i := range plan.valid {
			entry.Valid = append(entry.Valid, d.options[i].GroupID)
		}
		if !s.oldest.IsZero() {
			entry.OldestSeen = d.now.Sub(s.oldest).Seconds()
		}
		out = append(out, entry)
	}
	slices.SortStableFunc(out, func(a, b WorkloadDecision) int { return compareBool(b.Served, a.Served) })
	return out
}

// serves tells whether the chosen option covers pods of a workload.
func (d *draft) serves(w int) bool {
	return d.chosen >= 0 && d.options[d.chosen].serves[w] > 0
}
