package expander

import "strings"

const (
	instanceTypeLabel = "node.kubernetes.io/instance-type"
	gpuMemoryLabel    = "nvidia.com/gpu.memory"
	mebibyte          = 1 << 20
	gibibyte          = 1 << 30
)

var zoneLabels = []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}

// groupFacts is a node group with everything that the policy says about it, computed once per request.
type groupFacts struct {
	*Group
	pool     *Pool
	poolName string
	capacity CapacityType
	// node is what a new node offers to pods: allocatable, else capacity, else the catalogue.
	node         Resources
	accelerators []amount
	// cards is the number of physical GPUs per node; 0 is none or unknown.
	cards int64
	// hasAccelerator is also true where only a label or the catalogue tells.
	hasAccelerator bool
	claims         bool
	model          string
	// cardMemory is in bytes per card; 0 is unknown.
	cardMemory int64
	sharing    Sharing
	zone       string
	quotaGroup string
	// price is per node and hour; it is an estimate unless priced.
	price  float64
	priced bool
	nodes  int // current nodes, -1 is unknown
}

// describe gathers the facts of a group. The price estimate of unpriced groups is filled in later, because it needs
// the prices of the others.
func (p *Policy) describe(g *Group, view View) groupFacts {
	catalogue := p.InstanceTypes[g.Labels[instanceTypeLabel]]
	f := groupFacts{
		Group: g, pool: p.poolOf(g), node: g.offered(catalogue), model: gpuModel(g.Labels, catalogue),
		claims: hasClaimLabel(g.Labels), sharing: sharingOf(g.Labels), nodes: viewOf(view, g.ID).Nodes,
	}
	f.capacity = p.capacityType(g, f.pool)
	if f.pool != nil {
		f.poolName, f.quotaGroup = f.pool.Name, f.pool.QuotaGroup
	}
	f.accelerators = p.Accelerators.amounts(f.node.Extended)
	if f.cards = physicalGPUs(f.accelerators, g.Labels); f.cards == 0 {
		f.cards = catalogue.GPUs
	}
	_, labelled := acceleratorLabel(g.Labels, "")
	f.hasAccelerator = len(f.accelerators) > 0 || labelled || f.claims || catalogue.GPUs > 0
	f.cardMemory = p.cardMemory(g, catalogue)
	for _, key := range zoneLabels {
		if f.zone == "" {
			f.zone = g.Labels[key]
		}
	}
	f.price, f.priced = listPrice(f.pool, f.capacity, catalogue)
	return f
}

// offered is what one new node offers. Templates from zero may lack parts, which the catalogue then fills.
func (g *Group) offered(catalogue InstanceType) Resources {
	node := g.Allocatable
	if node.MilliCPU <= 0 {
		node.MilliCPU = g.Capacity.MilliCPU
	}
	if node.Memory <= 0 {
		node.Memory = g.Capacity.Memory
	}
	if node.Extended == nil {
		node.Extended = g.Capacity.Extended
	}
	if node.MilliCPU <= 0 {
		node.MilliCPU = catalogue.MilliCPU
	}
	if node.Memory <= 0 {
		node.Memory = catalogue.Memory
	}
	return node
}

// cardMemory is the memory of one card in bytes: the configured label, feature discovery, the catalogue; 0 unknown.
func (p *Policy) cardMemory(g *Group, catalogue InstanceType) int64 {
	if text, ok := g.Labels[p.memoryKeys().NodeTotal]; ok {
		if bytes, err := ParseQuantity(text); err == nil && bytes > 0 {
			return bytes
		}
	}
	if mib := labelNumber(g.Labels, gpuMemoryLabel); mib > 0 && mib < 1<<30 {
		return mib * mebibyte
	}
	return catalogue.GPUMemory
}

// memoryKeys fills in the default keys of GPU memory.
func (p *Policy) memoryKeys() GPUMemoryKeys {
	keys := p.GPUMemoryKeys
	for _, key := range []struct {
		value    *string
		standard string
	}{
		{&keys.PodTotal, "gpu.ai/memory-required"},
		{&keys.PodPerGPU, "gpu.ai/memory-per-gpu"},
		{&keys.NodeTotal, "gpu.ai/memory-total"},
	} {
		if *key.value == "" {
			*key.value = key.standard
		}
	}
	return keys
}

// sharingOf reads how the GPUs of a node are shared; empty is unknown.
func sharingOf(labels map[string]string) Sharing {
	for _, key := range []string{"nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy"} {
		switch strings.ToLower(labels[key]) {
		case "none":
			return SharingExclusive
		case "time-slicing", "time-sharing":
			return SharingTimeSlicing
		case "mps":
			return SharingMPS
		}
	}
	return ""
}

// poolOf is the first pool that matches; nil if none does.
func (p *Policy) poolOf(g *Group) *Pool {
	for i := range p.Pools {
		if p.Pools[i].Match.matches(g) {
			return &p.Pools[i]
		}
	}
	return nil
}

func (m PoolMatch) matches(g *Group) bool {
	if len(m.Labels) == 0 && len(m.Taints) == 0 && len(m.NodeGroups) == 0 {
		return false
	}
	if !containsLabels(g.Labels, m.Labels) {
		return false
	}
	for _, wanted := range m.Taints {
		if !hasTaint(g.Taints, wanted) {
			return false
		}
	}
	if len(m.NodeGroups) == 0 {
		return true
	}
	for _, pattern := range m.NodeGroups {
		if pattern != nil && pattern.MatchString(g.ID) {
			return true
		}
	}
	return false
}

// hasTaint compares key, value and effect; an empty effect or value of the wanted taint matches any.
func hasTaint(taints []Taint, wanted Taint) bool {
	for _, t := range taints {
		if t.Key == wanted.Key && (wanted.Value == "" || t.Value == wanted.Value) && (wanted.Effect == "" || t.Effect == wanted.Effect) {
			return true
		}
	}
	return false
}

// viewOf is what the view knows of a group.
func viewOf(view View, id string) GroupView {
	if known, ok := view.Groups[id]; ok {
		return known
	}
	return UnknownGroup()
}
