package expander_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// groupOf is a group with some labels, offered for every pod of the request.
func groupOf(id string, node expander.Resources, labels map[string]string) expander.Group {
	if labels == nil {
		labels = map[string]string{}
	}
	return expander.Group{ID: id, Labels: labels, Capacity: node, Allocatable: node}
}

func spotLabels(extra ...string) map[string]string {
	labels := map[string]string{"karpenter.sh/capacity-type": "spot"}
	for i := 0; i+1 < len(extra); i += 2 {
		labels[extra[i]] = extra[i+1]
	}
	return labels
}

func onDemandLabels() map[string]string {
	return map[string]string{"karpenter.sh/capacity-type": "on-demand"}
}

// offer builds a request in which every group has an option of one node for all pods.
func offer(pods []expander.Pod, groups ...expander.Group) expander.Request {
	req := expander.Request{Pods: pods, Groups: groups}
	for _, g := range groups {
		o := expander.Option{GroupID: g.ID, NodeCount: 1}
		for i := range pods {
			o.Pods = append(o.Pods, i)
		}
		req.Options = append(req.Options, o)
	}
	return req
}

func gpuPod(uid string) expander.Pod {
	return expander.Pod{UID: uid, Requests: gpuResources(4, 16, 1)}
}

func cpuPod(uid string) expander.Pod {
	return expander.Pod{UID: uid, Requests: gpuResources(4, 16, 0)}
}

func active(workloads ...expander.Workload) *expander.Policy {
	return &expander.Policy{Mode: expander.Active, VetoSupported: true, Workloads: workloads}
}

func selectOnce(policy *expander.Policy, view expander.View, req expander.Request) expander.Decision {
	d, _ := expander.Select(policy, view, req, expander.History{}, epoch)
	return d
}

func rejections(d expander.Decision) map[string]string {
	codes := map[string]string{}
	for _, c := range d.Candidates {
		codes[c.ID] = c.Rejected
	}
	return codes
}

var small, large = gpuResources(8, 32, 1), gpuResources(32, 128, 4)

// An option without pods or without a node is never ranked and never taken for a CPU-only one.
func TestUnknownParts(t *testing.T) {
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("known", large, nil), groupOf("other", small, nil))
	for _, test := range []struct {
		name    string
		change  func(*expander.Request)
		outcome expander.Outcome
		answer  []string
		warning string
	}{
		{"no option has pods", func(r *expander.Request) { r.Options[0].Pods, r.Options[1].Pods = nil, nil }, expander.PassThrough, []string{"known", "other"}, "option-without-pods"},
		{"one option has pods", func(r *expander.Request) { r.Options[1].Pods = nil }, expander.Selected, []string{"known"}, "option-without-pods"},
		{"no nodes at all", func(r *expander.Request) { r.Groups = nil }, expander.PassThrough, []string{"known", "other"}, "option-without-node"},
		{"one node is missing", func(r *expander.Request) { r.Groups = r.Groups[:1] }, expander.Selected, []string{"known"}, "option-without-node"},
		{"pods that do not exist", func(r *expander.Request) { r.Options[1].Pods = []int{7, -1} }, expander.Selected, []string{"known"}, "option-without-pods"},
		{"no new nodes", func(r *expander.Request) { r.Options[1].NodeCount = 0 }, expander.Selected, []string{"known"}, ""},
		{"no options", func(r *expander.Request) { r.Options = nil }, expander.PassThrough, []string{}, "group-without-option:known"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := expander.Request{Pods: req.Pods, Groups: req.Groups, Options: slices.Clone(req.Options)}
			test.change(&changed)
			policy := active()
			policy.CPUPods = expander.CPUPodsNever
			d := selectOnce(policy, expander.View{}, changed)
			if d.Outcome != test.outcome || !slices.Equal(d.Answer, test.answer) {
				t.Errorf("%s %v, want %s %v", d.Outcome, d.Answer, test.outcome, test.answer)
			}
			if test.warning != "" && !slices.Contains(d.Warnings, test.warning) {
				t.Errorf("warnings %v, want %s", d.Warnings, test.warning)
			}
		})
	}
}

// In observe mode the choice is recorded and every id answered; frozen and without a policy nothing is chosen.
func TestModes(t *testing.T) {
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("small", small, nil), groupOf("large", large, nil))
	observe := active()
	observe.Mode = expander.Observe
	frozen := active()
	frozen.Frozen = true
	for _, test := range []struct {
		name             string
		policy           *expander.Policy
		selected, answer []string
	}{
		{"active", active(), []string{"small"}, []string{"small"}},
		{"observe", observe, []string{"small"}, []string{"small", "large"}},
		{"mode not given", &expander.Policy{}, []string{"small"}, []string{"small", "large"}},
		{"frozen", frozen, []string{}, []string{"small", "large"}},
		{"no policy", nil, []string{}, []string{"small", "large"}},
	} {
		d := selectOnce(test.policy, expander.View{}, req)
		if diff := cmp.Diff(test.selected, d.Selected) + cmp.Diff(test.answer, d.Answer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// What was only observed is no attempt: after the switch to active the budgets are whole.
func TestObservedChoicesAreNoAttempts(t *testing.T) {
	policy := online()
	policy.Failures.StickFor = 0
	policy.Workloads[0].Stages[0].Escalate = expander.Escalation{FirstSeen: time.Minute}
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels()))
	policy.Mode = expander.Observe
	_, history := expander.Select(policy, expander.View{Known: true}, req, expander.History{}, epoch)
	policy.Mode = expander.Active
	d, history := expander.Select(policy, expander.View{Known: true}, req, history, epoch.Add(5*time.Minute))
	if !slices.Equal(d.Answer, []string{"spot"}) {
		t.Errorf("first active answer %v, want spot", d.Answer)
	}
	d, _ = expander.Select(policy, expander.View{Known: true}, req, history, epoch.Add(10*time.Minute))
	if !slices.Equal(d.Answer, []string{"od"}) {
		t.Errorf("after a real attempt %v, want od", d.Answer)
	}
}

// A policy without workloads serves all pods, but never an exclusive pool.
func TestNoWorkloads(t *testing.T) {
	policy := active()
	policy.Pools = []expander.Pool{{Name: "reserved", Exclusive: true, Match: expander.PoolMatch{Labels: map[string]string{"pool": "reserved"}}}}
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("mine", large, nil), groupOf("theirs", small, map[string]string{"pool": "reserved"}))
	d := selectOnce(policy, expander.View{}, req)
	if !slices.Equal(d.Answer, []string{"mine"}) || rejections(d)["theirs"] != "exclusive" {
		t.Errorf("answer %v, rejected %v", d.Answer, rejections(d))
	}
}

// The filters that are only preferences, each with the option it would drop alone in the request: then it is used,
// and the record warns.
func TestRelaxedFilters(t *testing.T) {
	anyStage := []expander.Stage{{Any: true}}
	two := expander.Pod{UID: "two", Requests: gpuResources(4, 16, 2)}
	slices4 := groupOf("dropped", gpuResources(8, 32, 4), map[string]string{"nvidia.com/gpu.replicas": "4"})
	for _, test := range []struct {
		name     string
		workload expander.Workload
		view     expander.View
		pod      expander.Pod
		dropped  expander.Group
		code     string
		warning  string
	}{
		{"zone cap", expander.Workload{Stages: anyStage, ZoneCap: map[string]int{"z1": 4}}, expander.View{ZoneNodes: map[string]int{"z1": 4}}, gpuPod("a"), groupOf("dropped", small, map[string]string{"topology.kubernetes.io/zone": "z1"}), "zone-cap", "zone-cap-exceeded:dropped"},
		{"sharing", expander.Workload{Stages: anyStage, Sharing: expander.SharingExclusive}, expander.View{}, gpuPod("a"), groupOf("dropped", small, map[string]string{"nvidia.com/gpu.sharing-strategy": "time-slicing"}), "sharing", "sharing-mismatch:dropped"},
		{"two cards on one", expander.Workload{Stages: anyStage}, expander.View{}, two, slices4, "gpu-shape", "gpu-shape-mismatch:dropped"},
		{"CPU pods", expander.Workload{Stages: anyStage}, expander.View{}, cpuPod("a"), groupOf("dropped", small, nil), "cpu-pods-on-accelerator-group", "cpu-pods-on-accelerator-group"},
		{"failure", expander.Workload{Stages: anyStage, Failures: &expander.FailureMemory{SingleGPU: time.Hour}}, expander.View{Known: true, Failures: []expander.Failure{{At: epoch.Add(-time.Minute), GroupID: "dropped"}}}, gpuPod("a"), groupOf("dropped", small, nil), "failure-memory", "all-options-failed-recently"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.workload.Name = "w"
			policy := active(test.workload)
			rest := groupOf("rest", gpuResources(64, 256, 8), nil)
			if test.code == "cpu-pods-on-accelerator-group" {
				rest = groupOf("rest", gpuResources(64, 256, 0), nil)
			}
			d := selectOnce(policy, test.view, offer([]expander.Pod{test.pod}, test.dropped, rest))
			if !slices.Equal(d.Answer, []string{"rest"}) || rejections(d)["dropped"] != test.code {
				t.Errorf("answer %v, rejected %v, want rest because of %s", d.Answer, rejections(d), test.code)
			}
			d = selectOnce(policy, test.view, offer([]expander.Pod{test.pod}, test.dropped))
			if !slices.Equal(d.Answer, []string{"dropped"}) || !slices.Contains(d.Warnings, test.warning) {
				t.Errorf("alone: answer %v with warnings %v, want dropped with %s", d.Answer, d.Warnings, test.warning)
			}
		})
	}
}

// Sharing comes from the pod, its priority class, or its workload, in this order; an unknown mode fits all.
func TestSharingOrder(t *testing.T) {
	mps := groupOf("mps", small, map[string]string{"nvidia.com/gpu.sharing-strategy": "mps"})
	whole := groupOf("whole", small, map[string]string{"nvidia.com/gpu.sharing-strategy": "none"})
	policy := active(expander.Workload{Name: "w", Stages: []expander.Stage{{Any: true}}, Sharing: expander.SharingExclusive})
	policy.SharingByPriorityClass = map[string]expander.Sharing{"low": expander.SharingMPS}
	for _, test := range []struct {
		name string
		pod  expander.Pod
		want string
	}{
		{"workload", expander.Pod{}, "whole"},
		{"priority class", expander.Pod{PriorityClass: "low"}, "mps"},
		{"own label", expander.Pod{PriorityClass: "low", Labels: map[string]string{"gpu.ai/sharing": "exclusive"}}, "whole"},
	} {
		test.pod.Requests = gpuResources(4, 16, 1)
		if d := selectOnce(policy, expander.View{}, offer([]expander.Pod{test.pod}, mps, whole)); !slices.Equal(d.Answer, []string{test.want}) {
			t.Errorf("%s: %v, want %s", test.name, d.Answer, test.want)
		}
	}
}

// CPU-only pods beside GPU pods on one option: the CPU group goes first while the GPU pods are new, no longer.
func TestMixedOptionGuard(t *testing.T) {
	policy := active()
	req := offer([]expander.Pod{gpuPod("gpu"), cpuPod("cpu")}, groupOf("gpu-group", gpuResources(8, 32, 1), nil), groupOf("cpu-group", gpuResources(64, 256, 0), nil))
	req.Options[1].Pods = []int{1}
	d, history := expander.Select(policy, expander.View{Known: true}, req, expander.History{}, epoch)
	if !slices.Equal(d.Answer, []string{"cpu-group"}) {
		t.Errorf("answer %v, want the CPU group first", d.Answer)
	}
	policy.Rank = []expander.Criterion{{Name: expander.PodsHelped}}
	if d, _ = expander.Select(policy, expander.View{Known: true}, req, history, epoch.Add(2*time.Minute)); !slices.Equal(d.Answer, []string{"gpu-group"}) {
		t.Errorf("two minutes later %v, want the GPU pods to have their turn", d.Answer)
	}
}

func TestUnclassifiedGroupsPassThrough(t *testing.T) {
	spotOnly := expander.Workload{Name: "w", Stages: []expander.Stage{{CapacityTypes: []expander.CapacityType{expander.Spot}}}}
	d := selectOnce(active(spotOnly), expander.View{}, offer([]expander.Pod{gpuPod("a")}, groupOf("x", small, nil), groupOf("y", small, nil)))
	if d.Outcome != expander.PassThrough || len(d.Answer) != 2 || !slices.Contains(d.Warnings, "unclassified-group:x") {
		t.Errorf("%s %v %v", d.Outcome, d.Answer, d.Warnings)
	}
	d = selectOnce(active(spotOnly), expander.View{}, offer([]expander.Pod{gpuPod("a")}, groupOf("x", small, nil), groupOf("s", large, spotLabels())))
	if !slices.Equal(d.Answer, []string{"s"}) {
		t.Errorf("with a spot group %v", d.Answer)
	}
	d = selectOnce(active(spotOnly), expander.View{}, offer([]expander.Pod{gpuPod("a")}, groupOf("od", small, onDemandLabels())))
	if d.Outcome != expander.Veto {
		t.Errorf("a group of another type: %s, want a veto", d.Outcome)
	}
}

func TestAllRejectedByConfiguration(t *testing.T) {
	policy := active()
	policy.CPUPods, policy.WhenAllRejected = expander.CPUPodsNever, expander.PassThroughAll
	d := selectOnce(policy, expander.View{}, offer([]expander.Pod{cpuPod("a")}, groupOf("gpu", small, nil)))
	if d.Outcome != expander.PassThrough || !slices.Equal(d.Answer, []string{"gpu"}) || slices.Contains(d.Warnings, "isolation-not-enforceable") {
		t.Errorf("%s %v %v", d.Outcome, d.Answer, d.Warnings)
	}
}

// The base keeps a count or a share of the replicas on capacity that is not reclaimed; what is on its way counts.
func TestOnDemandBase(t *testing.T) {
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	for _, test := range []struct {
		name    string
		base    expander.Base
		running map[expander.CapacityType]int
		want    string
	}{
		{"off", expander.Base{}, map[expander.CapacityType]int{}, "spot"},
		{"count not reached", expander.Base{Count: 2}, map[expander.CapacityType]int{expander.OnDemand: 1, expander.Spot: 9}, "od"},
		{"reserved counts", expander.Base{Count: 2}, map[expander.CapacityType]int{expander.OnDemand: 1, expander.Reserved: 1}, "spot"},
		{"share not reached", expander.Base{Share: 0.5}, map[expander.CapacityType]int{expander.OnDemand: 4, expander.Spot: 4}, "od"},
		{"share reached", expander.Base{Share: 0.5}, map[expander.CapacityType]int{expander.OnDemand: 5, expander.Spot: 4}, "spot"},
		{"running replicas unknown", expander.Base{Count: 2}, nil, "spot"},
	} {
		policy := online()
		policy.Workloads[0].OnDemandBase = test.base
		view := expander.View{Known: true}
		if test.running != nil {
			view.CapacityReplicas = map[string]map[expander.CapacityType]int{"online": test.running}
		}
		if d := selectOnce(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...)); !slices.Equal(d.Answer, []string{test.want}) {
			t.Errorf("%s: %v, want %s", test.name, d.Answer, test.want)
		}
	}
	policy := online()
	policy.Workloads[0].OnDemandBase = expander.Base{Count: 1}
	view := expander.View{Known: true, CapacityReplicas: map[string]map[expander.CapacityType]int{"online": {}}}
	_, history := expander.Select(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...), expander.History{}, epoch)
	if d, _ := expander.Select(policy, view, offer([]expander.Pod{gpuPod("b")}, groups...), history, epoch.Add(time.Minute)); !slices.Equal(d.Answer, []string{"spot"}) {
		t.Errorf("while the base is on its way: %v, want spot", d.Answer)
	}
	seen := expander.UnknownGroup()
	seen.Registered = 1
	view.Groups = map[string]expander.GroupView{"od": seen}
	_, history = expander.Select(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...), expander.History{}, epoch)
	seen.Registered = 2 // the node came, and its replica is counted among the running ones, or is gone
	view.Groups = map[string]expander.GroupView{"od": seen}
	if d, _ := expander.Select(policy, view, offer([]expander.Pod{gpuPod("b")}, groups...), history, epoch.Add(5*time.Minute)); !slices.Equal(d.Answer, []string{"od"}) {
		t.Errorf("after the node has come and nothing runs: %v, want od", d.Answer)
	}
}

// With worth, a pod that runs three times faster on a card of twice the price takes it; one that does not care takes
// the cheap card.
func TestWorthOfModels(t *testing.T) {
	policy := active(
		expander.Workload{Name: "fast", Match: expander.WorkloadMatch{PodLabels: map[string]string{"kind": "fast"}}, Stages: []expander.Stage{{Any: true}}, Worth: map[string]float64{"H100": 3}},
		expander.Workload{Name: "any", Stages: []expander.Stage{{Any: true}}},
	)
	policy.InstanceTypes = map[string]expander.InstanceType{"t4": {HourlyCost: 1}, "h100": {HourlyCost: 2}}
	groups := []expander.Group{
		groupOf("t4", small, map[string]string{"node.kubernetes.io/instance-type": "t4", "nvidia.com/gpu.product": "Tesla-T4"}),
		groupOf("h100", small, map[string]string{"node.kubernetes.io/instance-type": "h100", "nvidia.com/gpu.product": "NVIDIA-H100-PCIe"}),
	}
	for kind, want := range map[string]string{"fast": "h100", "other": "t4"} {
		pod := gpuPod("a")
		pod.Labels = map[string]string{"kind": kind}
		if d := selectOnce(policy, expander.View{}, offer([]expander.Pod{pod}, groups...)); !slices.Equal(d.Answer, []string{want}) {
			t.Errorf("%s pod: %v, want %s\n%s", kind, d.Answer, want, table(d))
		}
	}
}

// The score by hand, for two options that cover different pods.
func TestScore(t *testing.T) {
	policy := active()
	policy.InstanceTypes = map[string]expander.InstanceType{"one": {HourlyCost: 1}, "four": {HourlyCost: 3}}
	req := offer([]expander.Pod{gpuPod("a"), gpuPod("b"), gpuPod("c")},
		groupOf("one", small, map[string]string{"node.kubernetes.io/instance-type": "one"}),
		groupOf("four", large, map[string]string{"node.kubernetes.io/instance-type": "four"}))
	req.Options[0].Pods, req.Options[0].NodeCount = []int{0}, 1
	d := selectOnce(policy, expander.View{}, req)
	// A pod needs a whole node of "one" ($1) or a quarter of "four" ($0.75): 0.75.
	want := map[string]float64{"one": 1 / 0.75, "four": 3 / (3 * 0.75) * 1.1161231740339044} // 3^0.1
	for _, c := range d.Candidates {
		if c.Score == nil || *c.Score < want[c.ID]-1e-9 || *c.Score > want[c.ID]+1e-9 {
			t.Errorf("score of %s is %v, want %v", c.ID, c.Score, want[c.ID])
		}
	}
	if !slices.Equal(d.Answer, []string{"one"}) || *d.Candidates[0].Cost != 1 {
		t.Errorf("answer %v, cost %v", d.Answer, d.Candidates[0].Cost)
	}
}

// A reclaim rate that is unknown counts as average, so that a group never tried is neither first nor last.
func TestReclaimRate(t *testing.T) {
	policy := active()
	policy.Rank = []expander.Criterion{{Name: expander.ReclaimRate}}
	rates := map[string]float64{"calm": 0.01, "stormy": 0.5}
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{}}
	for id, rate := range rates {
		seen := expander.UnknownGroup()
		seen.ReclaimsPerHour = rate
		view.Groups[id] = seen
	}
	groups := map[string]expander.Group{}
	for _, id := range []string{"calm", "stormy", "untried"} {
		groups[id] = groupOf(id, small, spotLabels())
	}
	groups["od"] = groupOf("od", small, onDemandLabels())
	for _, test := range []struct {
		ids  []string
		want string
	}{
		{[]string{"stormy", "calm"}, "calm"},
		{[]string{"stormy", "calm", "untried"}, "calm"},
		{[]string{"stormy", "od"}, "od"},
	} {
		var offered []expander.Group
		for _, id := range test.ids {
			offered = append(offered, groups[id])
		}
		if d := selectOnce(policy, view, offer([]expander.Pod{gpuPod("a")}, offered...)); !slices.Equal(d.Answer, []string{test.want}) {
			t.Errorf("of %v: %v, want %s", test.ids, d.Answer, test.want)
		}
	}
}

// Zone caps count only the pools of the workload when the view can tell them apart, and nodes on their way.
func TestZoneCapByPool(t *testing.T) {
	policy := active(expander.Workload{Name: "w", Stages: []expander.Stage{{Pools: []string{"mine"}}}, ZoneCap: map[string]int{"z1": 3}})
	policy.Pools = []expander.Pool{{Name: "mine", Match: expander.PoolMatch{Labels: map[string]string{"pool": "mine"}}}}
	labels := func(zone string) map[string]string {
		return map[string]string{"pool": "mine", "topology.kubernetes.io/zone": zone}
	}
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("g1", small, labels("z1")), groupOf("g2", large, labels("z2")))
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{}, PoolZoneNodes: map[string]map[string]int{"mine": {"z1": 2}, "other": {"z1": 50}}}
	if d := selectOnce(policy, view, req); !slices.Equal(d.Answer, []string{"g1"}) {
		t.Errorf("two of three nodes: %v, want g1", d.Answer)
	}
	seen := expander.UnknownGroup()
	seen.Registered, seen.Target = 2, 3
	view.Groups = map[string]expander.GroupView{"g1": seen}
	if d := selectOnce(policy, view, req); !slices.Equal(d.Answer, []string{"g2"}) || rejections(d)["g1"] != "zone-cap" {
		t.Errorf("two of three nodes and one on its way: %v %v, want g2", d.Answer, rejections(d))
	}
}

// A catalogue tells what a template from zero does not: the GPU, its model and its memory.
func TestCatalogueFillsTemplates(t *testing.T) {
	policy := active(expander.Workload{Name: "w", Stages: []expander.Stage{{Any: true}}, EnforceGPUMemory: true})
	policy.InstanceTypes = map[string]expander.InstanceType{
		"g4dn.xlarge": {GPUs: 1, GPUModel: "T4", GPUMemory: 16 << 30, HourlyCost: 0.5},
		"g5.xlarge":   {GPUs: 1, GPUModel: "A10G", GPUMemory: 24 << 30, HourlyCost: 1.0},
	}
	group := func(id, instanceType string) expander.Group {
		return groupOf(id, small, map[string]string{"node.kubernetes.io/instance-type": instanceType})
	}
	pod := gpuPod("a")
	pod.Annotations = map[string]string{"gpu.ai/memory-required": "20Gi"}
	d := selectOnce(policy, expander.View{}, offer([]expander.Pod{pod}, group("t4", "g4dn.xlarge"), group("a10g", "g5.xlarge")))
	if !slices.Equal(d.Answer, []string{"a10g"}) || rejections(d)["t4"] != "gpu-memory" || d.Candidates[1].GPUModel != "A10G" {
		t.Errorf("answer %v, rejected %v, model %q", d.Answer, rejections(d), d.Candidates[1].GPUModel)
	}
}

// A group at zero nodes shows its accelerator by label only; CPU-only pods waste it all the same.
func TestLabelledGroupCountsAsWaste(t *testing.T) {
	policy := active()
	policy.CPUPods = expander.CPUPodsAllow
	policy.Rank = []expander.Criterion{{Name: expander.GPUWaste}, {Name: expander.Nodes}}
	req := offer([]expander.Pod{cpuPod("a")},
		groupOf("zero", gpuResources(8, 32, 0), map[string]string{"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"}),
		groupOf("cpu", gpuResources(8, 32, 0), nil))
	req.Options[1].NodeCount = 2
	if d := selectOnce(policy, expander.View{}, req); !slices.Equal(d.Answer, []string{"cpu"}) || *d.Candidates[0].Waste.GPU != 1 {
		t.Errorf("answer %v, candidates:\n%s", d.Answer, table(d))
	}
}

// The record names the baseline and its cost, so that both choices can be compared.
func TestBaselineInDecision(t *testing.T) {
	policy := active()
	policy.InstanceTypes = map[string]expander.InstanceType{"cpu": {HourlyCost: 0.38}, "gpu": {HourlyCost: 0.75}}
	req := offer([]expander.Pod{cpuPod("a")},
		groupOf("cpu", gpuResources(8, 32, 0), map[string]string{"node.kubernetes.io/instance-type": "cpu"}),
		groupOf("gpu", gpuResources(8, 31, 1), map[string]string{"node.kubernetes.io/instance-type": "gpu"}))
	d := selectOnce(policy, expander.View{}, req)
	if !slices.Equal(d.Answer, []string{"cpu"}) || !slices.Equal(d.LeastWaste.Groups, []string{"gpu"}) || d.LeastWaste.Cost == nil || *d.LeastWaste.Cost != 0.75 {
		t.Errorf("answer %v, least-waste %+v", d.Answer, d.LeastWaste)
	}
}

// A request may be repeated within a second (salvo): it is one loop for the starvation rule.
func TestSeveralCallsInOneLoop(t *testing.T) {
	workload := func(name string, priority int32) expander.Workload {
		return expander.Workload{Name: name, Priority: &priority, Match: expander.WorkloadMatch{PodLabels: map[string]string{"w": name}}, Stages: []expander.Stage{{Any: true}}}
	}
	policy := active(workload("high", 10), workload("low", 1))
	pods := []expander.Pod{gpuPod("h"), gpuPod("l")}
	pods[0].Labels, pods[1].Labels = map[string]string{"w": "high"}, map[string]string{"w": "low"}
	req := offer(pods, groupOf("g1", small, nil), groupOf("g2", small, nil))
	req.Options[0].Pods, req.Options[1].Pods = []int{0}, []int{1}
	var history expander.History
	var got []string
	for _, at := range []time.Duration{0, time.Second, 2 * time.Second, 11 * time.Second, 22 * time.Second, 33 * time.Second} {
		var d expander.Decision
		d, history = expander.Select(policy, expander.View{Known: true}, req, history, epoch.Add(at))
		got = append(got, d.Answer...)
	}
	if diff := cmp.Diff([]string{"g1", "g1", "g1", "g1", "g1", "g2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The tolerance of GPU memory is 8 %, no less and no more.
func TestGPUMemoryTolerance(t *testing.T) {
	policy := active(expander.Workload{Name: "w", Stages: []expander.Stage{{Any: true}}, EnforceGPUMemory: true})
	for need, want := range map[string]expander.Outcome{"1080Mi": expander.Selected, "1081Mi": expander.Veto} {
		pod := gpuPod("a")
		pod.Annotations = map[string]string{"gpu.ai/memory-per-gpu": need}
		d := selectOnce(policy, expander.View{}, offer([]expander.Pod{pod}, groupOf("g", small, map[string]string{"nvidia.com/gpu.memory": "1000"})))
		if d.Outcome != want {
			t.Errorf("%s on a card of 1000Mi: %s, want %s", need, d.Outcome, want)
		}
	}
}
