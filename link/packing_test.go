package link_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/link"
)

func TestAssessPacking(t *testing.T) {
	got := link.AssessPacking([]link.GPUNode{
		{Pool: "a100", Offered: 8, Held: []int{4}},
		{Pool: "a100", Offered: 8, Held: []int{2}},
		{Pool: "a100", Offered: 8, Held: []int{1, 1}},
		{Pool: "a100", Offered: 8},
		{Pool: "single", Offered: 1, Held: []int{1}},
		{Pool: "single", Offered: 1},
		{Pool: "packed", Offered: 4, Held: []int{4}},
		{Pool: "packed", Offered: 4, Held: []int{2, 1}},
		{Offered: 2, Held: []int{1}},
		{Offered: 2, Held: []int{1}},
	})
	want := []link.Packing{
		{
			PerNode: 2, Nodes: 2, Used: 2, Partial: 2, Held: 2, Fragments: 2, Free: 2, Enough: 1, LargestFree: 1, Spreads: true,
			Text: "2 GPUs are free in fragments on 2 of 2 nodes in use, at most 1 on one; 1 node of 2 GPUs would hold the same pods",
		},
		{
			Pool: "a100", PerNode: 8, Nodes: 4, Used: 3, Partial: 3, Held: 8, Fragments: 16, Free: 24, Enough: 1, LargestFree: 8, Spreads: true,
			Text: "16 GPUs are free in fragments on 3 of 3 nodes in use, at most 8 on one; 1 node of 8 GPUs would hold the same pods",
		},
		{Pool: "packed", PerNode: 4, Nodes: 2, Used: 2, Partial: 1, Held: 7, Fragments: 1, Free: 1, Enough: 2, LargestFree: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A few nodes of many are no finding: pods come and go.
func TestFewFragmentsAreNoFinding(t *testing.T) {
	nodes := []link.GPUNode{{Pool: "p", Offered: 2, Held: []int{1}}, {Pool: "p", Offered: 2, Held: []int{1}}}
	for range 28 {
		nodes = append(nodes, link.GPUNode{Pool: "p", Offered: 2, Held: []int{2}})
	}
	if got := link.AssessPacking(nodes)[0]; got.Spreads || got.Spare() != 1 {
		t.Errorf("%+v", got)
	}
}

// Enough is never more than what is used, never less than the sum of the GPUs needs, and what is counted adds up.
func TestPackingAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []link.GPUNode
		held, offered := 0, 0
		for range rapid.IntRange(1, 12).Draw(t, "nodes") {
			n := link.GPUNode{Pool: "p", Offered: 8}
			for left := 8; left > 0; {
				h := rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "held")
				if h == 0 || h > left {
					break
				}
				n.Held = append(n.Held, h)
				left -= h
				held += h
			}
			offered += 8
			nodes = append(nodes, n)
		}
		p := link.AssessPacking(nodes)[0]
		if p.Held != held || p.Held+p.Free != offered || p.Fragments > p.Free || p.Partial > p.Used {
			t.Fatalf("%+v does not add up", p)
		}
		if least := (held + 7) / 8; p.Enough != least { // powers of two pack without waste
			t.Fatalf("%d nodes are enough, want %d", p.Enough, least)
		}
		if diff := cmp.Diff([]link.Packing{p}, link.AssessPacking(nodes), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
