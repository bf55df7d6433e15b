package expander

import (
	"maps"
	"math"
	"slices"
)

// The tolerances of the Cluster Autoscaler's comparison of node groups at its default flags.
const (
	similarMemory      = 0.015
	similarAllocatable = 0.05
)

// ignoredLabels do not count when the Cluster Autoscaler compares groups (Cluster Autoscaler contract, after the
// choice).
var ignoredLabels = []string{
	"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
	"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	"beta.kubernetes.io/fluentd-ds-ready", "kops.k8s.io/instancegroup",
}

var ignoredByProvider = map[string][]string{
	"aws": {
		"alpha.eksctl.io/instance-id", "alpha.eksctl.io/nodegroup-name", "eks.amazonaws.com/nodegroup",
		"k8s.amazonaws.com/eniConfig", "lifecycle", "topology.ebs.csi.aws.com/zone", "topology.k8s.aws/zone-id",
	},
	"azure": {
		"agentpool", "kubernetes.azure.com/agentpool", "topology.disk.csi.azure.com/zone", "aksEngineVersion",
		"creationSource", "poolName", "resourceNameSuffix", "kubernetes.azure.com/node-image-version",
		"kubernetes.azure.com/consolidated-additional-properties",
	},
	"gce": {"topology.gke.io/zone"},
}

// SimilarGroups lists the groups that the Cluster Autoscaler balances with a group when it runs with
// --balance-similar-node-groups, in the order of the request. New nodes may land in any of them. The provider is
// the value of its --cloud-provider flag.
func SimilarGroups(groups []Group, id, provider string) []string {
	at := slices.IndexFunc(groups, func(g Group) bool { return g.ID == id })
	if at < 0 {
		return nil
	}
	var similar []string
	for i := range groups {
		if i != at && areSimilar(&groups[at], &groups[i], provider) {
			similar = append(similar, groups[i].ID)
		}
	}
	return similar
}

func areSimilar(a, b *Group, provider string) bool {
	if provider == "azure" {
		for _, key := range []string{"kubernetes.azure.com/agentpool", "agentpool"} {
			if a.Labels[key] != "" && a.Labels[key] == b.Labels[key] {
				return true
			}
		}
	}
	return sameCapacity(a.Capacity, b.Capacity) && closeAllocatable(a.Allocatable, b.Allocatable) &&
		maps.Equal(comparedLabels(a.Labels, provider), comparedLabels(b.Labels, provider))
}

func comparedLabels(labels map[string]string, provider string) map[string]string {
	compared := maps.Clone(labels)
	maps.DeleteFunc(compared, func(key, _ string) bool {
		return slices.Contains(ignoredLabels, key) || slices.Contains(ignoredByProvider[provider], key)
	})
	return compared
}

// sameCapacity wants equal capacity, with a little room for memory: templates of real nodes report slightly less.
func sameCapacity(a, b Resources) bool {
	return a.MilliCPU == b.MilliCPU && within(a.Memory, b.Memory, similarMemory) && maps.Equal(a.Extended, b.Extended)
}

func closeAllocatable(a, b Resources) bool {
	if !within(a.MilliCPU, b.MilliCPU, similarAllocatable) || !within(a.Memory, b.Memory, similarAllocatable) || len(a.Extended) != len(b.Extended) {
		return false
	}
	for name, units := range a.Extended {
		if other, ok := b.Extended[name]; !ok || !within(units, other, similarAllocatable) {
			return false
		}
	}
	return true
}

// within tells whether two amounts differ by at most a share of the larger one.
func within(a, b int64, tolerance float64) bool {
	return math.Abs(float64(a)-float64(b)) <= tolerance*float64(max(a, b))
}
