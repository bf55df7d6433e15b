package expander

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// machine is a group of nodes with so many cores, GiB and GPUs, in a pool of its own at a price.
func machine(id string, cores, gib, gpus int64, labels map[string]string) Group {
	node := Resources{MilliCPU: cores * 1000, Memory: gib << 30, Extended: map[string]int64{wholeNvidia: gpus}}
	return Group{ID: id, Labels: labels, Capacity: node, Allocatable: node}
}

func priced(prices map[string]float64) *Policy {
	p := &Policy{Mode: Active, VetoSupported: true, CPUPods: CPUPodsAllow}
	for _, id := range sortedKeys(prices) {
		p.Pools = append(p.Pools, Pool{Name: id, HourlyCost: prices[id], Match: PoolMatch{Labels: map[string]string{"id": id}}})
	}
	return p
}

// ask offers one option for all pods on every group.
func ask(pods []Pod, nodes int, groups ...Group) Request {
	r := Request{Pods: pods, Groups: groups}
	for _, g := range groups {
		o := Option{GroupID: g.ID, NodeCount: nodes}
		for i := range pods {
			o.Pods = append(o.Pods, i)
		}
		r.Options = append(r.Options, o)
	}
	return r
}

func candidate(t *testing.T, d Decision, id string) Candidate {
	t.Helper()
	for _, c := range d.Candidates {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no candidate %s", id)
	return Candidate{}
}

func near(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) < 1e-9*max(1, want)
}

var rankTime = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// TestScoreByHand is dollars bought per dollar needed, n*P / sum of needed * P^0.10, where every factor is worked out by
// hand: the needed dollars are the least price of a node times the largest share of it that a pod takes.
func TestScoreByHand(t *testing.T) {
	cheap, dear := machine("cheap", 10, 100, 1, map[string]string{"id": "cheap"}), machine("dear", 40, 400, 8, map[string]string{"id": "dear"})
	claims := map[string]string{"id": "claims", "cloud.google.com/gke-gpu-dra-driver": "true", "nvidia.com/gpu.count": "4"}
	policy := priced(map[string]float64{"cheap": 2, "dear": 12, "claims": 6})
	pod := func(cores, gib, gpus int64) Pod {
		return Pod{Requests: Resources{MilliCPU: cores * 1000, Memory: gib << 30, Extended: map[string]int64{wholeNvidia: gpus}}}
	}
	for name, c := range map[string]struct {
		pods   []Pod
		nodes  int
		group  Group
		needed float64
		price  float64
	}{
		"cores are the largest share":   {[]Pod{pod(5, 10, 0)}, 1, cheap, 2 * 5. / 10, 2},
		"memory is":                     {[]Pod{pod(1, 80, 0)}, 3, cheap, 2 * 80. / 100, 2},
		"GPUs are, and dear is cheaper": {[]Pod{pod(1, 10, 1)}, 1, cheap, 12 * 1. / 8, 2},
		"two pods add up":               {[]Pod{pod(5, 10, 0), pod(1, 80, 0)}, 2, dear, 2*5./10 + 2*80./100, 12},
		// The kubelet's 110 places are all that is left to share.
		"nothing is asked for": {[]Pod{{}, {}}, 1, cheap, 2 * 2. / 110, 2},
		"claims of unknown number take one card": {
			[]Pod{{Claims: 1, Requests: Resources{MilliCPU: 1000, Memory: 1 << 30}}}, 1, machine("claims", 40, 400, 0, claims), 6 * 1. / 4, 6,
		},
	} {
		for i := range c.pods {
			c.pods[i].UID = fmt.Sprint(i)
		}
		groups := []Group{cheap, dear}
		if c.group.ID == "claims" {
			groups = []Group{c.group, cheap}
		}
		d, _ := Select(policy, View{}, ask(c.pods, c.nodes, groups...), History{}, rankTime)
		want := float64(c.nodes) * c.price / c.needed * math.Pow(c.price, 0.10)
		if got := candidate(t, d, c.group.ID).Score; !near(got, want) {
			t.Errorf("%s: score %v, want %v", name, text(got), want)
		}
	}
}

func text(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

// TestCriteriaByHand compares the values of the criteria with what a reader computes.
func TestCriteriaByHand(t *testing.T) {
	policy := &Policy{Mode: Active, VetoSupported: true, CPUPods: CPUPodsAllow}
	for _, name := range []CriterionName{PodsHelped, GPUWaste, CPUMemWaste, Size, Nodes} {
		policy.Rank = append(policy.Rank, Criterion{Name: name, Tolerance: 1e6})
	}
	pods := []Pod{{UID: "a", Requests: Resources{MilliCPU: 3000, Memory: 16 << 30, Extended: map[string]int64{wholeNvidia: 1}}}}
	d, _ := Select(policy, View{}, ask(pods, 3, machine("small", 2, 4, 1, nil), machine("huge", 64, 512, 8, nil)), History{}, rankTime)
	for id, want := range map[string][]float64{
		"small": {1, 2. / 3, (6.-3)/6 + (12.-16)/12, 3 * (2 + 4/4.), 3},
		"huge":  {1, 23. / 24, (192.-3)/192 + (1536.-16)/1536, 3 * (64 + 512/4.), 3},
	} {
		for i, v := range candidate(t, d, id).Criteria {
			if !near(v.Value, want[i]) || !v.Kept {
				t.Errorf("%s: %s is %s, kept %t, want %v", id, v.Name, text(v.Value), v.Kept, want[i])
			}
		}
	}
}

// An option that is out of the race has no say any more: what is not known of it does not make a criterion useless for the
// others.
func TestUnknownOfTheLosersIsNoHindrance(t *testing.T) {
	policy := &Policy{Mode: Active, VetoSupported: true, CPUPods: CPUPodsAllow, Rank: []Criterion{{Name: Nodes}, {Name: CPUMemWaste}}}
	for i := range 20 {
		pods := []Pod{{UID: fmt.Sprint("pod", i), Requests: Resources{MilliCPU: 1000, Memory: 1 << 30}}}
		r := ask(pods, 1, machine("large", 16, 64, 0, nil), machine("blank", 0, 0, 0, nil), machine("small", 4, 16, 0, nil))
		r.Options[1].NodeCount = 2
		if d, _ := Select(policy, View{}, r, History{}, rankTime); len(d.Answer) != 1 || d.Answer[0] != "small" {
			t.Fatalf("answer %v, want small", d.Answer)
		}
		r.Options[1].NodeCount = 1 // now it is in the race, and waste tells nothing
		d, _ := Select(policy, View{}, r, History{}, rankTime)
		for _, c := range d.Candidates {
			if len(c.Criteria) != 2 || !c.Criteria[1].Kept {
				t.Fatalf("%s lost by a criterion that is not known of all: %+v", c.ID, c.Criteria)
			}
		}
	}
}

// The age in the record is that of the oldest pod that counts, in seconds.
func TestRecordedAge(t *testing.T) {
	policy := &Policy{Mode: Active, VetoSupported: true}
	r := ask([]Pod{{UID: "a", Requests: Resources{MilliCPU: 1000}}}, 1, machine("g", 4, 16, 0, nil))
	_, history := Select(policy, View{}, r, History{}, rankTime)
	r = ask([]Pod{r.Pods[0], {UID: "b", Requests: Resources{MilliCPU: 1000}}}, 1, r.Groups...)
	d, _ := Select(policy, View{}, r, history, rankTime.Add(90*time.Second))
	if len(d.Workloads) != 1 || d.Workloads[0].OldestSeen != 90 || d.Workloads[0].Pods != 2 {
		t.Errorf("workloads %+v, want two pods, the oldest seen 90 s ago", d.Workloads)
	}
}

// GPU memory is wasted by a known share only where every pod says how much it needs and on how many cards.
func TestGPUMemoryWaste(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.memory": "40960", "nvidia.com/gpu.count": "2", "cloud.google.com/gke-gpu-dra-driver": "true"}
	perGPU := map[string]string{"gpu.ai/memory-per-gpu": "10Gi"}
	one := Resources{MilliCPU: 1000, Extended: map[string]int64{wholeNvidia: 1}}
	for name, c := range map[string]struct {
		pod  Pod
		want string
	}{
		"both known":                  {Pod{Requests: one, Annotations: perGPU}, "0.875"},
		"no need":                     {Pod{Requests: one}, "unknown"},
		"claimed, and not how many":   {Pod{Claims: 1, Annotations: perGPU}, "unknown"},
		"claimed, a known number":     {Pod{Claims: 1, Devices: map[string]int64{"gpu.nvidia.com": 2}, Annotations: perGPU}, "0.75"},
		"a CPU pod is not in the way": {Pod{Requests: Resources{MilliCPU: 1000}}, "1"},
	} {
		c.pod.UID = "a"
		policy := &Policy{Mode: Active, VetoSupported: true, CPUPods: CPUPodsAllow}
		d, _ := Select(policy, View{}, ask([]Pod{c.pod}, 1, machine("g", 8, 32, 2, labels)), History{}, rankTime)
		if got := text(candidate(t, d, "g").Waste.GPUMemory); got != c.want {
			t.Errorf("%s: %s of the GPU memory is wasted, want %s", name, got, c.want)
		}
	}
}
