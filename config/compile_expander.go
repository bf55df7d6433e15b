package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/warmpool/warmpool/expander"
)

func (c *compiler) compileExpander(compiled *Config, types map[string]expander.InstanceType) {
	f := c.source
	vetoSupported := c.vetoSupported()
	pools := c.pools()
	classify := make([]expander.ClassifyRule, 0, len(f.Classify))
	for _, rule := range f.Classify {
		classify = append(classify, expander.ClassifyRule{ID: compiledPattern(rule.IDPattern), CapacityType: capacityTypeOf(rule.CapacityType)})
	}
	accelerators := c.accelerators()
	if f.Expander == nil {
		compiled.LargeRequests = defaultLargeRequests()
		return
	}
	e := f.Expander
	compiled.LargeRequests = c.largeRequests(e.LargeRequests)
	failures := c.failureMemory("expander.failureMemory", e.FailureMemory)
	compiled.Expander = &expander.Policy{
		Mode:               expander.Mode(e.Mode),
		CPUPods:            expander.CPUPodRule(e.CPUPodsOnGPUGroups),
		WhenAllRejected:    expander.AllRejectedRule(e.WhenAllRejected),
		VetoSupported:      vetoSupported,
		Frozen:             f.Freeze.Expander,
		MaxUnservedLoops:   e.MaxUnservedLoops,
		TrustTemplateCache: e.TrustTemplateCache,
		Rank:               c.rank("expander.rank", e.Rank),
		Failures:           failures,
		GPUMemoryKeys:      expander.GPUMemoryKeys(f.Accelerators.MemoryKeys),
		Pools:              pools,
		Workloads:          c.workloads(e.Workloads),
		Accelerators:       accelerators,
		UnknownIs:          capacityTypeOf(f.UnknownCapacityTypeIs),
		Classify:           classify,
		InstanceTypes:      types,

		SharingByPriorityClass: c.sharingByClass(e.SharingByPriorityClass),

		Hash: compiled.Hash,
	}
	if e.WhenAllRejected == "Veto" && !vetoSupported && !c.has("caVersion") {
		c.warnf("isolation-not-enforceable", "expander.whenAllRejected", "the Cluster Autoscaler takes an empty answer for a veto only from 1.32 on, "+
			"and caVersion is %s: requests that isolation rejects are passed through", orNotGiven(f.CAVersion))
	}
}

func orNotGiven(text string) string {
	if text == "" {
		return "not given"
	}
	return text
}

func defaultLargeRequests() LargeRequests {
	return LargeRequests{From: 64 << 20, Limit: 384 << 20, InFlight: 1}
}

func (c *compiler) largeRequests(l largeRequestsFile) LargeRequests {
	if l.From > l.Limit {
		c.errorf("expander.largeRequests.from", "must not be above limit (%d > %d bytes)", l.From, l.Limit)
	}
	return LargeRequests{From: int64(l.From), Limit: int64(l.Limit), InFlight: l.InFlight}
}

func (c *compiler) accelerators() expander.Accelerators {
	a := c.source.Accelerators
	c.checkNames("accelerators.extraResources", a.ExtraResources, "resource name")
	for _, x := range []struct{ key, value string }{
		{"podTotal", a.MemoryKeys.PodTotal}, {"podPerGPU", a.MemoryKeys.PodPerGPU}, {"nodeTotal", a.MemoryKeys.NodeTotal},
	} {
		if x.value == "" {
			c.errorf("accelerators.memoryKeys."+x.key, "must not be empty; remove the key for its default")
		}
	}
	return expander.Accelerators{ExtraResources: a.ExtraResources, Worth: c.worth("accelerators.worth", a.Worth)}
}

func (c *compiler) worth(path string, models map[string]float64) map[string]float64 {
	for _, model := range slices.Sorted(maps.Keys(models)) {
		if worth := models[model]; worth <= 0 || worth > 1000 {
			c.errorf(join(path, model), "must be above 0 and at most 1000: the speed relative to 1.0")
		}
	}
	return models
}

func compiledPattern(p pattern) *regexp.Regexp {
	re, err := regexp.Compile(string(p))
	if err != nil || p == "" {
		return neverMatches // reported where it was decoded
	}
	return re
}

var neverMatches = regexp.MustCompile(`\b\B`)

func (c *compiler) pools() []expander.Pool {
	pools := make([]expander.Pool, 0, len(c.source.Pools))
	seen := map[string]int{}
	for i, p := range c.source.Pools {
		path := at("pools", i)
		c.uniqueName(seen, "pools", p.Name, i)
		if m := p.Match; len(m.Labels) == 0 && len(m.Taints) == 0 && len(m.NodeGroups) == 0 && !c.has(path+".match") {
			c.errorf(path+".match", "matches nothing; give labels, taints or nodeGroups (nodeGroups: [\".*\"] is every group)")
		}
		pools = append(pools, expander.Pool{
			Name: p.Name, Class: p.Class, CapacityType: capacityTypeOf(p.CapacityType), Exclusive: p.Exclusive,
			Match: expander.PoolMatch{Labels: p.Match.Labels, Taints: taintsOf(p.Match.Taints), NodeGroups: patternsOf(p.Match.NodeGroups)},
			// No price and a price of nothing are one: unknown.
			HourlyCost: valueOr(p.HourlyCost, 0), QuotaGroup: p.QuotaGroup,
		})
	}
	c.overlappingPools()
	return pools
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func (c *compiler) uniqueName(seen map[string]int, list, name string, i int) {
	if name == "" {
		if !c.has(at(list, i) + ".name") {
			c.errorf(at(list, i)+".name", "must not be empty")
		}
		return
	}
	if first, ok := seen[name]; ok {
		c.errorf(at(list, i)+".name", "%q is already the name of %s[%d]; names must differ", name, list, first)
		return
	}
	seen[name] = i
}

func taintsOf(taints []taintFile) []expander.Taint {
	var out []expander.Taint
	for _, t := range taints {
		out = append(out, expander.Taint(t))
	}
	return out
}

func patternsOf(patterns []pattern) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns {
		out = append(out, compiledPattern(p))
	}
	return out
}

func (c *compiler) failureMemory(path string, f failureMemoryFile) expander.FailureMemory {
	wrong := c.has(path+".max") || c.has(path+".singleGPU") || c.has(path+".multiGPU")
	if f.Max < max(f.SingleGPU, f.MultiGPU) && !wrong {
		c.errorf(path+".max", "must be at least singleGPU and multiGPU (%s)", shortDuration(time.Duration(max(f.SingleGPU, f.MultiGPU))))
	}
	return expander.FailureMemory{
		SingleGPU: time.Duration(f.SingleGPU), MultiGPU: time.Duration(f.MultiGPU), Factor: f.Factor, Max: time.Duration(f.Max),
		StickFor: time.Duration(f.StickFor), Quota: time.Duration(f.Quota), Suspected: time.Duration(f.Suspected),
		ProvisionTime: time.Duration(f.ProvisionTime),
	}
}

func (c *compiler) sharingByClass(entries map[string]string) map[string]expander.Sharing {
	const path = "expander.sharingByPriorityClass"
	out := make(map[string]expander.Sharing, len(entries))
	for _, class := range slices.Sorted(maps.Keys(entries)) {
		if class == "" {
			c.errorf(path, "has an entry without a name; write a priority class")
		}
		c.checkWord(join(path, class), entries[class], []string{"exclusive", "time-slicing", "mps", "any"})
		out[class] = expander.Sharing(entries[class])
	}
	return out
}

func (c *compiler) rank(path string, criteria []criterionFile) []expander.Criterion {
	var out []expander.Criterion
	seen := map[string]int{}
	for i, criterion := range criteria {
		if first, ok := seen[criterion.Name]; ok && criterion.Name != "" {
			c.errorf(at(path, i), "%s is already criterion %d of the rank; the second has no effect, remove one", criterion.Name, first+1)
		}
		seen[criterion.Name] = i
		out = append(out, expander.Criterion{Name: expander.CriterionName(criterion.Name), Tolerance: criterion.Tolerance})
	}
	if criteria != nil && len(criteria) == 0 {
		c.errorf(path, "must name at least one criterion; remove the key for the default")
	}
	return out
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) { return maps.Keys(m) }

func (c *compiler) zoneCaps(path string, caps map[string]int) map[string]int {
	for _, zone := range slices.Sorted(maps.Keys(caps)) {
		if n := caps[zone]; n < 0 {
			c.errorf(join(path, zone), "%s must be 0 or more nodes", strconv.Itoa(n))
		}
	}
	return caps
}
