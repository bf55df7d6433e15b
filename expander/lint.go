package expander

import (
	"slices"
	"strings"
	"time"
)

// Codes of lints; each goes on with a group id, or two of them, after a colon.
const (
	LintMissingLabel     = "missing-accelerator-label"
	LintLabelWithoutGPU  = "accelerator-label-without-resource"
	LintTemplateNoGPU    = "template-without-accelerator"
	LintMixedByBalancing = "balancing-mixes-capacity-types"
)

// LintOptions say what the request does not tell about the Cluster Autoscaler.
type LintOptions struct {
	// Provider is the value of --cloud-provider; empty accepts the accelerator label of any provider.
	Provider string
	// BalanceSimilarGroups is the value of --balance-similar-node-groups.
	BalanceSimilarGroups bool
}

// Lint finds traps in the node templates of a request: groups whose accelerators the Cluster Autoscaler cannot
// recognise, and groups that it would balance although they are paid for differently. It returns sorted codes.
func Lint(policy *Policy, req Request, options LintOptions) []string {
	history := History{}.clone()
	p := newProblem(policy, View{}, req, &history, time.Time{})
	var found []string
	for i := range p.groups {
		if code := p.lintGroup(i, options); code != "" {
			found = append(found, code+":"+p.groups[i].ID)
		}
	}
	if options.BalanceSimilarGroups {
		found = append(found, p.mixedByBalancing(options.Provider)...)
	}
	slices.SortFunc(found, strings.Compare)
	return slices.Compact(found)
}

func (p *problem) lintGroup(i int, options LintOptions) string {
	g := &p.groups[i]
	_, labelled := acceleratorLabel(g.Labels, options.Provider)
	offered := len(p.policy.Accelerators.amounts(g.Capacity.Extended)) > 0 || len(g.accelerators) > 0
	switch {
	case offered && !labelled:
		return LintMissingLabel
	case offered || g.claims:
		return ""
	case labelled && p.acceleratorPodsPending() && !p.hasOption(g.ID):
		return LintLabelWithoutGPU
	case !labelled && p.typeHasAccelerator(g):
		return LintTemplateNoGPU
	default:
		return ""
	}
}

func (p *problem) acceleratorPodsPending() bool {
	return slices.ContainsFunc(p.shapes, func(s shape) bool { return s.demand != DemandCPU })
}

func (p *problem) hasOption(id string) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return o.GroupID == id })
}

// typeHasAccelerator tells whether the catalogue or another group knows accelerators of the same instance type.
func (p *problem) typeHasAccelerator(g *groupFacts) bool {
	instanceType := g.Labels[instanceTypeLabel]
	if instanceType == "" {
		return false
	}
	if p.policy.InstanceTypes[instanceType].GPUs > 0 {
		return true
	}
	return slices.ContainsFunc(p.groups, func(other groupFacts) bool {
		return other.Labels[instanceTypeLabel] == instanceType && len(other.accelerators) > 0
	})
}

// mixedByBalancing names pairs of similar groups with different capacity types, of which the first can grow now.
func (p *problem) mixedByBalancing(provider string) []string {
	var found []string
	for i := range p.groups {
		g := &p.groups[i]
		if !p.hasOption(g.ID) || g.capacity == CapacityUnknown {
			continue
		}
		for _, id := range SimilarGroups(p.req.Groups, g.ID, provider) {
			other := &p.groups[p.groupIndex[id]]
			if other.capacity == CapacityUnknown || other.capacity == g.capacity || (p.hasOption(id) && id < g.ID) {
				continue
			}
			found = append(found, LintMixedByBalancing+":"+g.ID+","+id)
		}
	}
	return found
}
