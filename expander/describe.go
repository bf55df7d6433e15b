package expander

// GroupFacts is what a policy makes of a node group, for lists: the same facts that [Select] decides by.
type GroupFacts struct {
	ID           string       `json:"id"`
	Pool         string       `json:"pool"`
	CapacityType CapacityType `json:"capacityType"`
	GPUModel     string       `json:"gpuModel,omitempty"`
	// GPUs is the number of physical GPUs of a node; 0 is none or unknown.
	GPUs int64  `json:"gpus"`
	Zone string `json:"zone,omitempty"`
	// HourlyCost is the configured or catalogue price of a node in $/h; nil is unknown, an estimate is never given.
	HourlyCost *float64 `json:"hourlyCost"`
}

// Describe says which pool a group belongs to, how it is paid for and what it costs.
func (p *Policy) Describe(g *Group) GroupFacts {
	f := p.describe(g, View{})
	out := GroupFacts{ID: g.ID, Pool: f.poolName, CapacityType: f.capacity, GPUModel: f.model, GPUs: f.cards, Zone: f.zone}
	if f.priced {
		out.HourlyCost = &f.price
	}
	return out
}
