package expander

import (
	"regexp"
	"time"
)

// Policy is the compiled, immutable expander configuration.
type Policy struct {
	Mode    Mode
	CPUPods CPUPodRule
	// WhenAllRejected says what happens when isolation leaves nothing.
	WhenAllRejected AllRejectedRule
	// VetoSupported tells whether the Cluster Autoscaler reads an empty answer as "do not scale up" (1.32 and newer).
	VetoSupported bool
	// Frozen passes every request through, whatever the mode.
	Frozen bool
	// MaxUnservedLoops is how many loops in a row a workload with a valid option may lose before it goes first.
	MaxUnservedLoops int
	// TrustTemplateCache names pools or group ids whose template's model-cache label is believed; "*" trusts all.
	TrustTemplateCache []string
	// Rank is the default order of criteria.
	Rank []Criterion
	// Failures is the default failure memory.
	Failures FailureMemory
	// GPUMemoryKeys are the annotation and label keys of GPU memory demand and supply.
	GPUMemoryKeys GPUMemoryKeys
	Pools         []Pool
	Workloads     []Workload
	Accelerators  Accelerators
	// SharingByPriorityClass is how pods of a priority class share a GPU, before the workload's Sharing.
	SharingByPriorityClass map[string]Sharing
	// UnknownIs is assumed where no label speaks; CapacityUnknown keeps it unknown.
	UnknownIs CapacityType
	Classify  []ClassifyRule
	// InstanceTypes holds facts by instance type for templates that do not say enough (scale from zero).
	InstanceTypes map[string]InstanceType
	// Hash identifies the configuration that this policy was compiled from.
	Hash string
}

// Mode is whether the choice is answered or only recorded.
type Mode string

// The modes: Observe answers every id and records what it would have chosen; Active answers its choice.
const (
	Observe Mode = "observe"
	Active  Mode = "active"
)

// CPUPodRule governs options that serve only pods without accelerator demand on accelerator groups.
type CPUPodRule string

// The rules for CPU-only pods: only if nothing else fits, never, or without restriction.
const (
	CPUPodsAvoid CPUPodRule = "Avoid"
	CPUPodsNever CPUPodRule = "Never"
	CPUPodsAllow CPUPodRule = "Allow"
)

// AllRejectedRule is the answer when isolation rejects every option.
type AllRejectedRule string

// The two answers when isolation rejects every option.
const (
	VetoAll        AllRejectedRule = "Veto"
	PassThroughAll AllRejectedRule = "PassThrough"
)

// CapacityType is how the nodes of a group are paid for.
type CapacityType string

// The capacity types.
const (
	CapacityUnknown CapacityType = ""
	Reserved        CapacityType = "reserved"
	OnDemand        CapacityType = "on-demand"
	Spot            CapacityType = "spot"
)

// Pool names a set of node groups. The first matching pool of a policy wins.
type Pool struct {
	Name  string
	Class string // inference, training, elastic, cpu or empty
	// CapacityType overrides what the labels say; CapacityUnknown leaves it to them.
	CapacityType CapacityType
	// Exclusive pools are never grown for pods without a workload.
	Exclusive bool
	Match     PoolMatch
	// HourlyCost is the price of one node per hour; 0 means unknown here.
	HourlyCost float64
	// QuotaGroup ties pools that share one provider quota; empty means the group alone.
	QuotaGroup string
}

// PoolMatch selects node groups; every given part must match. Without any part it matches nothing.
type PoolMatch struct {
	Labels     map[string]string
	Taints     []Taint
	NodeGroups []*regexp.Regexp
}

// Workload is a class of pods with the pools they may grow. Each pod belongs to the first that matches.
type Workload struct {
	Name   string
	Match  WorkloadMatch
	Stages []Stage
	// Rank and Failures override the policy's when set.
	Rank     []Criterion
	Failures *FailureMemory
	// OnDemandBase is a risk cap: a count of replicas, or a share of them, kept on on-demand capacity.
	OnDemandBase Base
	// EnforceGPUMemory turns the GPU memory preference into a filter.
	EnforceGPUMemory bool
	Sharing          Sharing
	// ZoneCap is the largest number of nodes of this workload by zone.
	ZoneCap map[string]int
	// Worth, when set, is used instead of Accelerators.Worth: a workload that does not care leaves every model at 1.
	Worth map[string]float64
	// Priority, when set, is used instead of the pods' own priority to order workloads.
	Priority *int32
}

// WorkloadMatch selects pods; every given part must match. Without any part it matches every pod.
type WorkloadMatch struct {
	PodLabels       map[string]string
	Namespaces      []string
	PriorityClasses []string
	Tolerates       []Taint // an empty Effect or Value matches any
}

// Stage is a set of groups tried together, by pool name or by selector.
type Stage struct {
	Pools []string
	// CapacityTypes and Labels select groups directly, where names mean nothing; Any selects every group.
	CapacityTypes []CapacityType
	Labels        map[string]string
	Any           bool
	Escalate      Escalation
}

// Escalation says when the next stage opens although this one still has options. The zero value never escalates.
type Escalation struct {
	// Attempts is the number of recorded failures that uses the stage up, at most 12; 0 is off.
	Attempts int
	// FirstSeen is the time since the oldest pod was first seen in a request, with at least one recorded attempt;
	// 0 is off.
	FirstSeen time.Duration
}

// Base is a count of replicas or a share of them (0..1); the zero value is off.
type Base struct {
	Count int
	Share float64
}

// Sharing is how a pod may share a GPU.
type Sharing string

// The sharing modes; the empty mode is any.
const (
	SharingAny         Sharing = "any"
	SharingExclusive   Sharing = "exclusive"
	SharingTimeSlicing Sharing = "time-slicing"
	SharingMPS         Sharing = "mps"
)

// Criterion is one step of the lexicographic rank: keep the options within Tolerance of the best, go on.
type Criterion struct {
	Name CriterionName
	// Tolerance is absolute, in the unit of the criterion.
	Tolerance float64
}

// CriterionName names a criterion.
type CriterionName string

// The criteria.
const (
	DollarsPerDollarNeeded CriterionName = "dollarsPerDollarNeeded"
	CPUMemWaste            CriterionName = "cpuMemWaste"
	GPUWaste               CriterionName = "gpuWaste"
	PodsHelped             CriterionName = "podsHelped"
	Price                  CriterionName = "price"
	Size                   CriterionName = "size"
	SoftAffinity           CriterionName = "softAffinity"
	ModelCache             CriterionName = "modelCache"
	Nodes                  CriterionName = "nodes"
	ReclaimRate            CriterionName = "reclaimRate"
)

// FailureMemory says for how long a failed group is left alone. The zero value remembers nothing.
type FailureMemory struct {
	SingleGPU time.Duration
	MultiGPU  time.Duration
	// Factor multiplies the block with every further failure, up to Max.
	Factor float64
	Max    time.Duration
	// StickFor keeps the choice for pods that come back this soon.
	StickFor time.Duration
	// Quota blocks the groups of one quota after a quota error.
	Quota time.Duration
	// Suspected blocks after pods came back without a cluster view that could tell why.
	Suspected time.Duration
	// ProvisionTime is how long the Cluster Autoscaler waits for a node; a target that is still above the registered
	// count after that is a proven failure. 0 means 15 minutes.
	ProvisionTime time.Duration
}

// Enabled tells whether anything is remembered.
func (f FailureMemory) Enabled() bool { return f.SingleGPU > 0 || f.MultiGPU > 0 || f.StickFor > 0 }

// GPUMemoryKeys are the keys of GPU memory demand on pods and supply on nodes.
type GPUMemoryKeys struct {
	PodTotal  string // default gpu.ai/memory-required, a quantity over all GPUs of the pod
	PodPerGPU string // default gpu.ai/memory-per-gpu
	NodeTotal string // default gpu.ai/memory-total, a quantity per card
}

// Accelerators extends what is known of GPUs.
type Accelerators struct {
	ExtraResources []string
	// Worth is the speed of a GPU model relative to 1.0.
	Worth map[string]float64
}

// ClassifyRule assigns a capacity type by node group id.
type ClassifyRule struct {
	ID           *regexp.Regexp
	CapacityType CapacityType
}

// InstanceType is a row of a catalogue.
type InstanceType struct {
	Name     string
	MilliCPU int64
	Memory   int64 // bytes
	GPUs     int64
	GPUModel string
	// GPUMemory is per card, in bytes; 0 is unknown.
	GPUMemory int64
	// HourlyCost is on-demand, SpotHourlyCost spot; 0 is unknown.
	HourlyCost     float64
	SpotHourlyCost float64
}
