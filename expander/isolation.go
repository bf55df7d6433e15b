package expander

// Codes of rejection, as they appear in Candidate.Rejected. Those of isolation carry the workload after a colon.
const (
	RejectedNoPods        = "pods-unknown"
	RejectedNoNode        = "node-unknown"
	RejectedNoNodes       = "no-nodes"
	RejectedIsolation     = "isolation"
	RejectedExclusive     = "exclusive"
	RejectedCPUPods       = "cpu-pods-on-accelerator-group"
	RejectedMixedPods     = "cpu-pods-beside-accelerator-pods"
	RejectedGPUMemory     = "gpu-memory"
	RejectedUnclassified  = "unclassified"
	RejectedZoneCap       = "zone-cap"
	RejectedFailure       = "failure-memory"
	RejectedNoAccelerator = "no-accelerator"
	RejectedSharing       = "sharing"
	RejectedShape         = "gpu-shape"
	RejectedOnDemandBase  = "on-demand-base"
	RejectedStage         = "stage"
	RejectedOther         = "other-workload"
	RejectedStick         = "stick"
)

// isolate finds the options that must not be grown, whatever else there is: those that would open a pool to pods
// that may not use it. Options of which too little is known are marked as well, but stay in a pass-through.
func (p *problem) isolate() {
	for i := range p.options {
		o := &p.options[i]
		switch {
		case len(o.pods) == 0:
			o.rejected = RejectedNoPods
		case o.group < 0:
			o.rejected = RejectedNoNode
		case o.NodeCount <= 0:
			o.rejected = RejectedNoNodes
		default:
			o.rejected = p.forbidden(i)
		}
	}
}

// unknown tells whether an option was set aside for lack of facts, not by a rule.
func unknown(code string) bool {
	return code == RejectedNoPods || code == RejectedNoNode || code == RejectedNoNodes
}

// forbidden is the code of the first rule that an option breaks for any pod it serves; the Cluster Autoscaler would
// put that pod on the new node.
func (p *problem) forbidden(i int) string {
	o, g := &p.options[i], p.facts(i)
	if p.policy.CPUPods == CPUPodsNever && g.hasAccelerator && !o.accelerated && o.unmatchedPods < len(o.pods) {
		return RejectedCPUPods
	}
	for _, c := range o.counts {
		s := &p.shapes[c.shape]
		if s.workload != unmatched && p.policy.Workloads[s.workload].EnforceGPUMemory && tooSmall(s, g) {
			return RejectedGPUMemory
		}
	}
	for w, pods := range o.serves {
		if pods == 0 {
			continue
		}
		workload := &p.policy.Workloads[w]
		if _, in := workload.stageOf(g); in == outside {
			return RejectedIsolation + ":" + workload.Name
		}
	}
	if (o.unmatchedPods > 0 || p.implied) && isExclusive(g) {
		return RejectedExclusive
	}
	return ""
}

func isExclusive(g *groupFacts) bool { return g.pool != nil && g.pool.Exclusive }

// gpuMemoryTolerance covers that cards report less memory than their name says: 81,559 MiB for 80 GB.
const gpuMemoryTolerance = 1.08

// tooSmall tells whether the cards of a group are known to hold less than a pod is known to need.
func tooSmall(s *shape, g *groupFacts) bool {
	if s.memoryPerGPU <= 0 || g.cardMemory <= 0 || s.demand == DemandCPU {
		return false
	}
	return float64(s.memoryPerGPU) > gpuMemoryTolerance*float64(g.cardMemory)
}
