package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

// formula is the rule of the placement experiments, written down once more in the shortest way: what the nodes cost
// over the least that the pods can cost, with a mild preference for small nodes; CPU-only pods keep off GPU groups.
func formula(groups []sim.GroupSpec, r expander.Request) (scores []float64) {
	least := func(p *expander.Pod) float64 {
		v := math.Inf(1)
		for i := range groups {
			if len(sim.Placeable([]sim.PodSpec{{Pod: *p}}, groups[i:i+1])) == 0 {
				continue
			}
			a, n := groups[i].Allocatable, p.Requests
			share := max(float64(n.MilliCPU)/float64(a.MilliCPU), float64(n.Memory)/float64(a.Memory))
			if cards := a.Extended[sim.GPU]; cards > 0 {
				share = max(share, float64(n.Extended[sim.GPU])/float64(cards))
			}
			v = min(v, share*groups[i].HourlyCost)
		}
		return v
	}
	for _, o := range r.Options {
		g := groups[slices.IndexFunc(groups, func(g sim.GroupSpec) bool { return g.ID == o.GroupID })]
		need := 0.0
		for _, i := range o.Pods {
			need += least(&r.Pods[i])
		}
		scores = append(scores, float64(o.NodeCount)*g.HourlyCost/need*math.Pow(g.HourlyCost, 0.10))
	}
	return scores
}

// guarded drops options that put CPU-only pods on GPU groups where another option does not.
func guarded(groups []sim.GroupSpec, r expander.Request, scores []float64) {
	spoils := func(o expander.Option) bool {
		g := groups[slices.IndexFunc(groups, func(g sim.GroupSpec) bool { return g.ID == o.GroupID })]
		return g.Allocatable.Extended[sim.GPU] > 0 && slices.ContainsFunc(o.Pods, func(i int) bool { return r.Pods[i].Requests.Extended[sim.GPU] == 0 })
	}
	if !slices.ContainsFunc(r.Options, func(o expander.Option) bool { return !spoils(o) }) {
		return
	}
	for i, o := range r.Options {
		if spoils(o) {
			scores[i] = math.Inf(1)
		}
	}
}

// TestWarmpoolFollowsTheFormula plays pods and compares every choice of the core with the formula. Where they differ,
// the core's answer must be as good, or pods that want a GPU must have waited behind CPU-only ones.
func TestWarmpoolFollowsTheFormula(t *testing.T) {
	var list []trace.Machine
	for i, name := range groupSets["large"] {
		cards := []int64{1, 4, 8, 8, 8}[i]
		list = append(list, trace.Machine{
			Type: name, MilliCPU: 8000 * cards, MemoryMi: 61440 * cards, AllocatableMilliCPU: 7900 * cards, AllocatableMemoryMi: 60000 * cards, GPUs: cards, GPUModel: name[:2],
			HourlyCost: []float64{3, 12, 24, 22, 55}[i],
		})
	}
	groups, err := Groups("large", list)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	start := time.Unix(0, 0).UTC()
	var pods []sim.PodSpec
	for i := range 400 {
		gpus := []int64{0, 1, 1, 2, 8}[rng.IntN(5)]
		pods = append(pods, sim.PodSpec{
			Pod: expander.Pod{UID: fmt.Sprint(i), Requests: expander.Resources{
				MilliCPU: 1000 * (1 + rng.Int64N(8)), Memory: (1 + rng.Int64N(30)) << 30, Extended: map[string]int64{sim.GPU: gpus},
			}},
			Created: start.Add(time.Duration(rng.IntN(20*86400)) * time.Second), Run: time.Duration(1+rng.IntN(200)) * time.Minute,
		})
	}
	choose, err := NewExpander("warmpool", groups)
	if err != nil {
		t.Fatal(err)
	}
	var requests, different int
	sim.Place(pods, groups, sim.Options{Start: start, Packing: sim.MostAllocated}, func(r expander.Request, v expander.View, now time.Time) []string {
		answer := choose(r, v, now)
		scores := formula(groups, r)
		guarded(groups, r, scores)
		at := slices.IndexFunc(r.Options, func(o expander.Option) bool { return o.GroupID == answer[0] })
		requests++
		if best := slices.Min(scores); scores[at] > best*(1+1e-6) {
			different++
			mixed := slices.ContainsFunc(r.Pods, func(p expander.Pod) bool { return p.Requests.Extended[sim.GPU] == 0 })
			if !mixed {
				t.Errorf("at %s: %s scores %v, the best option %v", now, answer[0], scores[at], best)
			}
		}
		return answer
	})
	t.Logf("%d requests, %d answered otherwise", requests, different)
	if requests < 100 || different > requests/20 {
		t.Errorf("%d of %d requests answered otherwise", different, requests)
	}
}
