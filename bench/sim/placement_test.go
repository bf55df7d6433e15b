package sim

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestPlace follows two pods on one kind of node.
func TestPlace(t *testing.T) {
	groups := []GroupSpec{spec("g", 4000, 16, 1, 2)}
	pods := []PodSpec{
		podOf("a", monday, 1000, 1, 1, time.Hour), podOf("b", monday.Add(90*time.Minute), 1000, 1, 1, time.Hour),
		podOf("never", monday, 1000, 1, 2, time.Hour),
	}
	p := Place(pods, groups, Options{Start: monday}, first)
	// Each: ordered at 30 s, ready after 2 min, an hour of work, ten minutes idle.
	want := 2 * 2 * (120 + 3600 + 600) / 3600.0
	if math.Abs(p.Cost-want) > 1e-9 || p.Nodes != 2 || p.ScaleUps != 2 || p.Unplaceable != 1 || len(p.Waits) != 2 {
		t.Errorf("%+v; want cost %v", p, want)
	}
	if share := p.BusyGPUHours / p.GPUHours; math.Abs(share-3600.0/4320) > 1e-9 {
		t.Errorf("busy share %v", share)
	}
}

// TestLowerBound checks the bound against hand-made cases, and that no run undercuts it.
func TestLowerBound(t *testing.T) {
	one := []GroupSpec{spec("g", 4000, 16, 1, 2)}
	pods := []PodSpec{podOf("a", monday, 1000, 1, 1, 3*time.Hour)}
	if got := LowerBound(pods, one); math.Abs(got-6) > 1e-9 { // a whole GPU node for three hours
		t.Errorf("bound %v, want 6", got)
	}
	two := append(one, spec("cpu", 4000, 16, 0, 0.4))
	pods = append(pods, podOf("b", monday, 4000, 1, 0, time.Hour)) // 4 core-hours: 9 are free beside a
	if got := LowerBound(pods, two); math.Abs(got-6) > 1e-9 {
		t.Errorf("bound %v, want 6: the second pod fits beside the first", got)
	}
	pods = append(pods, podOf("c", monday, 4000, 1, 0, 10*time.Hour)) // 47 core-hours in all, 12 of them on the GPU node
	if got := LowerBound(pods, two); math.Abs(got-(6+0.1*35)) > 1e-9 {
		t.Errorf("bound %v, want 9.5", got)
	}
	var many []PodSpec
	for i := range 40 {
		many = append(many, podOf(fmt.Sprint(i), monday.Add(time.Duration(i*7)*time.Minute), int64(1+i%3)*1000, int64(1+i%9), int64(i%2), time.Duration(20+i)*time.Minute))
	}
	if p, bound := Place(many, two, Options{Start: monday}, first), LowerBound(many, two); p.Cost < bound {
		t.Errorf("a run costs %v, below the bound %v", p.Cost, bound)
	}
}
