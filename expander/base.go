package expander

import "math"

// onDemandBase restricts a workload to capacity that is not reclaimed while it has less of it than configured.
func (p *problem) onDemandBase(workload int, options []int) (stageChoice, bool) {
	w := &p.policy.Workloads[workload]
	running, known := p.view.CapacityReplicas[w.Name]
	if !known || (w.OnDemandBase.Count <= 0 && w.OnDemandBase.Share <= 0) {
		return stageChoice{}, false
	}
	all := p.pending(workload)
	for _, replicas := range running {
		all += replicas
	}
	base := max(w.OnDemandBase.Count, int(math.Ceil(w.OnDemandBase.Share*float64(all)-1e-9)))
	if running[OnDemand]+running[Reserved]+p.onTheWay(w.Name) >= base {
		return stageChoice{}, false
	}
	var firm []int
	for _, o := range options {
		if keepsRunning(p.facts(o).capacity) {
			firm = append(firm, o)
		}
	}
	for stage := 1; stage <= len(w.Stages); stage++ {
		if in := p.inStage(workload, stage, firm); len(in) > 0 {
			return stageChoice{stage: stage, options: in, reason: StageOnDemandBase}, true
		}
	}
	return stageChoice{}, false
}

func keepsRunning(c CapacityType) bool { return c == OnDemand || c == Reserved }

func (p *problem) pending(workload int) int {
	n := 0
	for _, s := range p.shapeOf {
		if p.shapes[s].workload == workload {
			n++
		}
	}
	return n
}

// onTheWay counts the pods of recent on-demand choices whose nodes are still coming, less those that are back.
func (p *problem) onTheWay(workload string) int {
	n := 0
	for _, c := range p.history.Choices {
		if p.coming(c, workload) {
			n += c.Pods
		}
	}
	for _, latest := range p.latest {
		if latest >= 0 && p.coming(p.history.Choices[latest], workload) {
			n--
		}
	}
	return max(0, n)
}

func (p *problem) coming(c Choice, workload string) bool {
	return c.Workload == workload && c.OnDemand && !c.Observed && !c.Failed && !c.Delivered && p.now.Sub(c.At) < provisionTime
}
