package expander

import "math"

// optionValues are the numbers of an option that do not depend on the other options.
type optionValues struct {
	gpuWaste    *float64
	memoryWaste *float64 // of GPU memory
	cpu, memory *float64
	// firmCost is the cost per hour at a known price.
	firmCost *float64
	affinity float64
}

// measure computes the waste of every option whose pods and node are known.
func (p *problem) measure() {
	for i := range p.options {
		o := &p.options[i]
		if o.group < 0 || len(o.pods) == 0 || o.NodeCount <= 0 {
			continue
		}
		g := p.facts(i)
		n := float64(o.NodeCount)
		cpu, memory := p.requested(o)
		o.values = optionValues{
			gpuWaste: p.gpuWaste(o, g), memoryWaste: p.gpuMemoryWaste(o, g),
			cpu:      unused(n*float64(g.node.MilliCPU), cpu),
			memory:   unused(n*float64(g.node.Memory), memory),
			affinity: p.softAffinity(o, g),
		}
		if g.priced {
			o.values.firmCost = finite(n * g.price)
		}
	}
}

// requested is the sum of what the pods of an option ask for. The sums are whole numbers, so their order is free.
func (p *problem) requested(o *option) (cpu, memory float64) {
	for _, c := range o.counts {
		cpu += float64(c.pods) * float64(p.shapes[c.shape].Requests.MilliCPU)
		memory += float64(c.pods) * float64(p.shapes[c.shape].Requests.Memory)
	}
	return cpu, memory
}

// unused is the share of what is bought that nobody asked for; nil if nothing is bought.
func unused(bought, requested float64) *float64 {
	if bought <= 0 {
		return nil
	}
	return finite((bought - requested) / bought)
}

// gpuWaste is the unused share of the accelerators of the kinds asked for: 1 for an accelerator group that serves no
// accelerator pod, 0 for a group without accelerators, nil where the amount asked for is unknown.
func (p *problem) gpuWaste(o *option, g *groupFacts) *float64 {
	if o.uncounted {
		return nil
	}
	asked := map[string]int64{}
	var sum, claimed int64
	for _, c := range o.counts {
		for _, a := range p.shapes[c.shape].accelerators {
			units := times(a.units, int64(c.pods))
			asked[a.resource], sum = plus(asked[a.resource], units), plus(sum, units)
		}
		claimed = plus(claimed, times(p.shapes[c.shape].claimed, int64(c.pods)))
	}
	if claimed > 0 {
		return p.claimWaste(o, g, sum, claimed)
	}
	if sum == 0 {
		if g.hasAccelerator {
			return finite(1)
		}
		return finite(0)
	}
	var offered int64
	for _, a := range g.accelerators {
		if asked[a.resource] > 0 {
			offered = plus(offered, a.units)
		}
	}
	return unused(float64(o.NodeCount)*float64(offered), float64(sum))
}

// claimWaste is the unused share of cards. Devices that are claimed are counted in cards, because the node does not
// advertise them; so is the rest of the demand then, which is nil where pods of one option ask in both ways.
func (p *problem) claimWaste(o *option, g *groupFacts, requested, claimed int64) *float64 {
	if requested > 0 {
		return nil
	}
	return unused(float64(o.NodeCount)*float64(g.cards), float64(claimed))
}

// gpuMemoryWaste is the unused share of GPU memory; nil unless every accelerator pod and the card say their memory.
func (p *problem) gpuMemoryWaste(o *option, g *groupFacts) *float64 {
	if g.cardMemory <= 0 || g.cards <= 0 {
		return nil
	}
	var needed float64
	for _, c := range o.counts {
		s := &p.shapes[c.shape]
		if s.demand == DemandCPU {
			continue
		}
		if s.memoryPerGPU <= 0 || s.gpus <= 0 {
			return nil
		}
		needed += float64(c.pods) * float64(s.gpus) * float64(s.memoryPerGPU)
	}
	return unused(float64(o.NodeCount)*float64(g.cards)*float64(g.cardMemory), needed)
}

// softAffinity is the mean weight of the preferred terms that the group satisfies.
func (p *problem) softAffinity(o *option, g *groupFacts) float64 {
	var sum int64
	for _, c := range o.counts {
		sum += int64(c.pods) * p.shapes[c.shape].prefers(g.Labels)
	}
	return float64(sum) / float64(len(o.pods))
}

// finite points to a number, or to nothing if it is none.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
