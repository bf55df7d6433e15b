package link

import (
	"cmp"
	"fmt"
	"slices"
)

// GPUNode is one node with what its pods hold of its GPUs, as the scheduler counts them.
type GPUNode struct {
	// Pool is its node group; empty is unknown.
	Pool    string
	Offered int
	// Held are the GPUs of each pod that holds any.
	Held []int
}

// Packing is how the GPUs of one node group are used.
type Packing struct {
	// Pool is the node group; empty stands for the nodes of no known group with as many GPUs each as PerNode says.
	Pool    string `json:"pool"`
	PerNode int    `json:"perNode"`
	// Nodes counts all of them, Used those on which a pod holds a GPU, Partial those of them that have some free as well.
	Nodes   int `json:"nodes"`
	Used    int `json:"used"`
	Partial int `json:"partial"`
	// Held are the GPUs that pods hold, Fragments those that are free on nodes in use, Free all that are free.
	Held      int `json:"held"`
	Fragments int `json:"fragments"`
	Free      int `json:"free"`
	// Enough is how many nodes would hold the same pods, each as it is, by GPUs alone.
	Enough int `json:"enough"`
	// LargestFree is the most GPUs that are free on one node.
	LargestFree int `json:"largestFree"`
	// Spreads tells that so many fewer nodes would do that the scheduler must be spreading the pods.
	Spreads bool   `json:"spreads"`
	Text    string `json:"text,omitempty"`
}

// Spare is how many of the nodes in use could go.
func (p *Packing) Spare() int { return max(0, p.Used-p.Enough) }

// spreadShare is the share of the nodes in use that packing has to spare, and at least one, before it is worth a word:
// pods come and go, and some fragments always are.
const spreadShare = 0.1

// AssessPacking looks at the node groups whose nodes have several GPUs, in the order of their names. Enough is found by
// first-fit decreasing, which for pods of 1, 2, 4 and 8 GPUs is the least number; CPU, memory and constraints of pods may
// ask for more nodes than that.
func AssessPacking(nodes []GPUNode) []Packing {
	type key struct {
		pool    string
		perNode int
	}
	all := map[key]*Packing{}
	held := map[key][]int{}
	for _, n := range nodes {
		if n.Offered < 2 {
			continue
		}
		k := key{n.Pool, n.Offered}
		p := all[k]
		if p == nil {
			p = &Packing{Pool: n.Pool, PerNode: n.Offered}
			all[k] = p
		}
		p.add(n)
		held[k] = append(held[k], n.Held...)
	}
	out := make([]Packing, 0, len(all))
	for k, p := range all {
		p.Enough = min(p.Used, binsFor(held[k], k.perNode))
		p.Spreads = float64(p.Spare()) >= max(1, spreadShare*float64(p.Used))
		if p.Spreads {
			p.Text = p.words()
		}
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Packing) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.PerNode, b.PerNode)) })
	return out
}

func (p *Packing) add(n GPUNode) {
	used := 0
	for _, h := range n.Held {
		used += h
	}
	free := max(0, n.Offered-used)
	p.Nodes++
	p.Held += used
	p.Free += free
	p.LargestFree = max(p.LargestFree, free)
	if used == 0 {
		return
	}
	p.Used++
	p.Fragments += free
	if free > 0 {
		p.Partial++
	}
}

// binsFor is how many nodes hold the pods: the largest first, each on the first node that has room.
func binsFor(held []int, perNode int) int {
	order := slices.Clone(held)
	slices.SortFunc(order, func(a, b int) int { return b - a })
	var free []int
	for _, h := range order {
		if i := slices.IndexFunc(free, func(f int) bool { return f >= h }); i >= 0 {
			free[i] -= h
		} else {
			free = append(free, perNode-h)
		}
	}
	return len(free)
}

func (p *Packing) words() string {
	are := " are"
	if p.Fragments == 1 {
		are = " is"
	}
	return fmt.Sprintf("%s free in fragments on %d of %s in use, at most %d on one; %s of %d GPUs would hold the same pods",
		counted(p.Fragments, "GPU")+are, p.Partial, counted(p.Used, "node"), p.LargestFree, counted(p.Enough, "node"), p.PerNode)
}
