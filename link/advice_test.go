package link

import (
	"math"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestAdviseBase(t *testing.T) {
	if a := AdviseBase(make([]float64, 10), 0.35); a.Base != 0 || !strings.Contains(a.Text, "no advice yet") {
		t.Errorf("ten slots: %+v", a)
	}
	needs := []float64{math.NaN(), math.Inf(1), -1}
	for i := range 1000 {
		switch {
		case i < 50:
			needs = append(needs, 2)
		case i < 500:
			needs = append(needs, 4)
		default:
			needs = append(needs, 12)
		}
	}
	a := AdviseBase(needs, 0.35)
	if a.Samples != 1000 || a.P10 != 4 || a.P50 != 4 || a.Peak != 12 || a.Base != 4 {
		t.Fatalf("%+v", a)
	}
	// Work 7900 replica slots, of which 50 x 2 + 950 x 4 stay on a base of 4; the bill is 4000 + 0.35 x 4000 over 0.35 x 7900.
	if math.Abs(a.Kept-3900.0/7900) > 1e-9 || math.Abs(a.Dearer-(5400/(0.35*7900)-1)) > 1e-9 {
		t.Errorf("kept %v, dearer %v", a.Kept, a.Dearer)
	}
	if want := "a base of 4 would carry 49 % of last week's work"; !strings.Contains(a.Text, want) {
		t.Errorf("%q does not say %q", a.Text, want)
	}
}

func TestAdviseReturn(t *testing.T) {
	on := []Replica{replica("a", OnDemand), replica("b", OnDemand), replica("c", Spot)}
	calm := ReturnPool{Pool: "spot-a", HourlyCost: 0.35, Deliverable: true, ReclaimsPerHour: 0.01}
	if a := AdviseReturn(on, 0, 1, []ReturnPool{calm}); a.Replicas != 2 || a.Pool != "spot-a" || math.Abs(a.SavesPerHour-1.3) > 1e-9 {
		t.Errorf("calm spot: %+v", a)
	}
	if a := AdviseReturn(on, 2, 1, []ReturnPool{calm}); a.Replicas != 0 {
		t.Errorf("both belong to the base: %+v", a)
	}
	for name, p := range map[string]ReturnPool{
		"cannot deliver": {Pool: "x"}, "lost 2.00 of its nodes": {Pool: "x", Deliverable: true, ReclaimsPerHour: 2},
		"has not run long enough": {Pool: "x", Deliverable: true, ReclaimsPerHour: -1},
	} {
		if a := AdviseReturn(on, 0, 1, []ReturnPool{p}); a.Replicas != 0 || !strings.Contains(a.Text, name) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// Replicas on one node cost that node, once.
func TestLedgerCountsANodeOnce(t *testing.T) {
	var replicas []Replica
	for _, id := range []string{"a", "b", "c", "d"} {
		r := replica(id, OnDemand)
		r.Node = "of-four"
		replicas = append(replicas, r)
	}
	replicas = append(replicas, replica("alone", OnDemand))
	var l Ledger
	l.Hold(replicas, func(string) (float64, bool) { return 4, true })
	if math.Abs(l.HourlyCost-8) > 1e-9 || len(l.Holdings) != 1 || math.Abs(l.Holdings[0].HourlyCost-8) > 1e-9 || l.CostUnknown != 0 {
		t.Errorf("two nodes at $4: %+v", l)
	}
}

// What people read has its nouns in the right number, and promises no saving where there is none.
func TestAdviceInWords(t *testing.T) {
	needs := make([]float64, leastDemand)
	for i := range needs {
		needs[i] = 1
	}
	if a := AdviseBase(needs, 0.35); !strings.HasPrefix(a.Text, "10th percentile 1 replica, median 1, peak 1: a base of 1 ") {
		t.Errorf("%q", a.Text)
	}
	on := []Replica{replica("a", OnDemand)}
	calm := ReturnPool{Pool: "spot-a", HourlyCost: 0.35, Deliverable: true, ReclaimsPerHour: 0.01}
	unpriced := ReturnPool{Pool: "spot-b", Deliverable: true, ReclaimsPerHour: 0.01}
	if a := AdviseReturn(on, 0, 1, []ReturnPool{unpriced, calm}); a.Pool != "spot-a" || !strings.HasPrefix(a.Text, "1 replica on fall-back nodes could go back to spot-a and save $0.65 an hour") {
		t.Errorf("%+v: a pool without a price comes last", a)
	}
	if a := AdviseReturn(on, 0, 1, []ReturnPool{unpriced}); a.Replicas != 1 || a.Pool != "spot-b" || a.SavesPerHour != 0 {
		t.Errorf("without a price: %+v", a)
	}
	calm.HourlyCost = 1.2
	if a := AdviseReturn(on, 0, 1, []ReturnPool{calm}); a.Replicas != 0 || a.Text != "1 replica on fall-back nodes, nothing to go back to: spot-a is no cheaper" {
		t.Errorf("dearer spot: %+v", a)
	}
	s := Assess([]PoolState{{Pool: "od", Nodes: 1, Max: 1}, {Pool: "spot", Nodes: 0, Max: 0}}, 0, noon)
	if want := "no capacity until a limit is raised; 0 of 1 replica can have a node; od is at its maximum of 1 node; spot is at its maximum of 0 nodes"; s.Text(1) != want {
		t.Errorf("%q, want %q", s.Text(1), want)
	}
}

func TestLedger(t *testing.T) {
	waiting := replica("w", Unknown)
	waiting.Node, waiting.Pool, waiting.Ready = "", "", false
	doomed := replica("d", Spot)
	doomed.Doomed = noon
	var l Ledger
	l.Hold([]Replica{replica("s", Spot), doomed, replica("o", OnDemand), replica("r", Reserved), waiting}, func(pool string) (float64, bool) {
		return map[string]float64{"spot": 0.35, "on-demand": 1}[pool], pool != "reserved"
	})
	l.Await([]Waiting{{"w", 3, "spot", noon}, {"x", 4, "spot", noon.Add(time.Minute)}}, []Late{{Attempt: 3, Pool: "spot"}})
	want := []Holding{{Reserved, "reserved", 1, 1, 0}, {OnDemand, "on-demand", 1, 1, 1}, {Spot, "spot", 2, 2, 0.7}}
	if diff := gocmp.Diff(want, l.Holdings); diff != "" {
		t.Errorf("holdings (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]OnTheWay{{"spot", 2, noon, 1}}, l.OnTheWay); diff != "" {
		t.Errorf("on the way (-want +got):\n%s", diff)
	}
	if l.Count(Spot) != 2 || l.Doomed.Replicas != 1 || l.CostUnknown != 1 || math.Abs(l.HourlyCost-1.7) > 1e-9 {
		t.Errorf("%+v", l)
	}
}
