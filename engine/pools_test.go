package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// countingCluster is a cluster that counts accelerators, or cannot.
type countingCluster struct {
	Cluster
	known bool
}

func (c countingCluster) Accelerators() (offered, held map[string]int, ok bool) {
	return map[string]int{"busy": 16}, map[string]int{"busy": 11}, c.known
}

// TestCountAccelerators: a group without GPUs has none, one whose nodes cannot be counted is not known, and without a
// view nothing is.
func TestCountAccelerators(t *testing.T) {
	nodes := 2
	for _, known := range []bool{true, false} {
		groups := []NodeGroup{{Nodes: &nodes}, {Nodes: &nodes}, {}}
		groups[0].ID, groups[1].ID, groups[2].ID = "busy", "cpu", "unknown"
		e := &Engine{cluster: countingCluster{known: known}}
		e.countAccelerators(groups)
		type count struct{ offered, held int }
		got := map[string]count{}
		for _, g := range groups {
			if g.GPUsOffered != nil && g.GPUsHeld != nil {
				got[g.ID] = count{*g.GPUsOffered, *g.GPUsHeld}
			}
		}
		want := map[string]count{}
		if known {
			want = map[string]count{"busy": {16, 11}, "cpu": {0, 0}}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(count{})); diff != "" {
			t.Errorf("known %v (-want +got):\n%s", known, diff)
		}
	}
}
