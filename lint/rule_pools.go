package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
)

func (s *scan) acceleratorLabelMissing() {
	const reason = "a node counts as ready before its GPUs are advertised, and a second one is bought for the same pods"
	for _, p := range s.gpuPools() {
		if label := acceleratorLabels[p.provider]; p.labels[label] == "" {
			s.report(p.Object, fmt.Sprintf("pool %s has GPUs and no label %s: %s", p.name, label, reason), "label its nodes "+label+"=MODEL")
		}
	}
	for _, o := range s.nodes {
		node, ok := decode[corev1.Node](o.Fields)
		if !ok {
			continue
		}
		group := expander.Group{ID: o.Name, Labels: node.Labels, Capacity: expander.Resources{Extended: map[string]int64{}}}
		for name, quantity := range node.Status.Capacity {
			if isAccelerator(string(name)) {
				group.Capacity.Extended[string(name)] = quantity.Value()
			}
		}
		request := expander.Request{Groups: []expander.Group{group}}
		for _, code := range expander.Lint(&expander.Policy{}, request, expander.LintOptions{}) {
			if strings.HasPrefix(code, expander.LintMissingLabel) {
				s.report(o, "it has GPUs and none of the providers' accelerator labels: "+reason, "label it, and the pool it comes from")
			}
		}
	}
}

func (s *scan) templateIncomplete() {
	for _, p := range s.pools {
		if p.smallest == 0 && p.hasGPU() && len(p.missing) > 0 {
			slices.Sort(p.missing)
			s.report(p.Object, fmt.Sprintf("pool %s may be at zero nodes, and its template lacks %s: no GPU pod ever fits it", p.name, strings.Join(p.missing, ", ")),
				"add them to the group")
		}
	}
}

func (s *scan) spotPoolMin() {
	for _, p := range s.pools {
		if p.spot && p.smallest > 0 {
			s.report(p.Object, fmt.Sprintf("spot pool %s has a minimum of %d: whenever there is no stock the autoscaler tries in vain, and idle spot nodes are kept", p.name, p.smallest),
				"set the minimum to 0; keep the base on demand")
		}
	}
}

func (s *scan) inferencePoolMinZero() {
	for _, p := range s.gpuPools() {
		if !p.spot && p.smallest == 0 && p.tier() == "inference" {
			s.report(p.Object, fmt.Sprintf("inference pool %s may go to zero nodes: the first replica then waits for a machine to boot", p.name),
				"set the minimum to the nodes that the smallest replica counts need")
		}
	}
}

func (s *scan) priceUnknown() {
	s.each("Config", func(o *Object) {
		if !strings.HasPrefix(o.APIVersion, "warmpool.dev/") {
			return
		}
		file, _, _ := strings.Cut(o.Source, ":")
		compiled, err := config.Parse(file, o.raw)
		if err != nil || compiled.Expander == nil {
			return // warmpool check-config says what is wrong
		}
		for i := range compiled.Expander.Pools {
			p := &compiled.Expander.Pools[i]
			if p.Class == "cpu" || p.HourlyCost > 0 || s.priced(p, compiled.Expander.InstanceTypes) {
				continue
			}
			s.report(o, fmt.Sprintf("pool %s has no price: where it competes, groups are chosen by waste alone, without any saving", p.Name),
				"set its hourlyCost, or a catalogue file with the price of its instance types")
		}
	})
}

// priced tells whether the catalogue may know what a pool costs: the instance types of its groups have a price, or, where
// no group of it is known here, any type has one.
func (s *Set) priced(p *expander.Pool, types map[string]expander.InstanceType) bool {
	has := func(t expander.InstanceType) bool {
		return t.HourlyCost > 0 && p.CapacityType != expander.Spot || t.SpotHourlyCost > 0 && p.CapacityType == expander.Spot
	}
	known := false
	for _, group := range s.pools {
		if len(p.Match.Labels) == 0 || len(group.instanceTypes) == 0 || !containsAll(group.labels, p.Match.Labels) {
			continue
		}
		known = true
		for _, name := range group.instanceTypes {
			if !has(types[name]) {
				return false
			}
		}
	}
	if known {
		return true
	}
	for _, t := range types {
		if has(t) {
			return true
		}
	}
	return false
}

func containsAll(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}
