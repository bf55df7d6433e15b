package expander

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func describe(p *Policy, g Group) groupFacts { return p.describe(&g, View{}) }

func TestAcceleratorFacts(t *testing.T) {
	policy := &Policy{
		Accelerators: Accelerators{ExtraResources: []string{"xilinx.com/fpga"}},
		InstanceTypes: map[string]InstanceType{
			"g4dn.12xlarge": {MilliCPU: 48000, Memory: 192 << 30, GPUs: 4, GPUModel: "T4", GPUMemory: 16 << 30, HourlyCost: 3.9},
		},
	}
	for _, test := range []struct {
		name   string
		group  Group
		has    bool
		cards  int64
		model  string
		memory int64
	}{
		{"CPU", Group{}, false, 0, "", 0},
		{"quantity 0", Group{Allocatable: extended("nvidia.com/gpu", 0)}, false, 0, "", 0},
		{"label of value none", Group{Labels: map[string]string{"accelerator": "none"}}, false, 0, "", 0},
		{"whole cards", Group{Allocatable: extended("nvidia.com/gpu", 8), Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}}, true, 8, "NVIDIA-H100-80GB-HBM3", 81559 << 20},
		{"time slices", Group{Allocatable: extended("nvidia.com/gpu", 8), Labels: map[string]string{"nvidia.com/gpu.replicas": "4"}}, true, 2, "", 0},
		{"two slices of each", Group{Allocatable: extended("nvidia.com/gpu", 4), Labels: map[string]string{"nvidia.com/gpu.replicas": "2"}}, true, 2, "", 0},
		{"renamed slices", Group{Allocatable: extended("nvidia.com/gpu.shared", 10), Labels: map[string]string{"nvidia.com/gpu.replicas": "10"}}, true, 1, "", 0},
		{"GKE time sharing", Group{Allocatable: extended("nvidia.com/gpu", 6), Labels: map[string]string{"cloud.google.com/gke-max-shared-clients-per-gpu": "3", "cloud.google.com/gke-accelerator": "nvidia-l4"}}, true, 2, "nvidia-l4", 0},
		{"MIG slices", Group{Allocatable: extended("nvidia.com/mig-1g.10gb", 14), Labels: map[string]string{"nvidia.com/gpu.count": "2"}}, true, 2, "", 0},
		{"shared MIG slices", Group{Allocatable: extended("nvidia.com/mig-3g.20gb.shared", 4)}, true, 0, "", 0},
		{"AMD", Group{Allocatable: extended("amd.com/gpu", 4)}, true, 4, "", 0},
		{"Intel", Group{Allocatable: extended("gpu.intel.com/xe", 2)}, true, 2, "", 0},
		{"Gaudi", Group{Allocatable: extended("habana.ai/gaudi", 8)}, true, 8, "", 0},
		{"TPU", Group{Allocatable: extended("google.com/tpu", 4)}, true, 4, "", 0},
		{"from the configuration", Group{Allocatable: extended("xilinx.com/fpga", 1)}, true, 1, "", 0},
		{"unknown extended resource", Group{Allocatable: extended("example.com/licence", 1)}, false, 0, "", 0},
		{"label only, at zero nodes", Group{Labels: map[string]string{"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"}}, true, 0, "nvidia-tesla-t4", 0},
		{"a count below 0", Group{Allocatable: extended("nvidia.com/mig-1g.10gb", 7), Labels: map[string]string{"nvidia.com/gpu.count": "-2"}}, true, 0, "", 0},
		{"claims", Group{Labels: map[string]string{"cloud.google.com/gke-gpu-dra-driver": "true"}}, true, 0, "", 0},
		{"catalogue", Group{Labels: map[string]string{"node.kubernetes.io/instance-type": "g4dn.12xlarge"}}, true, 4, "T4", 16 << 30},
		{"own memory label", Group{Allocatable: extended("nvidia.com/gpu", 1), Labels: map[string]string{"gpu.ai/memory-total": "24Gi", "nvidia.com/gpu.memory": "23034"}}, true, 1, "", 24 << 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := describe(policy, test.group)
			if f.hasAccelerator != test.has || f.cards != test.cards || f.model != test.model || f.cardMemory != test.memory {
				t.Errorf("accelerator %t, %d cards, model %q, %d bytes; want %t, %d, %q, %d", f.hasAccelerator, f.cards, f.model, f.cardMemory, test.has, test.cards, test.model, test.memory)
			}
		})
	}
}

func extended(name string, units int64) Resources {
	return Resources{MilliCPU: 8000, Memory: 32 << 30, Extended: map[string]int64{name: units}}
}

func TestCapacityType(t *testing.T) {
	for key, values := range map[string]map[string]CapacityType{
		"eks.amazonaws.com/capacityType":          {"SPOT": Spot, "spot": Spot, "ON_DEMAND": OnDemand, "CAPACITY_BLOCK": Reserved, "other": CapacityUnknown},
		"karpenter.sh/capacity-type":              {"Spot": Spot, "on-demand": OnDemand, "reserved": Reserved},
		"cloud.google.com/gke-spot":               {"true": Spot, "TRUE": Spot, "false": CapacityUnknown},
		"cloud.google.com/gke-preemptible":        {"true": Spot},
		"cloud.google.com/gke-provisioning":       {"spot": Spot, "preemptible": Spot, "standard": OnDemand},
		"cloud.google.com/gke-flex-start":         {"true": Reserved},
		"kubernetes.azure.com/scalesetpriority":   {"spot": Spot, "Spot": Spot},
		"lifecycle":                               {"Ec2Spot": Spot, "spot": Spot, "OnDemand": OnDemand},
		"node.kubernetes.io/lifecycle":            {"spot": Spot, "normal": OnDemand, "on-demand": OnDemand},
		"node-role.kubernetes.io/spot-worker":     {"": Spot, "true": Spot},
		"node-role.kubernetes.io/somebody-worker": {"": CapacityUnknown},
	} {
		for value, want := range values {
			if got := capacityFromLabels(map[string]string{key: value}); got != want {
				t.Errorf("%s=%s is %q, want %q", key, value, got, want)
			}
		}
	}
}

func TestCapacityTypeOrder(t *testing.T) {
	policy := &Policy{
		Classify:  []ClassifyRule{{ID: regexp.MustCompile("-spot-"), CapacityType: Spot}},
		UnknownIs: OnDemand,
		Pools:     []Pool{{Name: "mine", CapacityType: Reserved, Match: PoolMatch{Labels: map[string]string{"pool": "mine"}}}},
	}
	for _, test := range []struct {
		name  string
		group Group
		want  CapacityType
	}{
		{"pool before label", Group{ID: "a", Labels: map[string]string{"pool": "mine", "lifecycle": "spot"}}, Reserved},
		{"label before rule", Group{ID: "a-spot-b", Labels: map[string]string{"lifecycle": "OnDemand"}}, OnDemand},
		{"rule before assumption", Group{ID: "a-spot-b"}, Spot},
		{"assumption", Group{ID: "a"}, OnDemand},
	} {
		if got := describe(policy, test.group).capacity; got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestPoolMatch(t *testing.T) {
	group := Group{ID: "asg-spot-1", Labels: map[string]string{"node-role": "elastic"}, Taints: []Taint{{"workload", "elastic", "NoSchedule"}}}
	for _, test := range []struct {
		name  string
		match PoolMatch
		want  bool
	}{
		{"nothing given", PoolMatch{}, false},
		{"label", PoolMatch{Labels: map[string]string{"node-role": "elastic"}}, true},
		{"other label value", PoolMatch{Labels: map[string]string{"node-role": "training"}}, false},
		{"taint", PoolMatch{Taints: []Taint{{Key: "workload", Value: "elastic"}}}, true},
		{"taint of another effect", PoolMatch{Taints: []Taint{{Key: "workload", Value: "elastic", Effect: "NoExecute"}}}, false},
		{"id", PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("-x-"), regexp.MustCompile("-spot-")}}, true},
		{"id and label both", PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("-od-")}, Labels: map[string]string{"node-role": "elastic"}}, false},
	} {
		if got := test.match.matches(&group); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}

func TestWorkloadMatch(t *testing.T) {
	pod := Pod{Namespace: "ai", PriorityClass: "high", Labels: map[string]string{"tier": "online"}, Tolerations: []Toleration{
		{Key: "workload", Operator: "Equal", Value: "training"}, {Key: "nvidia.com/gpu", Operator: "Exists", Effect: "NoSchedule"}, {Operator: "Exists"},
	}}
	for _, test := range []struct {
		name  string
		match WorkloadMatch
		want  bool
	}{
		{"nothing given", WorkloadMatch{}, true},
		{"label", WorkloadMatch{PodLabels: map[string]string{"tier": "online"}}, true},
		{"namespace and label", WorkloadMatch{PodLabels: map[string]string{"tier": "online"}, Namespaces: []string{"other"}}, false},
		{"priority class", WorkloadMatch{PriorityClasses: []string{"low", "high"}}, true},
		{"toleration", WorkloadMatch{Tolerates: []Taint{{Key: "workload", Value: "training"}}}, true},
		{"toleration of another value", WorkloadMatch{Tolerates: []Taint{{Key: "workload", Value: "inference"}}}, false},
		{"toleration, any value", WorkloadMatch{Tolerates: []Taint{{Key: "workload"}}}, true},
		{"toleration of every value", WorkloadMatch{Tolerates: []Taint{{Key: "nvidia.com/gpu", Value: "present"}}}, true},
		{"toleration, effect left open", WorkloadMatch{Tolerates: []Taint{{Key: "workload", Effect: "NoSchedule"}}}, true},
		{"toleration of another effect", WorkloadMatch{Tolerates: []Taint{{Key: "nvidia.com/gpu", Effect: "NoExecute"}}}, false},
		{"both tolerations", WorkloadMatch{Tolerates: []Taint{{Key: "workload"}, {Key: "spot"}}}, false},
		{"a toleration of everything is no sign", WorkloadMatch{Tolerates: []Taint{{Key: "dedicated"}}}, false},
	} {
		if got := test.match.matches(&pod); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}

func TestWorth(t *testing.T) {
	worth := map[string]float64{"H100": 3, "nvidia-tesla-t4": 1, "A10G": 1.6}
	for model, want := range map[string]float64{
		"NVIDIA-H100-80GB-HBM3": 3, "nvidia-h100-80gb": 3, "Tesla-T4": 1, "nvidia-a10g": 1.6, "NVIDIA A10G": 1.6, "L4": 1, "": 1,
	} {
		if got := worthOf(worth, model); got != want {
			t.Errorf("worth of %q is %v, want %v", model, got, want)
		}
	}
}

// The price estimate: cores and memory at fitted prices, the GPU at what the same model costs elsewhere.
func TestEstimatedPrice(t *testing.T) {
	a10g := func(id string, cores, memory, gpus int64, cost float64) (Group, Pool) {
		node := Resources{MilliCPU: cores * 1000, Memory: memory << 30, Extended: map[string]int64{wholeNvidia: gpus}}
		group := Group{ID: id, Capacity: node, Allocatable: node, Labels: map[string]string{"id": id, "nvidia.com/gpu.product": "NVIDIA-A10G"}}
		return group, Pool{Name: id, HourlyCost: cost, Match: PoolMatch{Labels: map[string]string{"id": id}}}
	}
	known, pool := a10g("known", 4, 16, 1, 1.006)
	open, _ := a10g("open", 8, 32, 1, 0)
	req := Request{Groups: []Group{known, open}}
	history := History{}.clone()
	p := newProblem(&Policy{Pools: []Pool{pool}}, View{}, req, &history, time.Time{})
	gpu := 1.006 - 4*0.033174 - 16*0.004446
	want := 8*0.033174 + 32*0.004446 + gpu
	if got := p.groups[1].price; p.groups[1].priced || got < want-1e-9 || got > want+1e-9 {
		t.Errorf("estimate %v, want %v", got, want)
	}
	onSpot := open
	onSpot.Labels = map[string]string{"lifecycle": "spot", "nvidia.com/gpu.product": "NVIDIA-A10G"}
	spot := newProblem(&Policy{Pools: []Pool{pool}}, View{}, Request{Groups: []Group{known, onSpot}}, &history, time.Time{})
	if got := spot.groups[1].price; got < 0.35*want-1e-9 || got > 0.35*want+1e-9 {
		t.Errorf("estimate for spot %v, want %v", got, 0.35*want)
	}
	none := newProblem(&Policy{}, View{}, req, &history, time.Time{})
	if want := 4*0.033174 + 16*0.004446 + 0.70; none.anyPrice || none.groups[0].price < want-1e-9 || none.groups[0].price > want+1e-9 {
		t.Errorf("estimate without any price %v, want %v", none.groups[0].price, want)
	}
}

func TestSelectorsAndTaints(t *testing.T) {
	labels := map[string]string{"zone": "a", "gpus": "4", "cores": "10"}
	for _, test := range []struct {
		requirement Requirement
		want        bool
	}{
		{Requirement{"zone", "In", []string{"b", "a"}}, true},
		{Requirement{"zone", "NotIn", []string{"a"}}, false},
		{Requirement{"rack", "NotIn", []string{"a"}}, true},
		{Requirement{"zone", "Exists", nil}, true},
		{Requirement{"rack", "DoesNotExist", nil}, true},
		{Requirement{"gpus", "Gt", []string{"3"}}, true},
		{Requirement{"gpus", "Lt", []string{"4"}}, false},
		{Requirement{"zone", "Gt", []string{"3"}}, false},
		{Requirement{"cores", "Lt", []string{"11"}}, true},
		{Requirement{"cores", "Gt", []string{"10"}}, false},
		{Requirement{"cores", "Gt", []string{"9", "8"}}, false},
		{Requirement{"cores", "Gt", []string{"0x1"}}, false},
		{Requirement{"zone", "Unheard", nil}, false},
	} {
		if got := test.requirement.matches(labels); got != test.want {
			t.Errorf("%+v: %t, want %t", test.requirement, got, test.want)
		}
	}
	taints := []Taint{{"nvidia.com/gpu", "", "NoSchedule"}, {"spot", "true", "PreferNoSchedule"}}
	for _, test := range []struct {
		tolerations []Toleration
		want        bool
	}{
		{nil, false},
		{[]Toleration{{Key: "nvidia.com/gpu", Operator: "Exists"}}, true},
		{[]Toleration{{Key: "nvidia.com/gpu", Operator: "Exists", Effect: "NoExecute"}}, false},
		{[]Toleration{{Operator: "Exists"}}, true},
		{[]Toleration{{Key: "nvidia.com/gpu", Value: "yes"}}, false},
		{[]Toleration{{Key: "nvidia.com/gpu"}}, true},
	} {
		if got := toleratesAll(test.tolerations, taints); got != test.want {
			t.Errorf("%+v: %t, want %t", test.tolerations, got, test.want)
		}
	}
}

func TestFailureBlocks(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	memory := FailureMemory{SingleGPU: time.Hour, MultiGPU: 3 * time.Hour, Factor: 2, Max: 6 * time.Hour, Quota: 2 * time.Hour, Suspected: 10 * time.Minute}
	proven := func(at time.Duration, class FailureClass) FailureRecord {
		return FailureRecord{At: start.Add(at), Class: class, Proven: true}
	}
	for _, test := range []struct {
		name     string
		cards    int64
		failures []FailureRecord
		want     time.Duration // from start
	}{
		{"one failure", 1, []FailureRecord{proven(0, FailureStock)}, time.Hour},
		{"several GPUs", 8, []FailureRecord{proven(0, FailureStock)}, 3 * time.Hour},
		{"the second doubles", 1, []FailureRecord{proven(0, FailureStock), proven(2*time.Hour, FailureStock)}, 4 * time.Hour},
		{"never above the maximum", 8, []FailureRecord{proven(0, FailureStock), proven(time.Hour, FailureOther), proven(2*time.Hour, FailureOther)}, 8 * time.Hour},
		{"quota", 8, []FailureRecord{proven(0, FailureQuota)}, 2 * time.Hour},
		{"a later and shorter one ends nothing", 8, []FailureRecord{proven(0, FailureStock), {At: start.Add(time.Hour)}}, 3 * time.Hour},
		{"two at one time", 1, []FailureRecord{proven(0, FailureQuota), {At: start}}, 2 * time.Hour},
		{"suspicions do not grow", 8, []FailureRecord{{At: start}, {At: start.Add(time.Hour)}}, 70 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := History{Groups: map[string]GroupHistory{"g": {Failures: test.failures}}}
			g := groupFacts{Group: &Group{ID: "g"}, cards: test.cards}
			state, _ := h.block(&g, memory, start)
			if got := state.Until.Sub(start); got != test.want {
				t.Errorf("blocked for %v, want %v", got, test.want)
			}
		})
	}
	h := History{Groups: map[string]GroupHistory{"g": {Failures: []FailureRecord{proven(0, FailureStock)}, DeliveredAt: start.Add(time.Minute)}}}
	if _, blocked := h.block(&groupFacts{Group: &Group{ID: "g"}}, memory, start.Add(2*time.Minute)); blocked {
		t.Error("blocked although a later choice delivered")
	}
}

func TestEpisodes(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC)
	}
	got := episodes([]FailureRecord{
		{At: at(4), Class: FailureQuota, Proven: true, QuotaGroup: "q"},
		{At: at(9), Class: FailureOther, Proven: true},
		{At: at(0), Class: FailureOther, Proven: true},
		{At: at(1), Class: FailureOther},
	})
	want := []FailureRecord{
		{At: at(0), Class: FailureQuota, Proven: true, QuotaGroup: "q"},
		{At: at(1), Class: FailureOther},
		{At: at(9), Class: FailureOther, Proven: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
