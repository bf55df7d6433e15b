package engine

import "github.com/warmpool/warmpool/link"

// A PackingReader is a [Cluster] that knows what pods hold of the GPUs of each node.
type PackingReader interface {
	GPUNodes() ([]link.GPUNode, bool)
}

// Packing is how the GPUs of a node group are used.
type Packing struct {
	link.Packing
	// SparePerHour is what the nodes cost per hour that packing would spare; 0 is unknown, or none.
	SparePerHour float64 `json:"sparePerHour,omitempty"`
}

// Packing tells of each node group with several GPUs a node how well its pods are packed; nil without a view of them.
func (e *Engine) Packing() []Packing {
	reader, ok := e.cluster.(PackingReader)
	if !ok {
		return nil
	}
	nodes, ok := reader.GPUNodes()
	if !ok {
		return nil
	}
	out := []Packing{}
	policy, last := e.config.Load().Expander, e.lastPlaced()
	for _, p := range link.AssessPacking(nodes) {
		one := Packing{Packing: p}
		for i := range last.groups {
			if g := &last.groups[i]; policy != nil && g.ID == p.Pool {
				if cost := policy.Describe(g).HourlyCost; cost != nil {
					one.SparePerHour = float64(p.Spare()) * *cost
				}
			}
		}
		out = append(out, one)
	}
	return out
}
