package config

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

type poolFile struct {
	Name         string        `key:"name" required:"true" doc:"how stages and decisions refer to the pool"`
	Class        string        `key:"class" default:"\"\"" enum:"|inference|training|elastic|cpu" doc:"what the pool is for"`
	CapacityType string        `key:"capacityType" default:"\"\"" enum:"|reserved|on-demand|spot" doc:"how its nodes are paid for; empty: read from the cloud's labels"`
	Exclusive    bool          `key:"exclusive" default:"false" doc:"pods that no workload entry matches never grow it"`
	Match        poolMatchFile `key:"match" required:"true" doc:"which node groups; every given part must match"`
	HourlyCost   *float64      `key:"hourlyCost" min:"0" max:"100000" doc:"price per node and hour; else from the catalogue by instance type, else unknown"`
	QuotaGroup   string        `key:"quotaGroup" default:"\"\"" doc:"pools that share one quota of the provider; a quota error of one holds all of them back"`
}

type poolMatchFile struct {
	Labels     map[string]string `key:"labels" doc:"labels of the node template, compared without regard to case"`
	Taints     []taintFile       `key:"taints" doc:"taints of the node template"`
	NodeGroups []pattern         `key:"nodeGroups" doc:"RE2 on the node group id; one of them must match"`
}

type taintFile struct {
	Key    string `key:"key" required:"true" doc:"taint key"`
	Value  string `key:"value" default:"\"\"" doc:"taint value; empty: any"`
	Effect string `key:"effect" default:"\"\"" enum:"|NoSchedule|PreferNoSchedule|NoExecute" doc:"taint effect; empty: any"`
}

type expanderFile struct {
	Mode               string            `key:"mode" default:"observe" enum:"observe|active" doc:"observe answers every id and records what it would have chosen; active answers its choice"`
	CPUPodsOnGPUGroups string            `key:"cpuPodsOnGPUGroups" default:"Avoid" enum:"Avoid|Never|Allow" doc:"pods without GPU demand on GPU groups: only if nothing else fits, never, or freely"`
	WhenAllRejected    string            `key:"whenAllRejected" default:"Veto" enum:"Veto|PassThrough" doc:"when isolation rejects every option; a veto needs caVersion 1.32 or newer"`
	MaxUnservedLoops   int               `key:"maxUnservedLoops" default:"3" min:"1" max:"1000" doc:"a workload that lost so many loops to another goes first"`
	TrustTemplateCache trust             `key:"trustTemplateCache" default:"false" doc:"believe a model-cache label on a template although not every ready node of the group carries it: false, true, or a list of pools and groups"`
	Rank               []criterionFile   `key:"rank" default:"[dollarsPerDollarNeeded, cpuMemWaste, size]" doc:"order of the criteria inside a stage; each a name, or {name, tolerance}"`
	FailureMemory      failureMemoryFile `key:"failureMemory" doc:"for how long a group that failed to grow is left alone; a single duration stands for that long, however often it failed"`
	// SharingByPriorityClass is compiled in order of the keys; expander.workloads[].sharing has the words.
	SharingByPriorityClass map[string]string `key:"sharingByPriorityClass" doc:"priority class to how its pods may share a GPU (exclusive, time-slicing, mps or any), before the workload's sharing and after the pod's own annotation"`

	LargeRequests largeRequestsFile `key:"largeRequests" doc:"limits of what the Cluster Autoscaler may send"`
	Workloads     []workloadFile    `key:"workloads" doc:"classes of pods and the pools they may grow; each pod belongs to the first entry that matches"`
}

type criterionFile struct {
	Name      string  `key:"name" required:"true" enum:"dollarsPerDollarNeeded|cpuMemWaste|gpuWaste|podsHelped|price|size|softAffinity|modelCache|nodes|reclaimRate" doc:"the criterion"`
	Tolerance float64 `key:"tolerance" default:"0" min:"0" max:"1000000000" doc:"options this close to the best, in the unit of the criterion, stay in the race"`
}

func (c *criterionFile) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		c.Name = n.Value
		d.checkTags(reflect.ValueOf(&c.Name).Elem(), fieldsOf(reflect.TypeFor[criterionFile]())["name"], path)
		return
	}
	d.decodeStruct(n, reflect.ValueOf(c).Elem(), path)
}

func (criterionFile) kind() string { return "criterion" }

type failureMemoryFile struct {
	SingleGPU     duration `key:"singleGPU" default:"1h" max:"720h" doc:"block after a failure of a group with at most one GPU per node"`
	MultiGPU      duration `key:"multiGPU" default:"3h" max:"720h" doc:"block after a failure of a group with more GPUs per node"`
	Factor        float64  `key:"factor" default:"2" min:"1" max:"10" doc:"every further failure multiplies the block"`
	Max           duration `key:"max" default:"6h" max:"720h" doc:"longest block"`
	StickFor      duration `key:"stickFor" default:"2m" max:"1h" doc:"pods that come back this soon get the same group again"`
	Quota         duration `key:"quota" default:"2h" max:"720h" doc:"block of a whole quota group after a quota error"`
	Suspected     duration `key:"suspected" default:"10m" max:"720h" doc:"block when pods came back and no cluster view can tell why"`
	ProvisionTime duration `key:"provisionTime" default:"15m" min:"1m" max:"24h" doc:"how long the Cluster Autoscaler waits for a node (its max-node-provision-time); a target that is still not reached after that is a proven failure"`
	// Fixed is set when one duration stands for every block.
	Fixed bool
}

func (f *failureMemoryFile) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.decodeKind(n, reflect.ValueOf(f).Elem(), path)
		return
	}
	var block duration
	d.text(&block, n.Value, path)
	f.SingleGPU, f.MultiGPU, f.Max, f.Factor, f.Fixed = block, block, block, 1, true
	f.Suspected = min(f.Suspected, block)
}

func (failureMemoryFile) kind() string { return "section or duration" }

type largeRequestsFile struct {
	From     byteSize `key:"from" default:"64Mi" min:"1Mi" max:"2Gi" doc:"requests of this size or more are large"`
	Limit    byteSize `key:"limit" default:"384Mi" min:"4Mi" max:"2047Mi" doc:"largest request accepted"`
	InFlight int      `key:"inFlight" default:"1" min:"1" max:"100" doc:"large requests at one time; the next is told to keep every option"`
}

type workloadFile struct {
	Name          string             `key:"name" required:"true" doc:"how decisions refer to the workload"`
	Match         workloadMatchFile  `key:"match" doc:"which pods; every given part must match, without any part every pod does"`
	Stages        []stageFile        `key:"stages" required:"true" doc:"groups in order of preference; inside a stage the rank decides"`
	Rank          []criterionFile    `key:"rank" doc:"replaces the general rank"`
	FailureMemory *failureMemoryFile `key:"failureMemory" doc:"replaces the general failure memory, which is meant for batch; services: short, such as 10m. Keys that it does not give are the general ones"`
	OnDemandBase  countOrShare       `key:"onDemandBase" default:"0" doc:"replicas kept on on-demand capacity, as a count or a percentage: a risk cap"`
	GPUMemory     gpuMemoryFile      `key:"gpuMemory" doc:"GPU memory demand of pods; 8 % tolerance, unknown never rejects"`
	Sharing       string             `key:"sharing" default:"exclusive" enum:"exclusive|time-slicing|mps|any" doc:"how its pods may share a GPU"`
	ZoneCap       map[string]int     `key:"zoneCap" doc:"zone to the largest number of nodes of this workload"`
	Worth         map[string]float64 `key:"worth" doc:"replaces accelerators.worth; a workload that does not care leaves every model at 1"`
	Priority      *int32             `key:"priority" doc:"used instead of the pods' own priority to order workloads"`
}

type gpuMemoryFile struct {
	Enforce bool `key:"enforce" default:"false" doc:"drop groups with too little GPU memory even if nothing else is left"`
}

type workloadMatchFile struct {
	PodLabels       map[string]string `key:"podLabels" doc:"labels of the pod"`
	Namespaces      []string          `key:"namespaces" doc:"one of these namespaces"`
	PriorityClasses []string          `key:"priorityClasses" doc:"one of these priority classes"`
	Tolerates       oneOrMoreTaints   `key:"tolerates" doc:"the pod tolerates this taint, or each of these"`
}

type stageFile struct {
	Pools        []string          `key:"pools" doc:"pools by name"`
	CapacityType oneOrMoreWords    `key:"capacityType" doc:"in place of pools: every group of this capacity type, or of one of these"`
	Labels       map[string]string `key:"labels" doc:"in place of pools: every group with these labels"`
	Any          bool              `key:"any" default:"false" doc:"in place of pools: every group"`
	Escalate     escalateFile      `key:"escalate" default:"none" doc:"when the next stage opens although this one still has options; none: never"`
}

type escalateFile struct {
	Attempts  int      `key:"attempts" default:"0" min:"0" max:"12" doc:"failed attempts that use the stage up; 0: not counted"`
	FirstSeen duration `key:"firstSeen" default:"0s" max:"168h" doc:"time since the oldest pod was first seen, with at least one attempt recorded; 0s: not counted"`
}

func (e *escalateFile) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == "none" {
		*e = escalateFile{}
		return
	}
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		d.errorf(path, "%smust be none or a section such as {attempts: 1, firstSeen: 60s}", d.got(n.Value))
		return
	}
	d.decodeKind(n, reflect.ValueOf(e).Elem(), path)
}

func (escalateFile) kind() string { return "section or none" }
