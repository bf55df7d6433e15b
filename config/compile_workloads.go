package config

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/expander"
)

func (c *compiler) workloads(entries []workloadFile) []expander.Workload {
	out := make([]expander.Workload, 0, len(entries))
	seen := map[string]int{}
	for i, w := range entries {
		path := at("expander.workloads", i)
		c.uniqueName(seen, "expander.workloads", w.Name, i)
		c.checkNamespaces(path+".match.namespaces", w.Match.Namespaces)
		c.checkNames(path+".match.priorityClasses", w.Match.PriorityClasses, "priority class")
		workload := expander.Workload{
			Name: w.Name,
			Match: expander.WorkloadMatch{
				PodLabels: w.Match.PodLabels, Namespaces: w.Match.Namespaces,
				PriorityClasses: w.Match.PriorityClasses, Tolerates: taintsOf(w.Match.Tolerates),
			},
			Stages:           c.stages(path+".stages", w.Stages),
			Rank:             c.rank(path+".rank", w.Rank),
			OnDemandBase:     expander.Base(w.OnDemandBase),
			EnforceGPUMemory: w.GPUMemory.Enforce,
			Sharing:          expander.Sharing(w.Sharing),
			ZoneCap:          c.zoneCaps(path+".zoneCap", w.ZoneCap),
			Worth:            c.worth(path+".worth", w.Worth),
			Priority:         w.Priority,
		}
		if w.FailureMemory != nil {
			memory := c.failureMemory(path+".failureMemory", c.inherit(path+".failureMemory", *w.FailureMemory))
			workload.Failures = &memory
		}
		out = append(out, workload)
	}
	c.unreachableWorkloads(entries)
	c.unusedPools(entries)
	return out
}

// inherit takes from the general failure memory what a workload's own does not give.
func (c *compiler) inherit(path string, own failureMemoryFile) failureMemoryFile {
	general := c.source.Expander.FailureMemory
	if own.Fixed {
		own.ProvisionTime = general.ProvisionTime
		own.StickFor, own.Quota, own.Suspected = general.StickFor, general.Quota, min(general.Suspected, own.SingleGPU)
		return own
	}
	target, from := reflect.ValueOf(&own).Elem(), reflect.ValueOf(general)
	for _, f := range orderedFields(target.Type()) {
		if !c.given(join(path, f.key)) {
			target.Field(f.index).Set(from.Field(f.index))
		}
	}
	return own
}

func (c *compiler) stages(path string, stages []stageFile) []expander.Stage {
	if len(stages) == 0 && !c.has(path) {
		c.errorf(path, "has no stage: the workload could grow nothing; list at least one, such as {pools: [NAME]} or {any: true}")
	}
	var out []expander.Stage
	used := map[string]int{}
	for i, s := range stages {
		stagePath := at(path, i)
		c.checkStage(stagePath, s)
		for j, name := range s.Pools {
			if first, ok := used[name]; ok {
				c.warnf("pool-listed-twice", at(stagePath+".pools", j), "pool %s is already in stage %d of this workload", name, first+1)
			} else {
				used[name] = i
			}
			c.checkPoolName(at(stagePath+".pools", j), name)
		}
		stage := expander.Stage{
			Pools: s.Pools, Labels: s.Labels, Any: s.Any,
			Escalate: expander.Escalation{Attempts: s.Escalate.Attempts, FirstSeen: time.Duration(s.Escalate.FirstSeen)},
		}
		for _, word := range s.CapacityType {
			stage.CapacityTypes = append(stage.CapacityTypes, capacityTypeOf(word))
		}
		if i == len(stages)-1 && stage.Escalate != (expander.Escalation{}) {
			c.warnf("escalate-of-last-stage", stagePath+".escalate", "there is no further stage to escalate to")
		}
		out = append(out, stage)
	}
	return out
}

func (c *compiler) checkStage(path string, s stageFile) {
	selectors := len(s.CapacityType) > 0 || len(s.Labels) > 0
	switch named := len(s.Pools) > 0; {
	case named && (selectors || s.Any):
		c.errorf(path, "names pools and selects groups; use pools, or capacityType, labels or any in their place")
	case s.Any && selectors:
		c.errorf(path, "any selects every group already; remove capacityType and labels, or any")
	case !named && !selectors && !s.Any && !c.has(path):
		c.errorf(path, "selects nothing; give pools, capacityType, labels or any: true")
	}
	for _, word := range s.CapacityType {
		c.checkWord(path+".capacityType", word, []string{"reserved", "on-demand", "spot"})
	}
}

func (c *compiler) checkWord(path, word string, allowed []string) {
	(&decoder{report: c.report}).checkEnum(word, allowed, path)
}

func (c *compiler) checkPoolName(path, name string) {
	var names []string
	for _, p := range c.source.Pools {
		if p.Name == name {
			return
		}
		if p.Name != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		c.errorf(path, "%sis no pool: the file defines none; add it to pools, or select by capacityType, labels or any", c.got(name))
		return
	}
	c.errorf(path, "%sis no pool%s; there are %s", c.got(name), suggest(name, names), strings.Join(names, ", "))
}

// unusedPools warns of exclusive pools that no workload may grow: then nobody may.
func (c *compiler) unusedPools(entries []workloadFile) {
	used := map[string]bool{}
	for _, w := range entries {
		for _, s := range w.Stages {
			if s.Any || len(s.CapacityType) > 0 || len(s.Labels) > 0 {
				return // which pools a selector reaches is known only with the groups
			}
			for _, name := range s.Pools {
				used[name] = true
			}
		}
	}
	for i, p := range c.source.Pools {
		if p.Exclusive && !used[p.Name] && p.Name != "" {
			c.warnf("pool-unused", at("pools", i), "pool %s is exclusive and in no stage: nothing ever grows it", p.Name)
		}
	}
}

// unreachableWorkloads warns of entries whose pods all belong to an earlier one.
func (c *compiler) unreachableWorkloads(entries []workloadFile) {
	for i := range entries {
		for j := range i {
			if covers(entries[j].Match, entries[i].Match) {
				c.warnf("workload-unreachable", at("expander.workloads", i), "every pod that matches %s already matches %s (expander.workloads[%d]); "+
					"put the narrower entry first", entries[i].Name, entries[j].Name, j)
				break
			}
		}
	}
}

// covers tells whether every pod that matches b certainly matches a.
func covers(a, b workloadMatchFile) bool {
	return labelsWithin(a.PodLabels, b.PodLabels) && anyOfWithin(a.Namespaces, b.Namespaces) &&
		anyOfWithin(a.PriorityClasses, b.PriorityClasses) && taintsWithin(a.Tolerates, b.Tolerates)
}

// labelsWithin tells whether b demands at least what a demands.
func labelsWithin(a, b map[string]string) bool {
	for key, value := range a {
		if got, ok := b[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// anyOfWithin tells whether a value that is one of b is certainly one of a; an empty list allows every value.
func anyOfWithin(a, b []string) bool {
	if len(a) == 0 {
		return true
	}
	return len(b) > 0 && !slices.ContainsFunc(b, func(s string) bool { return !slices.Contains(a, s) })
}

// taintsWithin tells whether each taint of a is demanded by b as well; an empty value or effect in a is any.
func taintsWithin(a, b []taintFile) bool {
	return !slices.ContainsFunc(a, func(x taintFile) bool {
		return !slices.ContainsFunc(b, func(y taintFile) bool {
			return x.Key == y.Key && (x.Value == "" || x.Value == y.Value) && (x.Effect == "" || x.Effect == y.Effect)
		})
	})
}

// overlappingPools reports pairs of which one holds every group of the other. Other overlaps depend on the groups; the
// expander sees them.
func (c *compiler) overlappingPools() {
	for i, later := range c.source.Pools {
		for j, earlier := range c.source.Pools[:i] {
			switch {
			case poolCovers(earlier.Match, later.Match):
				c.warnf("pool-unreachable", at("pools", i), "every group of %s already belongs to %s (pools[%d]); put the narrower pool first", later.Name, earlier.Name, j)
			case poolCovers(later.Match, earlier.Match):
				c.warnf("pools-overlap", at("pools", i), "the groups of %s (pools[%d]) also match %s; the first keeps them", earlier.Name, j, later.Name)
			}
		}
	}
}

func poolCovers(a, b poolMatchFile) bool {
	if len(a.Labels)+len(a.Taints)+len(a.NodeGroups) == 0 || len(b.Labels)+len(b.Taints)+len(b.NodeGroups) == 0 {
		return false // matches nothing, which is reported as an error
	}
	return labelsWithin(a.Labels, b.Labels) && taintsWithin(a.Taints, b.Taints) && patternsWithin(a.NodeGroups, b.NodeGroups)
}

func patternsWithin(a, b []pattern) bool {
	if len(a) == 0 || slices.Contains(a, ".*") {
		return true
	}
	return len(b) > 0 && !slices.ContainsFunc(b, func(p pattern) bool { return !slices.Contains(a, p) })
}
