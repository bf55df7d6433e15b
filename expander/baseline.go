package expander

// LeastWaste is the built-in least-waste expander on a request, edges included (Cluster Autoscaler contract, built-in
// expanders): CPU and memory of the node's capacity only, exact float equality, options without a template dropped.
// A node without capacity makes the score minus infinity with requests and NaN without; NaN wins only in first place.
func LeastWaste(req Request) []string {
	groups := make(map[string]*Group, len(req.Groups))
	for i := range req.Groups {
		groups[req.Groups[i].ID] = &req.Groups[i]
	}
	var kept []string
	var least float64
	for i := range req.Options {
		g, ok := groups[req.Options[i].GroupID]
		if !ok {
			continue
		}
		waste := LeastWasteScore(req, &req.Options[i], g)
		if len(kept) > 0 && waste == least {
			kept = append(kept, g.ID)
		} else if len(kept) == 0 || waste < least {
			kept, least = []string{g.ID}, waste
		}
	}
	return kept
}

// LeastWasteScore is the score of one option: the unused share of CPU plus the unused share of memory.
func LeastWasteScore(req Request, o *Option, g *Group) float64 {
	var cpu, memory int64
	for _, pod := range o.Pods {
		if pod >= 0 && pod < len(req.Pods) {
			cpu += req.Pods[pod].Requests.MilliCPU
			memory += req.Pods[pod].Requests.Memory
		}
	}
	allCPU, allMemory := g.Capacity.MilliCPU*int64(o.NodeCount), g.Capacity.Memory*int64(o.NodeCount)
	return float64(allCPU-cpu)/float64(allCPU) + float64(allMemory-memory)/float64(allMemory)
}

// baseline is what the next filter would have kept, and the known cost of its first choice.
func (p *problem) baseline() LeastWasteBaseline {
	b := LeastWasteBaseline{Groups: LeastWaste(p.req)}
	if len(b.Groups) == 0 {
		b.Groups = []string{}
		return b
	}
	for i := range p.options {
		if p.options[i].GroupID == b.Groups[0] {
			b.Cost = p.knownCost(i)
			break
		}
	}
	return b
}

// knownCost is the hourly cost of an option; nil without a price.
func (p *problem) knownCost(i int) *float64 {
	o := &p.options[i]
	if o.group < 0 || !p.facts(i).priced {
		return nil
	}
	return finite(float64(o.NodeCount) * p.facts(i).price)
}
