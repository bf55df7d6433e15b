package expander

import "math"

const (
	// smallNodes is the exponent of the node price in the score: a mild preference for small nodes.
	smallNodes = 0.10
	// podsPerNode is the kubelet's default limit: a pod that requests nothing still takes one of so many places.
	podsPerNode = 110
)

// score is dollars bought per dollar needed: n*P / sum of needed(p), times P^0.10; less is better. P of the first
// factor is the price over the worth of the GPU model, for options that serve accelerator pods. The measure of need
// makes options that cover different pods comparable.
func (p *problem) score(i, workload int) *float64 {
	o, g := &p.options[i], p.facts(i)
	var needed float64
	for _, c := range o.counts {
		needed += float64(c.pods) * p.needed(&p.shapes[c.shape], g)
	}
	bought := float64(o.NodeCount) * p.effectivePrice(g, o.accelerated, workload)
	return finite(bought / needed * math.Pow(g.price, smallNodes))
}

// effectivePrice is the price for the same amount of work: a card that is worth three may cost three times as much.
func (p *problem) effectivePrice(g *groupFacts, accelerated bool, workload int) float64 {
	if !accelerated {
		return g.price
	}
	return g.price / worthOf(p.policy.worth(workload), g.model)
}

// needed is the least that one pod can cost per hour: over the groups that it fits, the price times the largest
// share of a node that it takes. A pod that fits no template by our reading is measured on the group that the
// Cluster Autoscaler would put it on.
func (p *problem) needed(s *shape, chosen *groupFacts) float64 {
	if s.needed < 0 {
		s.needed = math.Inf(1)
		for i := range p.groups {
			g := &p.groups[i]
			if !s.Requests.fitsInto(g.node) || ((s.demand == DemandUnknownCount || s.claimed > 0) && !g.hasAccelerator) {
				continue
			}
			// The comparison is cheaper than the rules, and most groups lose it.
			if cost := p.neededOn(s, g); cost < s.needed && s.selects(g.Labels) && toleratesAll(s.Tolerations, g.Taints) {
				s.needed = cost
			}
		}
	}
	if math.IsInf(s.needed, 1) {
		return p.neededOn(s, chosen)
	}
	return s.needed
}

func (p *problem) neededOn(s *shape, g *groupFacts) float64 {
	share := max(ratio(s.Requests.MilliCPU, g.node.MilliCPU), ratio(s.Requests.Memory, g.node.Memory))
	for _, a := range s.accelerators {
		share = max(share, ratio(a.units, g.node.Extended[a.resource]))
	}
	if s.demand == DemandUnknownCount {
		share = max(share, ratio(1, g.cards))
	}
	share = max(share, ratio(s.claimed, g.cards))
	if share <= 0 {
		share = 1.0 / podsPerNode
	}
	return share * p.effectivePrice(g, s.wantsAccelerator(), s.workload)
}

func ratio(part, whole int64) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
