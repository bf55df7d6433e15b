package builtin_test

import (
	"math"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/expander/builtin"
)

const gib = 1 << 30

func node(id string, cores, memoryGiB float64) expander.Group {
	return expander.Group{ID: id, Capacity: expander.Resources{MilliCPU: int64(cores * 1000), Memory: int64(memoryGiB * gib)}}
}

// request has pods of one size, and one option per group that serves them all.
func request(pods int, cores, memoryGiB float64, nodes []int, groups ...expander.Group) expander.Request {
	req := expander.Request{Groups: groups}
	var all []int
	for i := range pods {
		all = append(all, i)
		req.Pods = append(req.Pods, expander.Pod{Requests: expander.Resources{MilliCPU: int64(cores * 1000), Memory: int64(memoryGiB * gib)}})
	}
	for i, g := range groups {
		req.Options = append(req.Options, expander.Option{GroupID: g.ID, NodeCount: nodes[i], Pods: all})
	}
	return req
}

// The worked cases of the Cluster Autoscaler contract.
func TestLeastWasteWorkedCases(t *testing.T) {
	for _, test := range []struct {
		name   string
		req    expander.Request
		scores []float64
		want   []string
	}{
		{"a GPU machine with a little less memory wins", request(1, 3, 12, []int{1, 1}, node("cpu", 4, 16), node("gpu", 4, 15.9)), []float64{0.5, 0.4953}, []string{"gpu"}},
		{"half of the GPUs idle is a tie", request(4, 5, 10, []int{4, 2}, node("small", 8, 32), node("large", 16, 64)), []float64{1.0625, 1.0625}, []string{"small", "large"}},
		{"no CPU and memory requests tie everything", request(1, 0, 0, []int{1, 1, 1}, node("1", 8, 32), node("4", 48, 192), node("8", 96, 1152)), []float64{2, 2, 2}, []string{"1", "4", "8"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, want := range test.scores {
				if got := expander.LeastWasteScore(test.req, &test.req.Options[i], &test.req.Groups[i]); math.Abs(got-want) > 1e-4 {
					t.Errorf("score of %s is %.5f, want %.5f", test.req.Groups[i].ID, got, want)
				}
			}
			if diff := cmp.Diff(test.want, builtin.LeastWaste(test.req)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeastWasteEdges(t *testing.T) {
	normal, hollow := node("normal", 8, 32), node("hollow", 0, 0)
	for _, test := range []struct {
		name string
		req  expander.Request
		want []string
	}{
		{"no capacity with requests always wins", request(1, 1, 1, []int{1, 1}, normal, hollow), []string{"hollow"}},
		{"no nodes with requests always wins", request(1, 1, 1, []int{1, 0}, normal, node("none", 8, 32)), []string{"none"}},
		{"not a number wins in first place", request(1, 0, 0, []int{1, 1}, hollow, normal), []string{"hollow"}},
		{"not a number never wins elsewhere", request(1, 0, 0, []int{1, 1}, normal, hollow), []string{"normal"}},
		{"no options", expander.Request{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, builtin.LeastWaste(test.req)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
	req := request(1, 1, 1, []int{1}, normal)
	req.Options = append([]expander.Option{{GroupID: "no-template", NodeCount: 1}}, req.Options...)
	if diff := cmp.Diff([]string{"normal"}, builtin.LeastWaste(req)); diff != "" {
		t.Errorf("an option without a template is not dropped (-want +got):\n%s", diff)
	}
}

func TestMostPodsAndLeastNodes(t *testing.T) {
	req := request(3, 1, 1, []int{3, 2, 2, 0}, node("a", 1, 1), node("b", 2, 2), node("c", 2, 2), node("d", 9, 9))
	req.Options[0].Pods = req.Options[0].Pods[:2]
	if diff := cmp.Diff([]string{"b", "c", "d"}, builtin.MostPods(req)); diff != "" {
		t.Errorf("most-pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, builtin.LeastNodes(req)); diff != "" {
		t.Errorf("least-nodes, which skips options without nodes (-want +got):\n%s", diff)
	}
	for i := range req.Options {
		req.Options[i].Pods = nil
	}
	if got := builtin.MostPods(req); len(got) != 4 {
		t.Errorf("options without pods do not all tie: %v", got)
	}
}

func TestPriority(t *testing.T) {
	req := request(1, 1, 1, []int{1, 1, 1}, node("spot-a", 1, 1), node("spot-b", 1, 1), node("od", 1, 1))
	for _, test := range []struct {
		name       string
		priorities builtin.Priorities
		want       []string
	}{
		{"highest match", builtin.Priorities{10: {regexp.MustCompile(".*")}, 50: {regexp.MustCompile("spot")}}, []string{"spot-a", "spot-b"}},
		{"unanchored", builtin.Priorities{50: {regexp.MustCompile("d$")}}, []string{"od"}},
		{"a higher one without a match does not count", builtin.Priorities{90: {regexp.MustCompile("none")}, 1: {regexp.MustCompile("od")}}, []string{"od"}},
		{"nothing matches", builtin.Priorities{1: {regexp.MustCompile("none")}}, []string{"spot-a", "spot-b", "od"}},
		{"below -1 never matches", builtin.Priorities{-2: {regexp.MustCompile("od")}}, []string{"spot-a", "spot-b", "od"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, builtin.Priority(req, test.priorities)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrice(t *testing.T) {
	prices := map[string]float64{"fit": 0.40, "huge": 0.39, "gpu": 0.30, "gpu2": 0.50}
	pricing := builtin.Pricing{
		Node:         func(g expander.Group) (float64, bool) { p, ok := prices[g.ID]; return p, ok },
		Pod:          func(r expander.Resources) float64 { return 0.03*float64(r.MilliCPU)/1000 + 0.004*float64(r.Memory)/gib },
		HasGPU:       func(g expander.Group) bool { return g.ID == "gpu" || g.ID == "gpu2" },
		ClusterNodes: 20,
	}
	req := request(2, 2, 4, []int{2, 2, 1, 1, 1}, node("fit", 4, 16), node("huge", 64, 256), node("gpu", 4, 16), node("gpu2", 4, 16), node("unpriced", 4, 16))
	if diff := cmp.Diff([]string{"fit"}, builtin.Price(req, pricing)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	// By hand: support 0.5 cores and 500 MiB cost 0.015 + 0.004*500/1024 = 0.016953; pods 2*(0.06+0.016) = 0.152.
	support := 0.015 + 0.004*500/1024
	score, _ := builtin.PriceScore(req, &req.Options[0], req.Groups[0], pricing)
	if want := (2*0.40 + support) / (0.152 + support); math.Abs(score-want) > 1e-12 {
		t.Errorf("score of a node of the preferred size is %v, want %v", score, want)
	}
	huge, _ := builtin.PriceScore(req, &req.Options[1], req.Groups[1], pricing)
	if want := (15*(1-math.Tanh(1.0/15)) + 1) * (2*0.39 + support) / (0.152 + support); math.Abs(huge-want) > 1e-9 {
		t.Errorf("score of a node of 16 times the size is %v, want %v", huge, want)
	}
	pricing.Exists = func(id string) bool { return id != "fit" }
	if twice, _ := builtin.PriceScore(req, &req.Options[0], req.Groups[0], pricing); math.Abs(twice-2*score) > 1e-12 {
		t.Errorf("score of a group to be created is %v, want %v", twice, 2*score)
	}
	req.Options = req.Options[2:]
	if diff := cmp.Diff([]string{"gpu"}, builtin.Price(req, pricing)); diff != "" {
		t.Errorf("among GPU groups the price decides (-want +got):\n%s", diff)
	}
}

func TestRandom(t *testing.T) {
	req := request(1, 1, 1, []int{1, 1, 1}, node("a", 1, 1), node("b", 1, 1), node("c", 1, 1))
	counts := map[string]int{}
	for seed := range uint64(3000) {
		kept := builtin.Random(req, seed)
		if len(kept) != 1 {
			t.Fatalf("kept %v, want one", kept)
		}
		counts[kept[0]]++
	}
	for id, n := range counts {
		if n < 900 || n > 1100 {
			t.Errorf("%s drawn %d times of 3000, want about 1000", id, n)
		}
	}
	if got := builtin.Random(expander.Request{}, 1); got != nil {
		t.Errorf("drew %v from nothing", got)
	}
}
