package expander

// A least-squares fit over current on-demand catalogues of two clouds, in US dollars per hour: what a core, a GiB and
// a GPU of unknown model cost. It stands in where a price is unknown, never in a reported cost.
const (
	dollarsPerCore = 0.033174
	dollarsPerGiB  = 0.004446
	dollarsPerGPU  = 0.70
	// spotShare is the usual ratio of the spot to the on-demand price.
	spotShare = 0.35
)

// listPrice is the configured price of a node: the pool's, else the catalogue's for the capacity type.
func listPrice(pool *Pool, capacity CapacityType, catalogue InstanceType) (float64, bool) {
	if pool != nil && pool.HourlyCost > 0 {
		return pool.HourlyCost, true
	}
	if capacity == Spot {
		return catalogue.SpotHourlyCost, catalogue.SpotHourlyCost > 0
	}
	return catalogue.HourlyCost, catalogue.HourlyCost > 0
}

// machinePrice is the part of a price that cores and memory explain.
func machinePrice(node Resources) float64 {
	return dollarsPerCore*float64(node.MilliCPU)/1000 + dollarsPerGiB*float64(node.Memory)/gibibyte
}

// estimatePrices fills in the prices that are not known, and tells whether any is.
func estimatePrices(policy *Policy, groups []groupFacts) (anyKnown bool) {
	var models map[string]float64
	for i := range groups {
		anyKnown = anyKnown || groups[i].priced
	}
	for i := range groups {
		g := &groups[i]
		if g.priced {
			continue
		}
		if models == nil {
			models = gpuPrices(policy, groups)
		}
		g.price = estimate(policy, g, models)
	}
	return anyKnown
}

func estimate(policy *Policy, g *groupFacts, models map[string]float64) float64 {
	share := 1.0
	if g.capacity == Spot {
		share = spotShare
	}
	if onDemand := policy.InstanceTypes[g.Labels[instanceTypeLabel]].HourlyCost; onDemand > 0 {
		return share * onDemand
	}
	perGPU := dollarsPerGPU
	if names := modelNames(g.model); len(names) > 0 {
		if known, ok := models[names[len(names)-1]]; ok {
			perGPU = known
		}
	}
	return share * (machinePrice(g.node) + perGPU*float64(g.cards))
}

// gpuPrices is the mean price of one GPU by model, once cores and memory are taken off, over everything that has an
// on-demand price.
func gpuPrices(policy *Policy, groups []groupFacts) map[string]float64 {
	type mean struct{ sum, n float64 }
	means := map[string]mean{}
	add := func(model string, cards int64, node Resources, price float64) {
		names := modelNames(model)
		if len(names) == 0 || cards <= 0 || price <= 0 {
			return
		}
		name := names[len(names)-1]
		rest := max(0, price-machinePrice(node)) / float64(cards)
		means[name] = mean{means[name].sum + rest, means[name].n + 1}
	}
	for i := range groups {
		if g := &groups[i]; g.priced && g.capacity != Spot {
			add(g.model, g.cards, g.node, g.price)
		}
	}
	for _, name := range sortedKeys(policy.InstanceTypes) {
		row := policy.InstanceTypes[name]
		add(row.GPUModel, row.GPUs, Resources{MilliCPU: row.MilliCPU, Memory: row.Memory}, row.HourlyCost)
	}
	prices := make(map[string]float64, len(means))
	for name, m := range means {
		prices[name] = m.sum / m.n
	}
	return prices
}
