package sim

import (
	"math"
	"testing"
	"time"
)

// TestDrain lets a short pod leave two nodes hardly used, so that one is emptied and its pod moves.
func TestDrain(t *testing.T) {
	groups := []GroupSpec{spec("g", 4000, 16, 0, 2)}
	pods := []PodSpec{
		podOf("a", monday, 3000, 1, 0, 10*time.Minute), podOf("b", monday, 3000, 1, 0, 10*time.Minute),
		podOf("c", monday, 1000, 1, 0, 5*time.Hour), podOf("d", monday, 1000, 1, 0, 5*time.Hour),
	}
	stay := Place(pods, groups, Options{Start: monday}, first)
	move := Place(pods, groups, Options{Start: monday, Drain: true}, first)
	if stay.Nodes != 2 || move.Nodes != 2 || move.Cost > 0.75*stay.Cost {
		t.Errorf("moving pods costs %v with %d nodes, leaving them %v with %d", move.Cost, move.Nodes, stay.Cost, stay.Nodes)
	}
	// The moved pod loses what it did since its start, at most LostWork.
	if limit := 2 * (5 + 1.5 + LostWork.Hours()); move.Cost > limit {
		t.Errorf("cost %v, want at most %v", move.Cost, limit)
	}
}

func TestClairvoyant(t *testing.T) {
	small, large := spec("small", 4000, 16, 1, 1), spec("large", 16000, 64, 4, 3)
	boot, idle := ((BootMin + BootMax) / 2).Hours(), ScaleDownIdle.Hours()
	one := []PodSpec{podOf("a", monday, 1000, 1, 1, 2*time.Hour)}
	if got, want := Clairvoyant(one, []GroupSpec{large, small}), boot+2+idle; math.Abs(got-want) > 1e-9 {
		t.Errorf("one pod costs %v, want %v: the small node", got, want)
	}
	// The second pod comes while the first node is idle but still there.
	later := append(one, podOf("b", monday.Add(2*time.Hour+5*time.Minute), 1000, 1, 1, time.Hour))
	added := later[1].Created.Add(time.Hour).Sub(monday.Add((BootMin + BootMax) / 2).Add(2 * time.Hour)).Hours()
	if got, want := Clairvoyant(later, []GroupSpec{small}), boot+2+added+idle; math.Abs(got-want) > 1e-9 {
		t.Errorf("two pods cost %v, want %v: the node is kept", got, want)
	}
	if got := Clairvoyant([]PodSpec{podOf("never", monday, 1000, 1, 9, time.Hour)}, []GroupSpec{small}); got != 0 {
		t.Errorf("a pod that fits nowhere costs %v", got)
	}
}

func TestInstantBound(t *testing.T) {
	groups := []GroupSpec{spec("cpu", 4000, 16, 0, 0.4), spec("g", 4000, 16, 1, 2), spec("g8", 32000, 128, 8, 15)}
	pods := []PodSpec{podOf("a", monday, 1000, 1, 0, 2*time.Hour), podOf("b", monday.Add(time.Hour), 1000, 1, 8, time.Hour)}
	// An hour with a quarter of a small node, but no less than a whole one; then an hour with the large node.
	if got, want := InstantBound(pods, groups), 0.4+15.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("bound %v, want %v", got, want)
	}
	if all := LowerBound(pods, groups); all > InstantBound(pods, groups) {
		t.Errorf("the bound over all time, %v, is above the one at every moment", all)
	}
}

func TestPlaceableMindsTheModel(t *testing.T) {
	g := spec("g", 4000, 16, 1, 2)
	g.Labels = map[string]string{"model": "t4"}
	fits, other := podOf("fits", monday, 1000, 1, 1, time.Hour), podOf("other", monday, 1000, 1, 1, time.Hour)
	fits.NodeSelector, other.NodeSelector = map[string]string{"model": "t4"}, map[string]string{"model": "a100"}
	got := Placeable([]PodSpec{fits, other, podOf("large", monday, 9000, 1, 1, time.Hour)}, []GroupSpec{g})
	if len(got) != 1 || got[0].UID != "fits" {
		t.Errorf("placeable %+v", got)
	}
}
