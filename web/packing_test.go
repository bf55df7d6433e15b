package web

import (
	"testing"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/link"
)

// A node group whose pods are spread is a finding with the numbers and a remedy, with and without an expander; a packed
// one is none.
func TestSpreadIsAFinding(t *testing.T) {
	packing := []engine.Packing{{SparePerHour: 12.5}, {Packing: link.Packing{Pool: "packed"}}, {}}
	packing[0].Packing = link.AssessPacking([]link.GPUNode{
		{Pool: "a100", Offered: 8, Held: []int{4}}, {Pool: "a100", Offered: 8, Held: []int{4}},
	})[0]
	packing[2].Packing = link.AssessPacking([]link.GPUNode{{Offered: 4, Held: []int{1}}, {Offered: 4, Held: []int{1}}})[0]
	for _, configured := range []bool{true, false} {
		var found []Warning
		for _, w := range warningsOf(&engine.Status{Source: true}, nil, &engine.Pools{Configured: configured, Packing: packing}, decisions.Stats{}) {
			if w.Code == "gpus-spread" {
				found = append(found, w)
			}
		}
		if len(found) != 2 || found[0].Group != "a100" || found[1].Subject != "nodes with 4 GPUs" || found[0].Remedy == "" {
			t.Fatalf("findings %+v", found)
		}
		want := "pods are spread, not packed: 8 GPUs are free in fragments on 2 of 2 nodes in use, at most 4 on one; 1 node of 8 GPUs would hold the same pods, $12.50 an hour less"
		if found[0].Text != want {
			t.Errorf("text %q, want %q", found[0].Text, want)
		}
	}
}
