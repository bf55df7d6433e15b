package expander

import (
	"slices"
	"strings"
)

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
	if known, ok := models[shortModel(g.model)]; ok {
		perGPU = known
	}
	return share * (machinePrice(g.node) + perGPU*float64(g.cards))
}

// gpuPrices is the mean price of one GPU by model, once cores and memory are taken off, over everything that has an
// on-demand price; only for models that an estimate needs.
func gpuPrices(policy *Policy, groups []groupFacts) map[string]float64 {
	sums, counts := map[string]float64{}, map[string]float64{}
	for i := range groups {
		if !groups[i].priced {
			sums[shortModel(groups[i].model)] = 0
		}
	}
	add := func(model string, cards int64, node Resources, price float64) {
		name := shortModel(model)
		if _, wanted := sums[name]; wanted && name != "" && cards > 0 && price > 0 {
			sums[name] += max(0, price-machinePrice(node)) / float64(cards)
			counts[name]++
		}
	}
	for _, id := range sortedIDs(groups) {
		if g := &groups[id]; g.priced && g.capacity != Spot {
			add(g.model, g.cards, g.node, g.price)
		}
	}
	var rows []string
	for name, row := range policy.InstanceTypes {
		if row.GPUs > 0 && row.HourlyCost > 0 {
			rows = append(rows, name)
		}
	}
	slices.Sort(rows) // the order of a sum shows in its last digits
	for _, name := range rows {
		row := policy.InstanceTypes[name]
		add(row.GPUModel, row.GPUs, Resources{MilliCPU: row.MilliCPU, Memory: row.Memory}, row.HourlyCost)
	}
	prices := make(map[string]float64, len(counts))
	for name, n := range counts {
		prices[name] = sums[name] / n
	}
	return prices
}

// shortModel is the least specific spelling of a GPU model; empty without one.
func shortModel(model string) string {
	names := modelNames(model)
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// sortedIDs are the indices of groups in the order of their ids.
func sortedIDs(groups []groupFacts) []int {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(groups[a].ID, groups[b].ID) })
	return order
}
