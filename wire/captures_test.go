package wire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// captures holds what each recording must decode to. Options are counted as group, nodes, pods; the pods of a
// request are distinct, so none of them is counted for both generations of the protocol.
var captures = map[string]struct {
	pods           int
	options        []string
	typed, asBytes bool
}{
	"ca133-002": {10, []string{"cpu-std x4: 4", "gpu-a100 x4: 6", "gpu-h100 x3: 4", "gpu-l4 x1: 1"}, true, false},
	"ca133-004": {5, []string{"gpu-a100 x4: 5", "gpu-h100 x3: 4"}, true, false},
	"ca134-001": {12, []string{"cpu-std x4: 4", "gpu-a100 x4: 8", "gpu-h100 x3: 4", "gpu-l4 x3: 3"}, true, true},
	"ca134-002": {8, []string{"gpu-a100 x4: 8", "gpu-h100 x3: 4", "gpu-l4 x3: 3"}, true, true},
	"ca134-003": {5, []string{"gpu-a100 x4: 5", "gpu-h100 x3: 4"}, true, true},
	"ca134-004": {24, []string{"gpu-a100 x1: 8", "gpu-h100 x3: 24", "gpu-l4 x12: 12"}, true, true},
	"ca136-001": {3, []string{"gpu-a100 x1: 3", "gpu-h100 x1: 3", "gpu-l4 x3: 3"}, false, true},
	"ca136-002": {7, []string{"gpu-a100 x4: 7", "gpu-h100 x3: 4", "gpu-l4 x2: 2"}, false, true},
	"ca136-006": {7, []string{"gpu-a100 x4: 7", "gpu-h100 x3: 4", "gpu-l4 x2: 2"}, false, true},
	"ca136-009": {4, []string{"cpu-std x4: 4"}, false, true},
	"ca136-010": {2, []string{"cpu-std x2: 2"}, false, true},
	"ca136-011": {19, []string{"gpu-a100 x1: 1", "gpu-h100 x3: 10", "gpu-l4 x17: 17"}, false, true},
	"ca136-013": {17, []string{"gpu-l4 x17: 17"}, false, true},
	"ca136-014": {33, []string{"gpu-a100 x5: 33", "gpu-h100 x3: 17", "gpu-l4 x20: 20"}, false, true},
}

func capture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "captures", name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCaptures(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.bin")
	if err != nil || len(files) != len(captures) {
		t.Fatalf("%d captures, error %v", len(files), err)
	}
	for name, want := range captures {
		t.Run(name, func(t *testing.T) {
			message := capture(t, name)
			agree(t, message, 1, 100, 16_384)
			req, stats := decode(t, message)
			var options []string
			for _, o := range req.Options {
				options = append(options, fmt.Sprintf("%s x%d: %d", o.GroupID, o.NodeCount, len(o.Pods)))
			}
			slices.Sort(options)
			if diff := cmp.Diff(want.options, options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if len(req.Pods) != want.pods || stats.Typed != want.typed || stats.AsBytes != want.asBytes {
				t.Errorf("%d pods, stats %+v, want %d pods", len(req.Pods), stats, want.pods)
			}
			checkFleet(t, req)
		})
	}
}

// checkFleet compares groups and pods with the simulated fleet that all recordings come from.
func checkFleet(t *testing.T, req expander.Request) {
	t.Helper()
	capacity := map[string][3]int64{ // milli CPU, GiB, GPUs
		"cpu-std": {8000, 32, 0}, "gpu-l4": {8000, 32, 1}, "gpu-a100": {96_000, 1360, 8}, "gpu-h100": {208_000, 1872, 8},
	}
	if len(req.Groups) != len(capacity) {
		t.Errorf("%d groups, want %d", len(req.Groups), len(capacity))
	}
	for _, g := range req.Groups {
		got := [3]int64{g.Capacity.MilliCPU, g.Capacity.Memory >> 30, g.Capacity.Extended["nvidia.com/gpu"]}
		if got != capacity[g.ID] {
			t.Errorf("group %s: capacity %v, want %v", g.ID, got, capacity[g.ID])
		}
		if isGPU := strings.HasPrefix(g.ID, "gpu-"); isGPU != (len(g.Taints) > 0) || isGPU != (g.Labels["nvidia.com/gpu.product"] != "") {
			t.Errorf("group %s: taints %v, labels %v", g.ID, g.Taints, g.Labels)
		}
	}
	demand := map[string][3]int64{
		"default/llm": {2000, 8, 1}, "team-a/big": {32_000, 256, 8}, "team-a/mid": {8000, 64, 4}, "default/cpuonly": {6000, -1, 0},
	}
	uids := map[string]bool{}
	for i := range req.Pods {
		p := &req.Pods[i]
		workload := p.Namespace + "/" + strings.SplitN(p.Name, "-", 2)[0]
		want, known := demand[workload]
		got := [3]int64{p.Requests.MilliCPU, p.Requests.Memory >> 30, p.Requests.Extended["nvidia.com/gpu"]}
		if want[1] < 0 { // not part of the description
			want[1] = got[1]
		}
		if !known || got != want || p.UID == "" || uids[p.UID] || p.OwnerUID == "" {
			t.Errorf("pod %s/%s (%s): requests %v, want %v", p.Namespace, p.Name, p.UID, got, want)
		}
		uids[p.UID] = true
	}
}

// Two loops saw the same situation: the order of everything and the names of the templates differ, and a capped
// option covers another one of several equal pods, nothing else.
func TestSameSituationInAnotherLoop(t *testing.T) {
	first, _ := decode(t, capture(t, "ca136-002"))
	second, _ := decode(t, capture(t, "ca136-006"))
	if slices.EqualFunc(first.Options, second.Options, func(a, b expander.Option) bool { return a.GroupID == b.GroupID }) &&
		slices.EqualFunc(first.Pods, second.Pods, func(a, b expander.Pod) bool { return a.UID == b.UID }) {
		t.Error("the recordings have the same order: they show nothing")
	}
	if diff := cmp.Diff(byName(first), byName(second)); diff != "" {
		t.Errorf("(-ca136-002 +ca136-006):\n%s", diff)
	}
}

type named struct {
	Counts map[string]int
	// Covers holds the owners of the pods of an option.
	Covers map[string][]string
	Pods   map[string]expander.Pod
	Groups map[string]expander.Group
}

func byName(r expander.Request) named {
	n := named{map[string]int{}, map[string][]string{}, map[string]expander.Pod{}, map[string]expander.Group{}}
	for _, o := range r.Options {
		n.Counts[o.GroupID] = o.NodeCount
		for _, p := range o.Pods {
			n.Covers[o.GroupID] = append(n.Covers[o.GroupID], r.Pods[p].OwnerUID)
		}
		slices.Sort(n.Covers[o.GroupID])
	}
	for _, p := range r.Pods {
		n.Pods[p.UID] = p
	}
	for _, g := range r.Groups {
		delete(g.Labels, "kubernetes.io/hostname") // the name of the template
		n.Groups[g.ID] = g
	}
	return n
}
