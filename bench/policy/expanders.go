package policy

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/expander/builtin"
)

// ExpanderNames lists the expanders in the order of reports: the built-in ones of the Cluster Autoscaler, and warmpool.
func ExpanderNames() []string {
	return []string{"random", "most-pods", "least-nodes", "least-waste", "price", "priority", "dollars-per-pod", "warmpool-unpriced", "warmpool"}
}

// NewExpander makes an expander for a set of node groups. Ties are left to the random choice that follows in the Cluster
// Autoscaler.
func NewExpander(name string, groups []sim.GroupSpec) (sim.Choose, error) {
	switch name {
	case "random":
		return always(func(r expander.Request) []string {
			ids := make([]string, len(r.Options))
			for i, o := range r.Options {
				ids[i] = o.GroupID
			}
			return ids
		}), nil
	case "most-pods":
		return always(builtin.MostPods), nil
	case "least-nodes":
		return always(builtin.LeastNodes), nil
	case "least-waste":
		return always(builtin.LeastWaste), nil
	case "price":
		pricing := pricingOf(groups)
		return func(r expander.Request, v expander.View, _ time.Time) []string {
			p := pricing
			for _, g := range v.Groups {
				p.ClusterNodes += max(g.Registered, 0)
			}
			return builtin.Price(r, p)
		}, nil
	case "priority":
		priorities := cheapestFirst(groups)
		return always(func(r expander.Request) []string { return builtin.Priority(r, priorities) }), nil
	case "dollars-per-pod":
		return dollarsPerPod(groups), nil
	case "warmpool-unpriced":
		return newWarmpoolExpander(groups, false), nil
	case "warmpool":
		return newWarmpoolExpander(groups, true), nil
	}
	return nil, fmt.Errorf("unknown expander %q: choose among %s", name, strings.Join(ExpanderNames(), ", "))
}

func always(f func(expander.Request) []string) sim.Choose {
	return func(r expander.Request, _ expander.View, _ time.Time) []string { return f(r) }
}

// The prices of pods by which the price rule measures what is bought: the published ones of the Google Cloud model, per
// core, GiB and GPU and hour.
const (
	corePrice = 0.033174
	gibPrice  = 0.004446
	cardPrice = 0.700
)

func pricingOf(groups []sim.GroupSpec) builtin.Pricing {
	prices := pricesOf(groups)
	return builtin.Pricing{
		Node: func(g expander.Group) (float64, bool) { p, ok := prices[g.ID]; return p, ok },
		Pod: func(r expander.Resources) float64 {
			return corePrice*float64(r.MilliCPU)/1000 + gibPrice*float64(r.Memory)/(1<<30) + cardPrice*float64(r.Extended[sim.GPU])
		},
		HasGPU: func(g expander.Group) bool { return g.Capacity.Extended[sim.GPU] > 0 },
	}
}

// cheapestFirst is the careful operator's list: the cheaper a node, the higher its group.
func cheapestFirst(groups []sim.GroupSpec) builtin.Priorities {
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b sim.GroupSpec) int { return cmp.Compare(b.HourlyCost, a.HourlyCost) })
	priorities := builtin.Priorities{}
	for i, g := range sorted {
		priorities[i+1] = []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(g.ID) + "$")}
	}
	return priorities
}

// dollarsPerPod is the simplest rule with prices: the nodes bought over the pods served.
func dollarsPerPod(groups []sim.GroupSpec) sim.Choose {
	prices := pricesOf(groups)
	return always(func(r expander.Request) []string {
		var kept []string
		least := math.Inf(1)
		for _, o := range r.Options {
			cost := float64(o.NodeCount) * prices[o.GroupID] / float64(len(o.Pods))
			if cost < least {
				kept, least = nil, cost
			}
			if cost == least {
				kept = append(kept, o.GroupID)
			}
		}
		return kept
	})
}

func pricesOf(groups []sim.GroupSpec) map[string]float64 {
	prices := map[string]float64{}
	for _, g := range groups {
		prices[g.ID] = g.HourlyCost
	}
	return prices
}

// spotFirst is the shipped advice for batch that cannot wait long: spot and CPU groups first; after one failed attempt or
// a minute what is not reclaimed, and everything only where that has no option.
func spotFirst(groups []sim.GroupSpec) []expander.Stage {
	first, second := expander.Stage{Escalate: expander.Escalation{Attempts: 1, FirstSeen: time.Minute}}, expander.Stage{}
	for _, g := range groups {
		if g.Spot || g.Capacity.Extended[sim.GPU] == 0 {
			first.Pools = append(first.Pools, g.ID)
		}
		if !g.Spot {
			second.Pools = append(second.Pools, g.ID)
		}
	}
	return []expander.Stage{first, second, {Any: true}}
}

// newWarmpoolExpander is warmpool's core with one workload for all pods and no wish for a pool: what is left is the choice
// by dollars, with prices from the same catalogue, or by idle GPUs where no price is known.
func newWarmpoolExpander(groups []sim.GroupSpec, priced bool) sim.Choose {
	policy := &expander.Policy{
		Mode: expander.Active, CPUPods: expander.CPUPodsAvoid, WhenAllRejected: expander.PassThroughAll, VetoSupported: true, MaxUnservedLoops: 3,
		Rank: []expander.Criterion{{Name: expander.DollarsPerDollarNeeded, Tolerance: 1e-9}, {Name: expander.CPUMemWaste, Tolerance: 1e-9}, {Name: expander.Size}},
		Hash: "replay",
	}
	all := expander.Workload{Name: "all", Stages: []expander.Stage{{Any: true}}}
	if slices.ContainsFunc(groups, func(g sim.GroupSpec) bool { return g.Spot }) {
		all.Stages = spotFirst(groups)
		policy.Failures = expander.FailureMemory{
			SingleGPU: time.Hour, MultiGPU: 3 * time.Hour, Factor: 2, Max: 6 * time.Hour, StickFor: 2 * time.Minute, Quota: 2 * time.Hour, Suspected: 10 * time.Minute,
		}
	}
	policy.Workloads = []expander.Workload{all}
	for _, g := range groups {
		cost := g.HourlyCost
		if !priced {
			cost = 0
		}
		policy.Pools = append(policy.Pools, expander.Pool{
			Name: g.ID, HourlyCost: cost, Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(g.ID) + "$")}},
		})
	}
	var history expander.History
	return func(r expander.Request, v expander.View, now time.Time) []string {
		d, next := expander.Select(policy, v, r, history, now)
		history = next
		return d.Answer
	}
}
