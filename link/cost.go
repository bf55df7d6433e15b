package link

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// CostAnnotation is the annotation by which a ReplicaSet chooses among pods of equal readiness: the lowest goes first
// (Kubernetes, pod deletion cost). A pod without it counts as 0.
const CostAnnotation = "controller.kubernetes.io/pod-deletion-cost"

// The costs that are written. Whatever else a pod carries is somebody's own and is left alone.
const (
	// CostDoomed is for replicas whose machine was given notice: they are lost anyway.
	CostDoomed int32 = -1030
	// CostFallBack is for on-demand replicas above the base.
	CostFallBack int32 = -1020
	// CostSpot is for spot replicas, and those of which nothing is known: what a pod without annotation counts as.
	CostSpot int32 = 0
	// CostPaid is for replicas on capacity that is paid for whether it is used or not, and for those of the base.
	CostPaid int32 = 1020
)

// Rate bounds writes: Burst at once, then one every Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Bucket holds the tokens of a rate. The zero Bucket is full.
type Bucket struct {
	Tokens float64   `json:"tokens"`
	At     time.Time `json:"at,omitzero"`
}

// Take takes up to n tokens and returns how many there were. Time that runs backwards adds nothing. A rate without a
// burst grants nothing.
func (b Bucket) Take(r Rate, n int, now time.Time) (granted int, next Bucket) {
	full := float64(max(0, r.Burst))
	tokens := full
	if !b.At.IsZero() {
		tokens = b.Tokens
		if passed := now.Sub(b.At); passed > 0 && r.Every > 0 {
			tokens += float64(passed) / float64(r.Every)
		}
		tokens = math.Min(full, tokens)
	}
	granted = min(max(0, n), int(tokens+1e-9))
	at := now
	if b.At.After(now) {
		at = b.At
	}
	return granted, Bucket{Tokens: tokens - float64(granted), At: at}
}

// CostChange is one annotation to write.
type CostChange struct {
	ID, Name string
	Cost     int32
}

// CostPlan is what to write on the pods of one scale target.
type CostPlan struct {
	// Changes are the writes that the rate allows now, the most urgent first; Waiting is how many more there are.
	Changes []CostChange `json:"changes,omitempty"`
	Waiting int          `json:"waiting,omitempty"`
	// Foreign counts the pods that carry somebody else's cost, which stays.
	Foreign int `json:"foreign,omitempty"`
	// NoEffect says why nothing is written: the controller does not look at the cost. Empty where it does.
	NoEffect string `json:"noEffect,omitempty"`
}

// HonoursCost tells whether the controller that owns the pods looks at their deletion cost. Only ReplicaSets do, and
// with them Deployments and Rollouts; StatefulSets and LeaderWorkerSets remove the highest ordinal.
func HonoursCost(owner string) bool { return owner == "ReplicaSet" }

// PlanCosts says which deletion costs to write so that at scale-in doomed replicas go first, then fall-back on-demand,
// then spot, and what is paid for anyway last. Replicas that are still loading need no cost: the controller takes them
// before ready ones by itself. base is the number of on-demand replicas that are no fall-back: the oldest ready ones. A
// cost is written only where it differs from what the pod carries and where the replicas of the target differ at all.
func PlanCosts(t Target, base int, r Rate, b Bucket, now time.Time) (CostPlan, Bucket) {
	if !HonoursCost(t.Owner) {
		return CostPlan{NoEffect: noEffect(t.Owner)}, b
	}
	var plan CostPlan
	wanted := wantedCosts(t.Replicas, base)
	if uniform(t.Replicas, wanted) {
		return plan, b
	}
	var changes []CostChange
	for i := range t.Replicas {
		own := &t.Replicas[i]
		switch {
		case own.OddCost, own.Cost != nil && !isOwn(*own.Cost):
			plan.Foreign++
		case carried(own) != wanted[i]:
			changes = append(changes, CostChange{own.ID, own.Name, wanted[i]})
		}
	}
	// Raising what must stay comes before lowering what may go: between two writes nothing that is paid for is first.
	slices.SortFunc(changes, func(a, b CostChange) int {
		return cmp.Or(cmp.Compare(urgency(a.Cost), urgency(b.Cost)), cmp.Compare(a.ID, b.ID))
	})
	granted, b := b.Take(r, len(changes), now)
	plan.Changes, plan.Waiting = changes[:granted], len(changes)-granted
	return plan, b
}

func noEffect(owner string) string {
	if owner == "" {
		return "the pods have no controller that could look at a deletion cost"
	}
	return fmt.Sprintf("a %s does not look at the deletion cost of its pods; which replica goes at scale-in is its own choice", owner)
}

func urgency(cost int32) int {
	return slices.Index([]int32{CostDoomed, CostPaid, CostFallBack, CostSpot}, cost)
}

// wantedCosts is the cost of each replica.
func wantedCosts(replicas []Replica, base int) []int32 {
	costs := make([]int32, len(replicas))
	var firm []int
	for i := range replicas {
		r := &replicas[i]
		switch {
		case !r.Doomed.IsZero():
			costs[i] = CostDoomed
		case r.Paid || r.Capacity == Reserved:
			costs[i] = CostPaid
			base-- // what is paid for covers the base first
		case r.Capacity == OnDemand:
			costs[i] = CostFallBack
			firm = append(firm, i)
		}
	}
	slices.SortFunc(firm, func(a, b int) int { return byStanding(&replicas[a], &replicas[b]) })
	for _, i := range firm[:min(max(0, base), len(firm))] {
		costs[i] = CostPaid
	}
	return costs
}

// byStanding puts ready replicas before others and older ones before younger.
func byStanding(a, b *Replica) int {
	if a.Ready != b.Ready {
		if a.Ready {
			return -1
		}
		return 1
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func isOwn(cost int32) bool {
	return cost == CostDoomed || cost == CostFallBack || cost == CostSpot || cost == CostPaid
}

// carried is the cost that the controller sees.
func carried(r *Replica) int32 {
	if r.Cost == nil {
		return 0
	}
	return *r.Cost
}

// uniform tells that all replicas want the same and none carries another cost of ours than the rest, so that no write
// would change the order.
func uniform(replicas []Replica, wanted []int32) bool {
	for i := range replicas {
		if wanted[i] != wanted[0] {
			return false
		}
		if c := replicas[i].Cost; c != nil && isOwn(*c) && *c != wanted[i] {
			return false // what it was before must not stand against it
		}
	}
	return true
}
