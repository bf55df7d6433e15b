package expander

import (
	"encoding/binary"
	"maps"
	"slices"
)

const (
	modelKey   = "model.ai/name"
	sharingKey = "gpu.ai/sharing"
	// modelCachePrefix starts the node label of a cached model, whose value is modelCached.
	modelCachePrefix = "model-cache.ai/"
	modelCached      = "cached"
)

// Demand is what a pod asks for in accelerators.
type Demand string

// The demands: none, a counted amount, or resource claims of unknown amount.
const (
	DemandCPU          Demand = "cpu"
	DemandAccelerator  Demand = "accelerator"
	DemandUnknownCount Demand = "accelerator-unknown-count"
)

// DemandOf classifies a pod by its accelerators. A resource claim is accelerator demand, of unknown amount unless the
// claim is known.
func DemandOf(policy *Policy, pod *Pod) Demand {
	return demandOf(len(policy.Accelerators.amounts(pod.Requests.Extended)) > 0, pod.claimedGPUs(), pod.Claims)
}

func demandOf(accelerators bool, claimed int64, claims int) Demand {
	switch {
	case accelerators || claimed > 0:
		return DemandAccelerator
	case claims > 0:
		return DemandUnknownCount
	default:
		return DemandCPU
	}
}

// shape is a class of pods that no rule can tell apart, so that everything is computed once for all of them.
type shape struct {
	*Pod
	workload     int // index, or unmatched
	demand       Demand
	accelerators []amount
	gpus         int64
	// claimed is how many of the GPUs are claimed as devices.
	claimed int64
	// memoryPerGPU is the GPU memory the pod needs per card, in bytes; 0 is unknown.
	memoryPerGPU int64
	model        string
	sharing      Sharing
	// ownSelector is set for CPU-only pods whose own selector admits accelerator groups only.
	ownSelector bool
	// needed is the least that the pod can cost per hour; negative until it is computed.
	needed float64
}

// wantsAccelerator tells whether a node with an accelerator is what the pod is about.
func (s *shape) wantsAccelerator() bool { return s.demand != DemandCPU || s.ownSelector }

func (p *Policy) newShape(pod *Pod, workload int) shape {
	s := shape{Pod: pod, workload: workload, needed: -1}
	s.accelerators = p.Accelerators.amounts(pod.Requests.Extended)
	s.claimed = pod.claimedGPUs()
	s.demand = demandOf(len(s.accelerators) > 0, s.claimed, pod.Claims)
	s.gpus = s.claimed
	for _, a := range s.accelerators {
		s.gpus = plus(s.gpus, a.units)
	}
	s.memoryPerGPU = p.memoryNeed(pod, s.gpus)
	s.model = annotated(pod, modelKey)
	s.sharing = p.sharingWanted(pod, workload)
	return s
}

// claimedGPUs is the number of GPUs in known claims.
func (p *Pod) claimedGPUs() int64 {
	var sum int64
	for _, n := range p.Devices {
		sum = plus(sum, max(0, n))
	}
	return sum
}

// memoryNeed is the GPU memory per card that a pod asks for: the value per GPU, else the total over its GPUs.
func (p *Policy) memoryNeed(pod *Pod, gpus int64) int64 {
	keys := p.memoryKeys()
	if text := annotated(pod, keys.PodPerGPU); text != "" {
		if need, err := ParseQuantity(text); err == nil && need > 0 {
			return need
		}
	}
	text := annotated(pod, keys.PodTotal)
	if text == "" || gpus <= 0 {
		return 0
	}
	total, err := ParseQuantity(text)
	if err != nil || total <= 0 {
		return 0
	}
	return 1 + (total-1)/gpus
}

// sharingWanted is the sharing mode of a pod: its own key, its priority class, its workload.
func (p *Policy) sharingWanted(pod *Pod, workload int) Sharing {
	if own := Sharing(annotated(pod, sharingKey)); own != "" {
		return own
	}
	if byClass, ok := p.SharingByPriorityClass[pod.PriorityClass]; ok {
		return byClass
	}
	if workload == unmatched {
		return ""
	}
	return p.Workloads[workload].Sharing
}

// annotated reads a key from the annotations, else from the labels.
func annotated(pod *Pod, key string) string {
	if value, ok := pod.Annotations[key]; ok {
		return value
	}
	return pod.Labels[key]
}

// appendShapeKey writes everything of a pod that a rule can look at.
func appendShapeKey(key []byte, keys GPUMemoryKeys, pod *Pod, workload int) []byte {
	key = binary.AppendVarint(key, int64(workload))
	key = binary.AppendVarint(key, pod.Requests.MilliCPU)
	key = binary.AppendVarint(key, pod.Requests.Memory)
	key = binary.AppendVarint(key, int64(pod.Claims))
	key = appendNumbers(key, pod.Requests.Extended)
	key = appendNumbers(key, pod.Devices)
	for _, name := range [...]string{keys.PodTotal, keys.PodPerGPU, modelKey, sharingKey} {
		key = appendText(key, annotated(pod, name))
	}
	key = appendText(key, pod.PriorityClass)
	key = appendTexts(key, pod.NodeSelector)
	for _, t := range pod.Tolerations {
		key = appendText(appendText(appendText(appendText(key, t.Key), t.Operator), t.Value), t.Effect)
	}
	key = append(key, '|')
	for _, term := range pod.Required {
		key = append(appendTerm(key, term), '|')
	}
	for _, preferred := range pod.Preferred {
		key = binary.AppendVarint(append(appendTerm(key, preferred.Term), '~'), int64(preferred.Weight))
	}
	return key
}

func appendTerm(key []byte, term Term) []byte {
	for _, r := range term.Requirements {
		key = binary.AppendUvarint(appendText(appendText(key, r.Key), r.Operator), uint64(len(r.Values)))
		for _, value := range r.Values {
			key = appendText(key, value)
		}
	}
	return key
}

func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

func appendTexts(key []byte, texts map[string]string) []byte {
	key = binary.AppendUvarint(key, uint64(len(texts)))
	var buffer [8]string
	for _, name := range appendSortedKeys(buffer[:0], texts) {
		key = appendText(appendText(key, name), texts[name])
	}
	return key
}

func appendNumbers(key []byte, numbers map[string]int64) []byte {
	key = binary.AppendUvarint(key, uint64(len(numbers)))
	var buffer [8]string
	for _, name := range appendSortedKeys(buffer[:0], numbers) {
		key = binary.AppendVarint(appendText(key, name), numbers[name])
	}
	return key
}

// appendSortedKeys needs no memory of its own for the few keys that pods have.
func appendSortedKeys[V any](keys []string, m map[string]V) []string {
	for name := range m {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
