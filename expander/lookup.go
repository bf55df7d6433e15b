package expander

// PoolOf is the name of the pool that a node group belongs to, the first that matches; empty if none does.
func (p *Policy) PoolOf(g *Group) string {
	if pool := p.poolOf(g); pool != nil {
		return pool.Name
	}
	return ""
}

// CapacityTypeOf tells how the nodes of a group are paid for, as far as pool, labels, rules and the assumption for
// the rest tell.
func (p *Policy) CapacityTypeOf(g *Group) CapacityType { return p.capacityType(g, p.poolOf(g)) }

// WorkloadOf is the name of the workload that a pod belongs to, the first that matches; empty if none does.
func (p *Policy) WorkloadOf(pod *Pod) string {
	named := p.withWorkloads()
	if i := named.workloadOf(pod); i != unmatched {
		return named.Workloads[i].Name
	}
	return ""
}

// Accelerated sums up the accelerators among resources: nothing is 0.
func (a Accelerators) Accelerated(extended map[string]int64) int64 {
	var sum int64
	for _, found := range a.amounts(extended) {
		sum = plus(sum, found.units)
	}
	return sum
}

// CapacityTypeOf reads the clouds' labels of capacity type; CapacityUnknown where none speaks.
func CapacityTypeOf(labels map[string]string) CapacityType { return capacityFromLabels(labels) }

// GPUModelOf names the GPU model by a node's labels, else by its instance type; empty without any.
func GPUModelOf(labels map[string]string) string {
	if model := gpuModel(labels, InstanceType{}); model != "" {
		return model
	}
	return labels[instanceTypeLabel]
}

// ZoneOf is the zone of a node by its labels; empty without one.
func ZoneOf(labels map[string]string) string {
	for _, key := range zoneLabels {
		if zone := labels[key]; zone != "" {
			return zone
		}
	}
	return ""
}
