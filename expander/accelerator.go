package expander

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// vendorAccelerators are the resource names of accelerators (Cluster Autoscaler contract, resources that are
// accelerators). Profiles of MIG slices are matched by prefix, shared names by suffix.
var vendorAccelerators = map[string]bool{
	"nvidia.com/gpu":              true,
	"amd.com/gpu":                 true,
	"gpu.intel.com/xe":            true,
	"gpu.intel.com/i915":          true,
	"habana.ai/gaudi":             true,
	"microsoft.com/directx":       true,
	"k8s.amazonaws.com/vgpu":      true,
	"aws.amazon.com/neuron":       true,
	"aws.amazon.com/neuroncore":   true,
	"aws.amazon.com/neurondevice": true,
	"google.com/tpu":              true,
}

const (
	migPrefix    = "nvidia.com/mig-"
	sharedSuffix = ".shared"
	wholeNvidia  = "nvidia.com/gpu"
)

// isAccelerator tells whether a resource name counts as an accelerator.
func (a Accelerators) isAccelerator(resource string) bool {
	if vendorAccelerators[strings.TrimSuffix(resource, sharedSuffix)] || strings.HasPrefix(resource, migPrefix) {
		return true
	}
	return slices.Contains(a.ExtraResources, resource)
}

// amount is a positive quantity of one accelerator resource.
type amount struct {
	resource string
	units    int64
}

// amounts lists the accelerators in a set of resources, sorted by name. A quantity of 0 is no accelerator: templates
// from zero of some providers carry one on CPU machines.
func (a Accelerators) amounts(extended map[string]int64) []amount {
	var found []amount
	for name, units := range extended { // few of many resources are: sorting those is enough
		if units > 0 && a.isAccelerator(name) {
			found = append(found, amount{name, units})
		}
	}
	slices.SortFunc(found, func(x, y amount) int { return strings.Compare(x.resource, y.resource) })
	return found
}

// acceleratorLabels are the labels by which providers mark accelerator groups, by provider (Cluster Autoscaler
// contract, accelerator label of the provider).
var acceleratorLabels = []struct{ provider, key string }{
	{"aws", "k8s.amazonaws.com/accelerator"},
	{"gce", "cloud.google.com/gke-accelerator"},
	{"azure", "kubernetes.azure.com/accelerator"},
	{"azure", "accelerator"},
	{"alicloud", "aliyun.accelerator/nvidia_name"},
	{"tencentcloud", "cloud.tencent.com/tke-accelerator"},
	{"baiducloud", "baidu/nvidia_name"},
	{"clusterapi", "cluster-api/accelerator"},
	{"cloudstack", "accelerator"},
	{"digitalocean", "cloud.digitalocean.com/gpu-node"},
	{"ovhcloud", "node.kubernetes.ovhcloud.com/gpu"},
	{"scaleway", "k8s.scw.cloud/gpu"},
	{"hetzner", "hcloud/gpu-node"},
	{"magnum", "magnum.openstack.org/gpu"},
	{"civo", "civo.com/gpu-node"},
	{"brightbox", "cloud.brightbox.com/gpu-node"},
	{"bizflycloud", "bke.bizflycloud.vn/gpu-node"},
	{"cherryservers", "cherryservers.com/gpu"},
}

// gceLabelProviders use the label of GCE.
var gceLabelProviders = []string{"gke", "equinixmetal", "huaweicloud", "kubemark"}

// claimLabels mark groups whose accelerators are handed out by dynamic resource allocation.
var claimLabels = []string{"cloud.google.com/gke-gpu-dra-driver", "cloud.google.com/gke-nvidia-gpu-dra-driver"}

// acceleratorLabel returns the value of the accelerator label of a provider, of any provider if none is named.
func acceleratorLabel(labels map[string]string, provider string) (string, bool) {
	if slices.Contains(gceLabelProviders, provider) {
		provider = "gce"
	}
	for _, known := range acceleratorLabels {
		if provider != "" && provider != known.provider {
			continue
		}
		if value, ok := labels[known.key]; ok && !isNo(value) {
			return value, true
		}
	}
	return "", false
}

func hasClaimLabel(labels map[string]string) bool {
	return slices.ContainsFunc(claimLabels, func(key string) bool { return isYes(labels[key]) })
}

func isYes(value string) bool { return strings.EqualFold(value, "true") }

func isNo(value string) bool {
	return value == "" || strings.EqualFold(value, "false") || strings.EqualFold(value, "none")
}

// replicas is by how much sharing multiplies the advertised number of GPUs.
func replicas(labels map[string]string) int64 {
	for _, key := range []string{"nvidia.com/gpu.replicas", "cloud.google.com/gke-max-shared-clients-per-gpu"} {
		if n := labelNumber(labels, key); n > 1 {
			return n
		}
	}
	return 1
}

// physicalGPUs is the number of cards of a node: advertised GPUs over their replicas; with MIG slices, which do not
// add up to cards, what feature discovery counted; 0 is unknown.
func physicalGPUs(accelerators []amount, labels map[string]string) int64 {
	var cards int64
	for _, a := range accelerators {
		name := strings.TrimSuffix(a.resource, sharedSuffix)
		switch {
		case strings.HasPrefix(name, migPrefix):
		case name == wholeNvidia:
			cards = plus(cards, 1+(a.units-1)/replicas(labels))
		default:
			// Some vendors advertise one device under several names (device and its cores): the smallest is the card.
			if cards == 0 || a.units < cards {
				cards = a.units
			}
		}
	}
	if cards == 0 {
		return labelNumber(labels, "nvidia.com/gpu.count")
	}
	return cards
}

// labelNumber reads a label as a non-negative number; 0 if it is absent or not a number.
func labelNumber(labels map[string]string, key string) int64 {
	n, err := strconv.ParseInt(labels[key], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// gpuModel is the name of the GPU as the most specific source gives it.
func gpuModel(labels map[string]string, catalogue InstanceType) string {
	if product := labels["nvidia.com/gpu.product"]; product != "" {
		return product
	}
	if value, ok := acceleratorLabel(labels, ""); ok && !isYes(value) && value != "nvidia" {
		return value
	}
	return catalogue.GPUModel
}

// modelNames are the spellings under which a GPU model may be configured, the most specific first:
// NVIDIA-A100-SXM4-80GB is also a100-sxm4-80gb and a100.
func modelNames(model string) []string {
	name := strings.ToLower(strings.NewReplacer(" ", "-", "_", "-").Replace(model))
	if name == "" {
		return nil
	}
	names := []string{name}
	for _, vendor := range []string{"nvidia-", "amd-", "tesla-"} {
		name = strings.TrimPrefix(name, vendor)
	}
	short, _, _ := strings.Cut(name, "-")
	return append(names, name, short)
}

// worthOf is the configured speed of a GPU model, 1 if there is none.
func worthOf(worth map[string]float64, model string) float64 {
	if len(worth) == 0 {
		return 1
	}
	for _, name := range modelNames(model) {
		for _, key := range slices.Sorted(maps.Keys(worth)) {
			if slices.Contains(modelNames(key)[:2], name) && worth[key] > 0 {
				return worth[key]
			}
		}
	}
	return 1
}
