package expander

import "strings"

// capacityLabel is what the values of one label say about how nodes are paid for; values are in lower case.
type capacityLabel struct {
	key    string
	values map[string]CapacityType
}

// capacityLabels are the clouds' labels (Cluster Autoscaler contract, capacity type). An absent label says nothing.
var capacityLabels = []capacityLabel{
	{"eks.amazonaws.com/capacityType", map[string]CapacityType{"spot": Spot, "on_demand": OnDemand, "capacity_block": Reserved}},
	{"karpenter.sh/capacity-type", map[string]CapacityType{"spot": Spot, "on-demand": OnDemand, "reserved": Reserved}},
	{"cloud.google.com/gke-spot", map[string]CapacityType{"true": Spot}},
	{"cloud.google.com/gke-preemptible", map[string]CapacityType{"true": Spot}},
	{"cloud.google.com/gke-provisioning", map[string]CapacityType{"spot": Spot, "preemptible": Spot, "standard": OnDemand}},
	{"cloud.google.com/gke-flex-start", map[string]CapacityType{"true": Reserved}},
	{"kubernetes.azure.com/scalesetpriority", map[string]CapacityType{"spot": Spot}},
	{"lifecycle", map[string]CapacityType{"ec2spot": Spot, "spot": Spot, "ondemand": OnDemand}},
	{"node.kubernetes.io/lifecycle", map[string]CapacityType{"spot": Spot, "normal": OnDemand, "on-demand": OnDemand}},
}

// spotWorkerLabel marks spot nodes by being there.
const spotWorkerLabel = "node-role.kubernetes.io/spot-worker"

// capacityFromLabels reads the clouds' labels without regard to case.
func capacityFromLabels(labels map[string]string) CapacityType {
	for _, known := range capacityLabels {
		value, ok := labels[known.key]
		if !ok {
			continue
		}
		if capacity, ok := known.values[strings.ToLower(value)]; ok {
			return capacity
		}
	}
	if _, ok := labels[spotWorkerLabel]; ok {
		return Spot
	}
	return CapacityUnknown
}

// capacityType is how the nodes of a group are paid for: the pool's word, then the labels, then the user's rules on
// the id, then what is assumed where nothing speaks.
func (p *Policy) capacityType(g *Group, pool *Pool) CapacityType {
	if pool != nil && pool.CapacityType != CapacityUnknown {
		return pool.CapacityType
	}
	if capacity := capacityFromLabels(g.Labels); capacity != CapacityUnknown {
		return capacity
	}
	for _, rule := range p.Classify {
		if rule.ID != nil && rule.ID.MatchString(g.ID) {
			return rule.CapacityType
		}
	}
	return p.UnknownIs
}
