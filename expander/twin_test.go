package expander_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
)

// Select agrees with a slow twin that was written from the contract alone.
func TestTwin(t *testing.T) {
	for range 25 { // rapid's default of 100 is too few for rules that need several things to come together
		rapid.Check(t, agreesWithTwin)
	}
}

func agreesWithTwin(t *rapid.T) {
	in := drawInstance(t)
	got, _ := expander.Select(&in.policy, in.view, in.req, expander.History{}, epoch)
	want := in.twin()
	if got.Outcome != want.outcome || !slices.Equal(got.Answer, want.answer) {
		t.Fatalf("got %s %v, the twin %s %v\nreasons %v warnings %v\n%s", got.Outcome, got.Answer, want.outcome, want.answer, got.Reasons, got.Warnings, table(got))
	}
	for _, c := range got.Candidates {
		if code, ok := want.hard[c.ID]; ok && c.Rejected != code {
			t.Fatalf("%s rejected as %q, the twin says %q", c.ID, c.Rejected, code)
		}
	}
}

type twinAnswer struct {
	outcome expander.Outcome
	answer  []string
	hard    map[string]string
}

func (in *instance) twin() twinAnswer {
	ids := []string{}
	hard := map[string]string{}
	for _, o := range in.req.Options {
		ids = append(ids, o.GroupID)
		if code := in.twinHard(o); code != "" {
			hard[o.GroupID] = code
		}
	}
	if len(ids) == 0 {
		return twinAnswer{expander.PassThrough, ids, hard}
	}
	best := in.twinOrder(hard)
	var open []string
	for _, id := range ids {
		if code := hard[id]; code == "" || code == "pods-unknown" {
			open = append(open, id)
		}
	}
	switch {
	case best == "unmatched" && len(open) == 1 && len(ids) > 1:
		return twinAnswer{expander.Selected, open, hard}
	case best == "unmatched":
		return twinAnswer{expander.PassThrough, open, hard}
	case best != "":
		return twinAnswer{expander.Selected, []string{in.twinChoose(best, hard)}, hard}
	case len(open) > 0:
		return twinAnswer{expander.PassThrough, open, hard}
	case in.policy.VetoSupported:
		return twinAnswer{expander.Veto, nil, hard}
	default:
		return twinAnswer{expander.PassThrough, ids, hard}
	}
}

// workloadOf is the workload of a pod, or nil.
func (in *instance) workloadOf(pod int) *expander.Workload {
	for i := range in.policy.Workloads {
		if in.policy.Workloads[i].Name == in.req.Pods[pod].Labels["set"] {
			return &in.policy.Workloads[i]
		}
	}
	return nil
}

func wantsGPU(p expander.Pod) bool { return p.Requests.Extended["nvidia.com/gpu"] > 0 || p.Claims > 0 }

func (f groupFact) accelerator() bool { return f.gpus > 0 || f.labelled }

func needGiB(p expander.Pod) float64 {
	var total float64
	if _, err := fmt.Sscanf(p.Annotations["gpu.ai/memory-required"], "%gGi", &total); err != nil {
		return 0
	}
	return total / float64(p.Requests.Extended["nvidia.com/gpu"])
}

func (f groupFact) tooSmall(p expander.Pod) bool {
	return f.cardGiB > 0 && needGiB(p) > 1.08*float64(f.cardGiB)
}

// inStage is 1 inside, 0 outside, -1 not known.
func (f groupFact) inStage(s expander.Stage) int {
	switch {
	case s.Any || slices.Contains(s.Pools, f.pool):
		return 1
	case len(s.CapacityTypes) > 0 && slices.Contains(s.CapacityTypes, f.capacity):
		return 1
	case len(s.CapacityTypes) > 0 && f.capacity == expander.CapacityUnknown:
		return -1
	}
	return 0
}

func (f groupFact) anyStage(w *expander.Workload) (inside, maybe bool) {
	for _, s := range w.Stages {
		inside = inside || f.inStage(s) == 1
		maybe = maybe || f.inStage(s) == -1
	}
	return inside, maybe
}

func (in *instance) twinHard(o expander.Option) string {
	f := in.facts[o.GroupID]
	if len(o.Pods) == 0 {
		return "pods-unknown"
	}
	gpuPods, known := 0, 0
	for _, pod := range o.Pods {
		if wantsGPU(in.req.Pods[pod]) {
			gpuPods++
		}
		if in.workloadOf(pod) != nil {
			known++
		}
	}
	if in.policy.CPUPods == expander.CPUPodsNever && f.accelerator() && gpuPods == 0 && known > 0 {
		return "cpu-pods-on-accelerator-group"
	}
	for _, pod := range o.Pods {
		if w := in.workloadOf(pod); w != nil && w.EnforceGPUMemory && f.tooSmall(in.req.Pods[pod]) {
			return "gpu-memory"
		}
	}
	for i := range in.policy.Workloads {
		w := &in.policy.Workloads[i]
		for _, pod := range o.Pods {
			if in.workloadOf(pod) != w {
				continue
			}
			if inside, maybe := f.anyStage(w); !inside && !maybe {
				return "isolation:" + w.Name
			}
		}
	}
	for _, pod := range o.Pods {
		if in.workloadOf(pod) == nil && f.exclusive {
			return "exclusive"
		}
	}
	return ""
}

func (in *instance) option(id string) expander.Option {
	return in.req.Options[slices.IndexFunc(in.req.Options, func(o expander.Option) bool { return o.GroupID == id })]
}

// valid are the options of a workload that nothing hard rejects.
func (in *instance) valid(name string, hard map[string]string) []string {
	var ids []string
	for _, o := range in.req.Options {
		if hard[o.GroupID] != "" {
			continue
		}
		for _, pod := range o.Pods {
			w := in.workloadOf(pod)
			if name == "unmatched" && w == nil {
				ids = append(ids, o.GroupID)
				break
			}
			if w == nil || w.Name != name {
				continue
			}
			if inside, _ := in.facts[o.GroupID].anyStage(w); inside {
				ids = append(ids, o.GroupID)
				break
			}
		}
	}
	return ids
}

// twinOrder is the workload that goes first: all were first seen now, so only priority and order of the policy count.
func (in *instance) twinOrder(hard map[string]string) string {
	best, bestPriority := "", int32(math.MinInt32)
	for _, name := range []string{"w0", "w1", "unmatched"} {
		priority, pods := int32(math.MinInt32), 0
		for i, pod := range in.req.Pods {
			w := in.workloadOf(i)
			if (w == nil) == (name == "unmatched") && (w == nil || w.Name == name) {
				priority, pods = max(priority, pod.Priority), pods+1
			}
		}
		if pods > 0 && len(in.valid(name, hard)) > 0 && priority > bestPriority {
			best, bestPriority = name, priority
		}
	}
	return best
}

func (in *instance) blocked(id string) bool {
	f := in.facts[id]
	limit := 10 * time.Minute
	if f.gpus > 1 {
		limit = 30 * time.Minute
	}
	if f.quota {
		limit = 2 * time.Hour
	}
	return f.failedAgo > 0 && f.failedAgo < limit
}

func (in *instance) twinChoose(name string, hard map[string]string) string {
	w := in.policy.Workloads[slices.IndexFunc(in.policy.Workloads, func(w expander.Workload) bool { return w.Name == name })]
	left := in.valid(name, hard)
	some := func(id string, holds func(expander.Pod) bool) bool {
		return slices.ContainsFunc(in.option(id).Pods, func(pod int) bool { return holds(in.req.Pods[pod]) })
	}
	guard := in.policy.CPUPods != expander.CPUPodsAllow
	allBlocked := false
	for n, drop := range []func(string) bool{
		func(id string) bool {
			limit, ok := w.ZoneCap[in.facts[id].zone]
			return ok && in.view.ZoneNodes[in.facts[id].zone]+in.option(id).NodeCount > limit
		},
		in.blocked,
		func(id string) bool { return guard && in.facts[id].accelerator() && !some(id, wantsGPU) },
		func(id string) bool {
			return guard && in.facts[id].accelerator() && some(id, wantsGPU) && some(id, func(p expander.Pod) bool { return !wantsGPU(p) })
		},
		func(id string) bool { return some(id, in.facts[id].tooSmall) },
		func(id string) bool {
			return some(id, func(p expander.Pod) bool { return p.Claims > 0 }) && !in.facts[id].accelerator()
		},
		func(id string) bool {
			mode := map[string]string{"none": "exclusive", "mps": "mps"}[in.facts[id].sharing]
			return slices.ContainsFunc(in.option(id).Pods, func(pod int) bool {
				own := in.workloadOf(pod)
				return own != nil && own.Sharing != "" && mode != "" && wantsGPU(in.req.Pods[pod]) && string(own.Sharing) != mode
			})
		},
		func(id string) bool {
			gpus := in.facts[id].gpus
			return gpus > 0 && some(id, func(p expander.Pod) bool {
				n := p.Requests.Extended["nvidia.com/gpu"]
				return n > 1 && n > gpus
			})
		},
	} {
		var kept []string
		for _, id := range left {
			if !drop(id) {
				kept = append(kept, id)
			}
		}
		if len(kept) > 0 {
			left = kept
		} else if n == 1 {
			allBlocked = true
		}
	}
	if allBlocked {
		oldest := time.Duration(0)
		for _, id := range left {
			oldest = max(oldest, in.facts[id].failedAgo)
		}
		left = slices.DeleteFunc(slices.Clone(left), func(id string) bool { return in.facts[id].failedAgo != oldest })
	}
	for _, stage := range w.Stages {
		var in1 []string
		for _, id := range left {
			if in.facts[id].inStage(stage) == 1 {
				in1 = append(in1, id)
			}
		}
		if len(in1) > 0 {
			left = in1
			break
		}
	}
	return in.twinTie(in.twinRank(w.Rank, left))
}

func (in *instance) twinRank(rank []expander.Criterion, left []string) []string {
	anyPrice := false
	for _, f := range in.facts {
		anyPrice = anyPrice || f.price > 0
	}
	for _, c := range rank {
		names := []expander.Criterion{c}
		if c.Name == expander.DollarsPerDollarNeeded && !anyPrice {
			names = []expander.Criterion{{Name: expander.GPUWaste}, {Name: expander.CPUMemWaste}}
		}
		for _, c := range names {
			best, unknown := math.Inf(1), false
			for _, id := range left {
				v := in.twinValue(c.Name, id)
				unknown = unknown || math.IsNaN(v)
				best = math.Min(best, map[bool]float64{true: math.Inf(1), false: v}[math.IsNaN(v)])
			}
			if unknown && c.Name != expander.Price || math.IsInf(best, 1) {
				continue
			}
			left = slices.DeleteFunc(slices.Clone(left), func(id string) bool {
				v := in.twinValue(c.Name, id)
				return math.IsNaN(v) || v > best+c.Tolerance+1e-9
			})
		}
	}
	return left
}

// twinValue is a criterion of which less is better; NaN is unknown.
func (in *instance) twinValue(name expander.CriterionName, id string) float64 {
	o, f := in.option(id), in.facts[id]
	node := in.group(id).Allocatable
	n := float64(o.NodeCount)
	cores, gib := float64(node.MilliCPU)/1000, float64(node.Memory)/(1<<30)
	var cpu, mem, gpu, soft, claims float64
	for _, pod := range o.Pods {
		p := in.req.Pods[pod]
		cpu += float64(p.Requests.MilliCPU) / 1000
		mem += float64(p.Requests.Memory) / (1 << 30)
		gpu += float64(p.Requests.Extended["nvidia.com/gpu"])
		claims += float64(p.Claims)
		if len(p.Preferred) > 0 && f.pool == "p0" {
			soft += 10
		}
	}
	switch name {
	case expander.PodsHelped:
		return -float64(len(o.Pods))
	case expander.SoftAffinity:
		return -soft / float64(len(o.Pods))
	case expander.Nodes:
		return n
	case expander.Size:
		return n * (cores + gib/4)
	case expander.CPUMemWaste:
		return (n*cores-cpu)/(n*cores) + (n*gib-mem)/(n*gib)
	case expander.GPUWaste:
		switch {
		case claims > 0:
			return math.NaN()
		case gpu == 0 && f.accelerator():
			return 1
		case gpu == 0:
			return 0
		case f.gpus == 0:
			return math.NaN()
		}
		return (n*float64(f.gpus) - gpu) / (n * float64(f.gpus))
	case expander.Price:
		if f.price == 0 {
			return math.NaN()
		}
		return n * f.price
	}
	return in.twinScore(o, id)
}

func (in *instance) group(id string) expander.Group {
	return in.req.Groups[slices.IndexFunc(in.req.Groups, func(g expander.Group) bool { return g.ID == id })]
}

// price is the known price of a node, else the estimate. Only the label value l4 names a model here.
func (in *instance) price(id string) float64 {
	f, node := in.facts[id], in.group(id).Allocatable
	if f.price > 0 {
		return f.price
	}
	machine := func(n expander.Resources) float64 {
		return 0.033174*float64(n.MilliCPU)/1000 + 0.004446*float64(n.Memory)/(1<<30)
	}
	perGPU := 0.70
	if f.labelled {
		sum, count := 0.0, 0.0
		for _, g := range in.req.Groups {
			if other := in.facts[g.ID]; other.labelled && other.gpus > 0 && other.price > 0 && other.capacity != expander.Spot {
				sum += math.Max(0, other.price-machine(g.Allocatable)) / float64(other.gpus)
				count++
			}
		}
		if count > 0 {
			perGPU = sum / count
		}
	}
	price := machine(node) + perGPU*float64(f.gpus)
	if f.capacity == expander.Spot {
		price *= 0.35
	}
	return price
}

func (in *instance) twinScore(o expander.Option, id string) float64 {
	needed := 0.0
	for _, pod := range o.Pods {
		p := in.req.Pods[pod]
		least := math.Inf(1)
		share := func(g expander.Group) float64 {
			f := in.facts[g.ID]
			s := math.Max(float64(p.Requests.MilliCPU)/float64(g.Allocatable.MilliCPU), float64(p.Requests.Memory)/float64(g.Allocatable.Memory))
			if gpus := p.Requests.Extended["nvidia.com/gpu"]; gpus > 0 && f.gpus > 0 {
				s = math.Max(s, float64(gpus)/float64(f.gpus))
			}
			if p.Claims > 0 && f.gpus > 0 {
				s = math.Max(s, 1/float64(f.gpus))
			}
			if s == 0 {
				s = 1.0 / 110
			}
			return s * in.price(g.ID)
		}
		for _, g := range in.req.Groups {
			fits := p.Requests.MilliCPU <= g.Allocatable.MilliCPU && p.Requests.Memory <= g.Allocatable.Memory &&
				p.Requests.Extended["nvidia.com/gpu"] <= in.facts[g.ID].gpus && (p.Claims == 0 || in.facts[g.ID].accelerator())
			if fits {
				least = math.Min(least, share(g))
			}
		}
		if math.IsInf(least, 1) {
			least = share(in.group(id))
		}
		needed += least
	}
	return float64(o.NodeCount) * in.price(id) / needed * math.Pow(in.price(id), 0.1)
}

// twinTie takes the fewest nodes, then the hash that the contract leaves open.
func (in *instance) twinTie(left []string) string {
	fewest := math.MaxInt
	for _, id := range left {
		if n := in.facts[id].nodes; n >= 0 {
			fewest = min(fewest, n)
		}
	}
	left = slices.DeleteFunc(slices.Clone(left), func(id string) bool { return in.facts[id].nodes > fewest })
	sort.Strings(left)
	var uids []string
	for _, p := range in.req.Pods {
		uids = append(uids, p.UID)
	}
	sort.Strings(uids)
	hash := fnv.New64a()
	hash.Write([]byte(strings.Join(uids, "\x00") + "\x00"))
	x := hash.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return left[(x^x>>31)%uint64(len(left))]
}
