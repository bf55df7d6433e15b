package expander_test

import (
	"fmt"
	"regexp"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
)

// instance is a random small problem in a form that the twin reads without any of the code under test.
type instance struct {
	policy expander.Policy
	view   expander.View
	req    expander.Request
	facts  map[string]groupFact
}

// groupFact is what the generator knows of a group.
type groupFact struct {
	pool, zone string
	capacity   expander.CapacityType
	exclusive  bool
	price      float64
	gpus       int64
	cardGiB    int64
	sharing    string
	labelled   bool // accelerator label
	nodes      int
	failedAgo  time.Duration // 0 is never
	quota      bool
}

var poolNames = []string{"p0", "p1", "p2"}

func drawInstance(t *rapid.T) instance {
	in := instance{facts: map[string]groupFact{}}
	chance := func(name string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, name) < percent }
	exclusive := map[string]bool{}
	for _, pool := range poolNames {
		exclusive[pool] = chance("exclusive", 20)
	}
	priced := chance("priced", 70)
	in.view = expander.View{Known: true, Groups: map[string]expander.GroupView{}, ZoneNodes: map[string]int{"a": rapid.IntRange(0, 4).Draw(t, "nodes in a")}}
	in.policy = expander.Policy{
		Mode: expander.Active, VetoSupported: chance("veto", 70),
		CPUPods:  rapid.SampledFrom([]expander.CPUPodRule{expander.CPUPodsAvoid, expander.CPUPodsNever, expander.CPUPodsAllow}).Draw(t, "cpu pods"),
		Failures: expander.FailureMemory{SingleGPU: 10 * time.Minute, MultiGPU: 30 * time.Minute, Factor: 2, Max: time.Hour, Quota: 2 * time.Hour},
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "groups") {
		id := fmt.Sprintf("g%d", i)
		f := groupFact{
			pool: rapid.SampledFrom(poolNames).Draw(t, "pool"), zone: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "zone"),
			capacity: rapid.SampledFrom([]expander.CapacityType{expander.Spot, expander.OnDemand, expander.CapacityUnknown}).Draw(t, "capacity"),
			gpus:     rapid.SampledFrom([]int64{0, 0, 1, 2, 4}).Draw(t, "gpus"), nodes: rapid.IntRange(-1, 3).Draw(t, "nodes"),
			labelled: chance("labelled", 20),
		}
		if chance("has price", 80) && priced {
			f.price = float64(rapid.IntRange(1, 40).Draw(t, "price")) / 8
		}
		if f.gpus > 0 {
			f.cardGiB = rapid.SampledFrom([]int64{0, 16, 24, 80}).Draw(t, "card")
			f.sharing = rapid.SampledFrom([]string{"", "none", "mps"}).Draw(t, "sharing")
		}
		if chance("failed", 25) {
			f.failedAgo = time.Duration(rapid.IntRange(1, 40).Draw(t, "failed ago")) * time.Minute
			f.quota = chance("quota", 30)
		}
		f.exclusive = exclusive[f.pool]
		in.addGroup(t, id, f)
	}
	in.drawPods(t, chance)
	in.drawWorkloads(t, chance)
	return in
}

func (in *instance) addGroup(t *rapid.T, id string, f groupFact) {
	node := expander.Resources{
		MilliCPU: rapid.Int64Range(1, 8).Draw(t, "cores") * 4000, Memory: rapid.Int64Range(1, 8).Draw(t, "memory") * 16 << 30,
		Extended: map[string]int64{"nvidia.com/gpu": f.gpus},
	}
	g := expander.Group{ID: id, Capacity: node, Allocatable: node, Labels: map[string]string{"pool": f.pool}}
	if f.zone != "" {
		g.Labels["topology.kubernetes.io/zone"] = f.zone
	}
	if f.capacity != expander.CapacityUnknown {
		g.Labels["karpenter.sh/capacity-type"] = string(f.capacity)
	}
	if f.cardGiB > 0 {
		g.Labels["nvidia.com/gpu.memory"] = fmt.Sprint(f.cardGiB << 10)
	}
	if f.sharing != "" {
		g.Labels["nvidia.com/gpu.sharing-strategy"] = f.sharing
	}
	if f.labelled {
		g.Labels["k8s.amazonaws.com/accelerator"] = "nvidia-l4"
	}
	pool := expander.Pool{Name: f.pool, Exclusive: f.exclusive, HourlyCost: f.price, Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^" + id + "$")}}}
	in.policy.Pools = append(in.policy.Pools, pool)
	in.req.Groups = append(in.req.Groups, g)
	seen := expander.UnknownGroup()
	seen.Nodes = f.nodes
	in.view.Groups[id] = seen
	if f.failedAgo > 0 {
		class := expander.FailureStock
		if f.quota {
			class = expander.FailureQuota
		}
		in.view.Failures = append(in.view.Failures, expander.Failure{At: epoch.Add(-f.failedAgo), GroupID: id, Class: class})
	}
	in.facts[id] = f
}

func (in *instance) drawPods(t *rapid.T, chance func(string, int) bool) {
	for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
		pod := expander.Pod{
			UID: fmt.Sprintf("pod-%d", i), Labels: map[string]string{"set": rapid.SampledFrom([]string{"w0", "w1", "none"}).Draw(t, "set")},
			Annotations: map[string]string{}, Priority: int32(rapid.IntRange(0, 1).Draw(t, "priority")),
			Requests: expander.Resources{MilliCPU: rapid.Int64Range(0, 4).Draw(t, "cpu") * 1000, Memory: rapid.Int64Range(0, 4).Draw(t, "mem") * 4 << 30},
		}
		if gpus := rapid.SampledFrom([]int64{0, 0, 1, 1, 2}).Draw(t, "wants"); gpus > 0 {
			pod.Requests.Extended = map[string]int64{"nvidia.com/gpu": gpus}
			if chance("memory need", 40) {
				pod.Annotations["gpu.ai/memory-required"] = fmt.Sprintf("%dGi", rapid.Int64Range(1, 60).Draw(t, "need"))
			}
		} else if chance("claims", 15) {
			pod.Claims = 1
		}
		if chance("prefers", 30) {
			pod.Preferred = []expander.PreferredTerm{{Weight: 10, Term: expander.Term{Requirements: []expander.Requirement{{Key: "pool", Operator: "In", Values: []string{"p0"}}}}}}
		}
		in.req.Pods = append(in.req.Pods, pod)
	}
	for _, g := range in.req.Groups {
		if !chance("has option", 85) {
			continue
		}
		o := expander.Option{GroupID: g.ID, NodeCount: rapid.IntRange(1, 4).Draw(t, "count")}
		for i := range in.req.Pods {
			if chance("serves", 60) {
				o.Pods = append(o.Pods, i)
			}
		}
		in.req.Options = append(in.req.Options, o)
	}
}

func (in *instance) drawWorkloads(t *rapid.T, chance func(string, int) bool) {
	for i := range rapid.IntRange(1, 2).Draw(t, "workloads") {
		name := fmt.Sprintf("w%d", i)
		w := expander.Workload{
			Name: name, Match: expander.WorkloadMatch{PodLabels: map[string]string{"set": name}},
			EnforceGPUMemory: chance("enforce", 20), Sharing: rapid.SampledFrom([]expander.Sharing{"", "exclusive", "mps"}).Draw(t, "mode"),
		}
		if chance("cap", 30) {
			w.ZoneCap = map[string]int{"a": rapid.IntRange(1, 6).Draw(t, "limit")}
		}
		for range rapid.IntRange(1, 3).Draw(t, "stages") {
			switch rapid.IntRange(0, 3).Draw(t, "stage kind") {
			case 0:
				w.Stages = append(w.Stages, expander.Stage{Any: true})
			case 1:
				w.Stages = append(w.Stages, expander.Stage{CapacityTypes: []expander.CapacityType{rapid.SampledFrom([]expander.CapacityType{expander.Spot, expander.OnDemand}).Draw(t, "type")}})
			default:
				w.Stages = append(w.Stages, expander.Stage{Pools: []string{rapid.SampledFrom(poolNames).Draw(t, "stage pool")}})
			}
		}
		for _, c := range rapid.Permutation([]expander.CriterionName{expander.DollarsPerDollarNeeded, expander.GPUWaste, expander.CPUMemWaste, expander.Price, expander.PodsHelped, expander.Size, expander.Nodes, expander.SoftAffinity}).Draw(t, "rank")[:rapid.IntRange(1, 3).Draw(t, "criteria")] {
			w.Rank = append(w.Rank, expander.Criterion{Name: c, Tolerance: rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(t, "tolerance")})
		}
		in.policy.Workloads = append(in.policy.Workloads, w)
	}
}
