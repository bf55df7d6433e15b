package expander

import "slices"

// unmatched is the workload index of pods that no entry matches.
const unmatched = -1

// impliedWorkload stands for "all pods, all groups" when the policy names no workload at all.
const impliedWorkload = "default"

// withWorkloads returns the policy itself, or a copy with the implied workload.
func (p *Policy) withWorkloads() *Policy {
	if len(p.Workloads) > 0 {
		return p
	}
	implied := *p
	implied.Workloads = []Workload{{Name: impliedWorkload, Stages: []Stage{{Any: true}}}}
	return &implied
}

// workloadOf is the index of the first workload that matches, or unmatched.
func (p *Policy) workloadOf(pod *Pod) int {
	for i := range p.Workloads {
		if p.Workloads[i].Match.matches(pod) {
			return i
		}
	}
	return unmatched
}

func (m WorkloadMatch) matches(pod *Pod) bool {
	if len(m.Namespaces) > 0 && !slices.Contains(m.Namespaces, pod.Namespace) {
		return false
	}
	if len(m.PriorityClasses) > 0 && !slices.Contains(m.PriorityClasses, pod.PriorityClass) {
		return false
	}
	if !containsLabels(pod.Labels, m.PodLabels) {
		return false
	}
	for _, taint := range m.Tolerates {
		if !slices.ContainsFunc(pod.Tolerations, func(t Toleration) bool { return t.coversKind(taint) }) {
			return false
		}
	}
	return true
}

// coversKind tells whether a toleration is meant for a kind of taint, of which value and effect may be left open. A
// toleration of everything says nothing about the pod, so it does not count.
func (t Toleration) coversKind(kind Taint) bool {
	if t.Key == "" || t.Key != kind.Key {
		return false
	}
	if kind.Effect != "" && t.Effect != "" && t.Effect != kind.Effect {
		return false
	}
	return t.Operator == "Exists" || kind.Value == "" || t.Value == kind.Value
}

// membership is whether a group belongs to a stage.
type membership int

const (
	outside membership = iota
	// unclassified groups may belong: the stage asks for a capacity type, and theirs is unknown.
	unclassified
	inside
)

// contains tells whether a stage holds a group.
func (s *Stage) contains(g *groupFacts) membership {
	if s.Any || (g.pool != nil && slices.Contains(s.Pools, g.pool.Name)) {
		return inside
	}
	if len(s.CapacityTypes) == 0 && len(s.Labels) == 0 {
		return outside
	}
	if !containsLabels(g.Labels, s.Labels) {
		return outside
	}
	switch {
	case len(s.CapacityTypes) == 0 || slices.Contains(s.CapacityTypes, g.capacity):
		return inside
	case g.capacity == CapacityUnknown:
		return unclassified
	default:
		return outside
	}
}

// stageOf is the number of the first stage with the group, from 1; 0 if there is none, with the best membership.
func (w *Workload) stageOf(g *groupFacts) (int, membership) {
	best := outside
	for i := range w.Stages {
		in := w.Stages[i].contains(g)
		if in == inside {
			return i + 1, inside
		}
		best = max(best, in)
	}
	return 0, best
}

// memory is the failure memory of a workload.
func (p *Policy) memory(workload int) FailureMemory {
	if workload != unmatched && p.Workloads[workload].Failures != nil {
		return *p.Workloads[workload].Failures
	}
	return p.Failures
}

// criteria is the rank of a workload.
func (p *Policy) criteria(workload int) []Criterion {
	if workload != unmatched && len(p.Workloads[workload].Rank) > 0 {
		return p.Workloads[workload].Rank
	}
	if len(p.Rank) > 0 {
		return p.Rank
	}
	return []Criterion{{Name: DollarsPerDollarNeeded}, {Name: CPUMemWaste}, {Name: Size}}
}

// worth is the speed of GPU models for a workload.
func (p *Policy) worth(workload int) map[string]float64 {
	if workload != unmatched && len(p.Workloads[workload].Worth) > 0 {
		return p.Workloads[workload].Worth
	}
	return p.Accelerators.Worth
}
