package link

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	noon      = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	unlimited = Rate{Burst: 1 << 20}
)

func replica(id string, c Capacity) Replica {
	return Replica{ID: id, Name: id, Node: "n-" + id, Pool: string(c), Capacity: c, Ready: true, Created: noon.Add(-time.Hour)}
}

// deleted is the order in which a ReplicaSet removes pods, by the rules of its documentation: without a node first,
// then not ready, then the lower deletion cost, then the younger.
func deleted(replicas []Replica) []string {
	order := slices.Clone(replicas)
	number := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b Replica) int {
		return cmp.Or(
			cmp.Compare(number(a.Node != ""), number(b.Node != "")), cmp.Compare(number(a.Ready), number(b.Ready)),
			cmp.Compare(carried(&a), carried(&b)), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID),
		)
	})
	ids := make([]string, len(order))
	for i := range order {
		ids[i] = order[i].ID
	}
	return ids
}

func apply(replicas []Replica, changes []CostChange) []Replica {
	out := slices.Clone(replicas)
	for _, c := range changes {
		out[slices.IndexFunc(out, func(r Replica) bool { return r.ID == c.ID })].Cost = new(c.Cost)
	}
	return out
}

func TestScaleInTakesFallBackFirst(t *testing.T) {
	loading := replica("loading-spot", Spot)
	loading.Ready = false
	doomed := replica("doomed", Spot)
	doomed.Doomed = noon
	target := Target{Owner: "ReplicaSet", Replicas: []Replica{
		replica("reserved", Reserved), replica("spot", Spot), replica("on-demand", OnDemand), doomed, loading,
	}}
	plan, _ := PlanCosts(target, 0, unlimited, Bucket{}, noon)
	got := deleted(apply(target.Replicas, plan.Changes))
	want := []string{"loading-spot", "doomed", "on-demand", "spot", "reserved"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("order of deletion (-want +got):\n%s", diff)
	}
	for _, c := range plan.Changes {
		if c.ID == "spot" || c.ID == "loading-spot" {
			t.Errorf("%s was written although it counts as %d anyway", c.ID, CostSpot)
		}
	}
}

func TestBaseIsNoFallBack(t *testing.T) {
	old, young := replica("old", OnDemand), replica("young", OnDemand)
	old.Created = old.Created.Add(-time.Hour)
	target := Target{Owner: "ReplicaSet", Replicas: []Replica{young, replica("spot", Spot), old}}
	plan, _ := PlanCosts(target, 1, unlimited, Bucket{}, noon)
	if got := deleted(apply(target.Replicas, plan.Changes)); got[0] != "young" || got[2] != "old" {
		t.Errorf("order of deletion %v, want the younger on-demand replica first and the base last", got)
	}
}

func TestNothingIsWrittenWithoutEffect(t *testing.T) {
	mixed := []Replica{replica("a", Spot), replica("b", OnDemand)}
	for _, owner := range []string{"StatefulSet", "LeaderWorkerSet", ""} {
		plan, _ := PlanCosts(Target{Owner: owner, Replicas: mixed}, 0, unlimited, Bucket{}, noon)
		if plan.NoEffect == "" || len(plan.Changes) > 0 {
			t.Errorf("%q: %+v, want no writes and a reason", owner, plan)
		}
	}
	for _, same := range []Capacity{OnDemand, Spot, Reserved, Unknown} {
		plan, _ := PlanCosts(Target{Owner: "ReplicaSet", Replicas: []Replica{replica("a", same), replica("b", same)}}, 0, unlimited, Bucket{}, noon)
		if len(plan.Changes) > 0 {
			t.Errorf("all on %q: %v written although no order would change", same, plan.Changes)
		}
	}
}

func TestForeignCostStays(t *testing.T) {
	own, odd := replica("own", OnDemand), replica("odd", OnDemand)
	own.Cost, odd.OddCost = new(int32(7)), true
	for _, theirs := range []Replica{own, odd} {
		plan, _ := PlanCosts(Target{Owner: "ReplicaSet", Replicas: []Replica{theirs, replica("spot", Spot)}}, 0, unlimited, Bucket{}, noon)
		if plan.Foreign != 1 || len(plan.Changes) != 0 {
			t.Errorf("%s: %+v, want the operator's cost counted and left alone", theirs.ID, plan)
		}
	}
}

func TestRateSpreadsWrites(t *testing.T) {
	var replicas []Replica
	for i := range 30 {
		replicas = append(replicas, replica(fmt.Sprintf("od-%02d", i), OnDemand))
	}
	replicas = append(replicas, replica("spot", Spot))
	rate := Rate{Burst: 5, Every: time.Second}
	var b Bucket
	written := 0
	for second := range 60 {
		var plan CostPlan
		plan, b = PlanCosts(Target{Owner: "ReplicaSet", Replicas: replicas}, 0, rate, b, noon.Add(time.Duration(second)*time.Second))
		written += len(plan.Changes)
		if written > rate.Burst+second {
			t.Fatalf("%d writes after %d s, more than the burst of %d and one a second", written, second, rate.Burst)
		}
		if len(plan.Changes)+plan.Waiting+written-len(plan.Changes) != 30 {
			t.Fatalf("after %d s: %d written and %d waiting, want 30 together", second, written, plan.Waiting)
		}
		replicas = apply(replicas, plan.Changes)
	}
	if written != 30 {
		t.Errorf("%d writes in a minute, want each of 30 pods once", written)
	}
}

func anyReplica(t *rapid.T, i int) Replica {
	r := replica(fmt.Sprintf("r-%02d", i), rapid.SampledFrom([]Capacity{Reserved, OnDemand, Spot, Unknown}).Draw(t, "capacity"))
	r.Ready = rapid.Bool().Draw(t, "ready")
	r.Paid = rapid.Bool().Draw(t, "paid") && r.Capacity == OnDemand
	r.Created = noon.Add(-time.Duration(rapid.IntRange(0, 1000).Draw(t, "age")) * time.Minute)
	if rapid.IntRange(0, 5).Draw(t, "doomed") == 0 {
		r.Doomed = noon
	}
	r.Cost = rapid.SampledFrom([]*int32{nil, nil, new(CostSpot), new(CostFallBack), new(CostPaid), new(CostDoomed), new(int32(7))}).Draw(t, "cost")
	return r
}

// Whatever is carried before: a ready reserved replica never goes before a ready one on spot or fall-back, a second
// plan writes nothing, and nobody else's cost is touched.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var replicas []Replica
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			replicas = append(replicas, anyReplica(t, i))
		}
		target := Target{Owner: "ReplicaSet", Replicas: replicas}
		base := rapid.IntRange(0, 4).Draw(t, "base")
		plan, _ := PlanCosts(target, base, unlimited, Bucket{}, noon)
		for _, c := range plan.Changes {
			i := slices.IndexFunc(replicas, func(r Replica) bool { return r.ID == c.ID })
			if cost := replicas[i].Cost; cost != nil && !isOwn(*cost) {
				t.Fatalf("%s: a foreign cost was overwritten", c.ID)
			}
		}
		after := apply(replicas, plan.Changes)
		if again, _ := PlanCosts(Target{Owner: "ReplicaSet", Replicas: after}, base, unlimited, Bucket{}, noon); len(again.Changes) > 0 {
			t.Fatalf("a second plan writes %v", again.Changes)
		}
		rankOf := map[string]int{}
		for i, id := range deleted(after) {
			rankOf[id] = i
		}
		for _, paid := range after {
			for _, other := range after {
				firm := paid.Ready && paid.Doomed.IsZero() && (paid.Paid || paid.Capacity == Reserved) && (paid.Cost == nil || isOwn(*paid.Cost))
				loose := other.Ready && (other.Cost == nil || isOwn(*other.Cost)) && (!other.Doomed.IsZero() || other.Capacity == Spot)
				if firm && loose && rankOf[paid.ID] < rankOf[other.ID] {
					t.Fatalf("%s (%s) goes before %s (%s)", paid.ID, paid.Capacity, other.ID, other.Capacity)
				}
			}
		}
	})
}

// The bucket against counting tokens one nanosecond after the other would be too slow; against one a second it is not.
func TestBucketAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{Burst: rapid.IntRange(0, 5).Draw(t, "burst"), Every: time.Duration(rapid.IntRange(1, 4).Draw(t, "every")) * time.Second}
		var b Bucket
		granted := map[int]int{}
		second := 0
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			second += rapid.IntRange(0, 5).Draw(t, "pause")
			var n int
			n, b = b.Take(r, rapid.IntRange(0, 6).Draw(t, "want"), noon.Add(time.Duration(second)*time.Second))
			granted[second] += n
		}
		for _, from := range slices.Sorted(maps.Keys(granted)) {
			sum := 0
			for s := from; s <= second; s++ {
				sum += granted[s]
				if limit := float64(r.Burst) + float64(s-from)/r.Every.Seconds(); float64(sum) > limit+1e-6 {
					t.Fatalf("%d granted between second %d and %d, at most %g are allowed", sum, from, s, limit)
				}
			}
		}
	})
}
