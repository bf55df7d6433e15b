package builtin

import (
	"math"

	"github.com/warmpool/warmpool/expander"
)

const (
	// gpuUnfitness is what the rule puts in place of the size of a GPU node.
	gpuUnfitness = 1000
	// notExistPenalty doubles the score of a group that would have to be created first.
	notExistPenalty = 2
	// The price of this small pod is added on both sides of the ratio.
	supportMilliCPU = 500
	supportMemory   = 500 << 20
)

// Pricing is what the price rule needs to know. Times do not enter: prices are per hour.
type Pricing struct {
	// Node is the price of a node of a group per hour; false drops the option.
	Node func(expander.Group) (float64, bool)
	// Pod is the price of a pod with these requests per hour.
	Pod func(expander.Resources) float64
	// HasGPU tells whether the provider knows the node as one with a GPU: by its label, or by a known resource.
	HasGPU func(expander.Group) bool
	// Exists tells whether the group exists already; nil means all do.
	Exists func(id string) bool
	// ClusterNodes is the number of nodes of the cluster, which decides the preferred size of a node.
	ClusterNodes int
}

// Price keeps the options with the smallest score: the damped unfitness of the node size times the price bought over
// the price of the pods served.
func Price(req expander.Request, pricing Pricing) []string {
	groups := map[string]expander.Group{}
	for _, g := range req.Groups {
		groups[g.ID] = g
	}
	return best(req, func(o *expander.Option) (float64, bool) {
		g, ok := groups[o.GroupID]
		if !ok {
			return 0, false
		}
		return PriceScore(req, o, g, pricing)
	})
}

// PriceScore is the score of one option; false without a price.
func PriceScore(req expander.Request, o *expander.Option, g expander.Group, pricing Pricing) (float64, bool) {
	node, ok := pricing.Node(g)
	if !ok {
		return 0, false
	}
	n := float64(o.NodeCount)
	support := pricing.Pod(expander.Resources{MilliCPU: supportMilliCPU, Memory: supportMemory})
	pods := 0.0
	for _, pod := range o.Pods {
		pods += pricing.Pod(req.Pods[pod].Requests)
	}
	score := (n*node + support) / (pods + support) * unfitness(g, n, pricing)
	if pricing.Exists != nil && !pricing.Exists(g.ID) {
		score *= notExistPenalty
	}
	return score, true
}

// unfitness is by how much the node's cores miss the preferred size, damped for many nodes at once.
func unfitness(g expander.Group, n float64, pricing Pricing) float64 {
	if pricing.HasGPU != nil && pricing.HasGPU(g) {
		return gpuUnfitness
	}
	preferred, cores := 1000*preferredCores(pricing.ClusterNodes), float64(g.Capacity.MilliCPU)
	u := max(preferred/cores, cores/preferred)
	return (u-1)*(1-math.Tanh((n-1)/15)) + 1
}

// preferredCores grows with the cluster.
func preferredCores(nodes int) float64 {
	for _, step := range []struct {
		nodes int
		cores float64
	}{{2, 1}, {6, 2}, {20, 4}, {60, 8}, {200, 16}} {
		if nodes <= step.nodes {
			return step.cores
		}
	}
	return 32
}
