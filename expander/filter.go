package expander

import (
	"slices"
	"time"
)

// filter drops options for a workload unless nothing would be left: then it is relaxed. Only isolation may leave
// nothing.
type filter struct {
	code string
	drop func(p *problem, workload, option int) bool
	// onlyIf, when set, tells whether the filter applies to these options at all.
	onlyIf func(p *problem, workload int, options []int) bool
}

// filters are the relaxable filters in the order in which they run.
var filters = []filter{
	{code: RejectedZoneCap, drop: (*problem).overZoneCap},
	{code: RejectedFailure, drop: (*problem).heldBack},
	{code: RejectedCPUPods, drop: (*problem).wastesAccelerator, onlyIf: (*problem).guardsCPUPods},
	{code: RejectedMixedPods, drop: (*problem).mixesCPUPods, onlyIf: (*problem).guardsCPUPods},
	{code: RejectedGPUMemory, drop: (*problem).tooSmallFor},
	{code: RejectedNoAccelerator, drop: (*problem).lacksAccelerator},
	{code: RejectedSharing, drop: (*problem).sharesOtherwise},
	{code: RejectedShape, drop: (*problem).lacksCards},
}

// survivors runs the filters over the options of a workload. It notes the code of what it drops, and returns what is
// left together with the codes of the filters that had to be relaxed.
func (p *problem) survivors(workload int, options []int, rejected map[int]string) (left []int, relaxed []string) {
	left = options
	for _, f := range filters {
		if f.onlyIf != nil && !f.onlyIf(p, workload, left) {
			continue
		}
		var kept, dropped []int
		for _, o := range left {
			if f.drop(p, workload, o) {
				dropped = append(dropped, o)
			} else {
				kept = append(kept, o)
			}
		}
		if len(kept) == 0 {
			if len(dropped) > 0 {
				relaxed = append(relaxed, f.code)
			}
			continue
		}
		for _, o := range dropped {
			rejected[o] = f.code
		}
		left = kept
	}
	if slices.Contains(relaxed, RejectedFailure) {
		left = p.oldestFailure(left, rejected)
	}
	return left, relaxed
}

// oldestFailure keeps the options whose group failed longest ago: all are held back, and the memory alone never
// stops growth.
func (p *problem) oldestFailure(options []int, rejected map[int]string) []int {
	if len(options) < 2 {
		return options
	}
	oldest := p.history.lastFailure(p.options[options[0]].GroupID)
	for _, o := range options[1:] {
		if at := p.history.lastFailure(p.options[o].GroupID); at.Before(oldest) {
			oldest = at
		}
	}
	var kept []int
	for _, o := range options {
		if p.history.lastFailure(p.options[o].GroupID).Equal(oldest) {
			kept = append(kept, o)
		} else {
			rejected[o] = RejectedFailure
		}
	}
	return kept
}

// overZoneCap counts the nodes of the workload's pools in the zone, those on the way included.
func (p *problem) overZoneCap(workload, option int) bool {
	zone := p.facts(option).zone
	limit, ok := p.policy.Workloads[workload].ZoneCap[zone]
	if !ok || zone == "" {
		return false
	}
	return p.zoneNodes(workload, zone)+p.options[option].NodeCount > limit
}

func (p *problem) zoneNodes(workload int, zone string) int {
	nodes := 0
	if p.view.PoolZoneNodes == nil {
		nodes = p.view.ZoneNodes[zone]
	}
	pools := map[string]bool{}
	for i := range p.groups {
		g := &p.groups[i]
		if stage, _ := p.policy.Workloads[workload].stageOf(g); stage == 0 || g.zone != zone {
			continue
		}
		if seen := viewOf(p.view, g.ID); seen.Registered >= 0 && seen.Target > seen.Registered {
			nodes += seen.Target - seen.Registered
		}
		if !pools[g.poolName] {
			pools[g.poolName] = true
			nodes += p.view.PoolZoneNodes[g.poolName][zone]
		}
	}
	return nodes
}

func (p *problem) heldBack(workload, option int) bool {
	_, blocked := p.history.block(p.facts(option), p.policy.memory(workload), p.now)
	return blocked
}

// guardsCPUPods tells whether CPU-only pods keep off accelerator groups while something else is left.
func (p *problem) guardsCPUPods(_ int, _ []int) bool {
	return p.policy.CPUPods == CPUPodsAvoid || p.policy.CPUPods == CPUPodsNever || p.policy.CPUPods == ""
}

func (p *problem) wastesAccelerator(_, option int) bool {
	return p.facts(option).hasAccelerator && !p.options[option].accelerated
}

// mixedGuard is how long pods that want an accelerator give way to CPU-only pods that share their option. Growing
// the CPU group first takes the CPU-only pods out of the next request; without a limit a steady stream of them would
// never let the others through.
const mixedGuard = time.Minute

// mixesCPUPods tells whether an option would put CPU-only pods on an accelerator group beside pods that need it.
func (p *problem) mixesCPUPods(_, option int) bool {
	o := &p.options[option]
	if !p.facts(option).hasAccelerator || !o.accelerated {
		return false
	}
	mixed := slices.ContainsFunc(o.counts, func(c shapeCount) bool { return !p.shapes[c.shape].wantsAccelerator() })
	if !mixed {
		return false
	}
	return !slices.ContainsFunc(o.pods, func(pod int) bool {
		return p.shapes[p.shapeOf[pod]].wantsAccelerator() && p.now.Sub(p.history.Pods[p.uid(pod)].FirstSeen) > mixedGuard
	})
}

func (p *problem) tooSmallFor(_, option int) bool {
	return p.anyShape(option, tooSmall)
}

func (p *problem) lacksAccelerator(_, option int) bool {
	return p.options[option].claims && !p.facts(option).hasAccelerator
}

// sharesOtherwise tells whether the GPUs of a group are known to be shared in another way than a pod wants.
func (p *problem) sharesOtherwise(_, option int) bool {
	return p.anyShape(option, func(s *shape, g *groupFacts) bool {
		if s.demand == DemandCPU || s.sharing == "" || s.sharing == SharingAny || g.sharing == "" {
			return false
		}
		return s.sharing != g.sharing
	})
}

// lacksCards tells whether a pod asks for more GPUs than a node has cards: replicas of one card are not several
// cards.
func (p *problem) lacksCards(_, option int) bool {
	return p.anyShape(option, func(s *shape, g *groupFacts) bool {
		return s.gpus > 1 && g.cards > 0 && s.gpus > g.cards && s.wantsCards()
	})
}

// wantsCards tells whether every accelerator that a pod asks for is a whole or time-sliced GPU; slices are smaller
// than cards, so their number says nothing about cards.
func (s *shape) wantsCards() bool {
	for _, a := range s.accelerators {
		if a.resource != wholeNvidia && a.resource != wholeNvidia+sharedSuffix {
			return false
		}
	}
	return len(s.accelerators) > 0 || s.claimed > 0
}

func (p *problem) anyShape(option int, holds func(*shape, *groupFacts) bool) bool {
	g := p.facts(option)
	return slices.ContainsFunc(p.options[option].counts, func(c shapeCount) bool { return holds(&p.shapes[c.shape], g) })
}
