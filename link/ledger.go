package link

import (
	"cmp"
	"slices"
	"time"
)

// Ledger is what one service runs on, for people.
type Ledger struct {
	Service string    `json:"service"`
	At      time.Time `json:"at"`
	// Known is false without a view of the pods; then nothing else is.
	Known bool `json:"known"`
	// Workload is that of the expander's policy; empty where none matches.
	Workload string `json:"workload,omitempty"`
	// Holdings are the replicas that have a node, by capacity type and pool.
	Holdings []Holding `json:"holdings"`
	// OnTheWay are the replicas that wait for a node, by the pool that it was ordered from; empty is none yet.
	OnTheWay []OnTheWay `json:"onTheWay"`
	Doomed   Doomed     `json:"doomed"`
	// Target is what was last asked for, Needs what the forecast needs in the next hours.
	Target int    `json:"target"`
	Needs  []Need `json:"needs"`
	// FellBack says which replicas run on another than the first stage, and why.
	FellBack []FellBack `json:"fellBack"`
	Supply   Supply     `json:"supply"`
	// Deletion is what was last planned for scale-in.
	Deletion CostPlan `json:"deletion"`
	// Base and Return are advice.
	Base   *BaseAdvice   `json:"base,omitempty"`
	Return *ReturnAdvice `json:"return,omitempty"`
	// Swap says what the moving back to spot does; nil where it is not asked for.
	Swap *SwapStep `json:"swap,omitempty"`
	// HourlyCost adds up the nodes under the replicas, each once; a node that other services use too counts with all of its
	// price for each of them. CostUnknown counts the replicas whose node has no known price.
	HourlyCost  float64 `json:"hourlyCost"`
	CostUnknown int     `json:"costUnknown,omitempty"`
	// Text is what bounds the target; empty when nothing does.
	Text string `json:"text,omitempty"`
}

// Holding is a number of replicas on one pool.
type Holding struct {
	Capacity   Capacity `json:"capacity"`
	Pool       string   `json:"pool"`
	Replicas   int      `json:"replicas"`
	Ready      int      `json:"ready"`
	HourlyCost float64  `json:"hourlyCost"`
}

// OnTheWay is a number of replicas that wait.
type OnTheWay struct {
	Pool     string `json:"pool"`
	Replicas int    `json:"replicas"`
	// Oldest is when the oldest of them was ordered, Late how many are late.
	Oldest time.Time `json:"oldest,omitzero"`
	Late   int       `json:"late,omitempty"`
}

// Need is a number of replicas that the forecast needs at a time.
type Need struct {
	At       time.Time `json:"at"`
	Replicas int       `json:"replicas"`
}

// FellBack is a number of replicas on a later stage than the first.
type FellBack struct {
	Pool     string `json:"pool"`
	Replicas int    `json:"replicas"`
	Why      string `json:"why"`
}

// Hold adds the replicas that have a node to the ledger. price is the cost of one node of a pool per hour, and false
// where it is not known. Replicas of the service that share a node share its price.
func (l *Ledger) Hold(replicas []Replica, price func(pool string) (float64, bool)) {
	sharing := map[string]int{}
	for i := range replicas {
		sharing[replicas[i].Node]++
	}
	for i := range replicas {
		r := &replicas[i]
		if r.Node == "" {
			continue
		}
		at := slices.IndexFunc(l.Holdings, func(h Holding) bool { return h.Capacity == r.Capacity && h.Pool == r.Pool })
		if at < 0 {
			l.Holdings = append(l.Holdings, Holding{Capacity: r.Capacity, Pool: r.Pool})
			at = len(l.Holdings) - 1
		}
		h := &l.Holdings[at]
		h.Replicas++
		if r.Ready {
			h.Ready++
		}
		cost, ok := price(r.Pool)
		if !ok {
			l.CostUnknown++
		}
		cost /= float64(sharing[r.Node])
		h.HourlyCost += cost
		l.HourlyCost += cost
	}
	slices.SortFunc(l.Holdings, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(rank(a.Capacity), rank(b.Capacity)), cmp.Compare(a.Pool, b.Pool))
	})
	l.Doomed = Watch(replicas)
}

// Await adds the replicas that wait for a node.
func (l *Ledger) Await(waiting []Waiting, late []Late) {
	for _, w := range waiting {
		at := slices.IndexFunc(l.OnTheWay, func(o OnTheWay) bool { return o.Pool == w.Pool })
		if at < 0 {
			l.OnTheWay = append(l.OnTheWay, OnTheWay{Pool: w.Pool})
			at = len(l.OnTheWay) - 1
		}
		o := &l.OnTheWay[at]
		o.Replicas++
		if !w.Ordered.IsZero() && (o.Oldest.IsZero() || w.Ordered.Before(o.Oldest)) {
			o.Oldest = w.Ordered
		}
		if slices.ContainsFunc(late, func(l Late) bool { return l.Attempt == w.Attempt && w.Attempt != 0 }) {
			o.Late++
		}
	}
	slices.SortFunc(l.OnTheWay, func(a, b OnTheWay) int { return cmp.Compare(a.Pool, b.Pool) })
}

// Count is how many replicas run on a capacity type.
func (l *Ledger) Count(c Capacity) int {
	n := 0
	for _, h := range l.Holdings {
		if h.Capacity == c {
			n += h.Replicas
		}
	}
	return n
}

func rank(c Capacity) int { return slices.Index([]Capacity{Reserved, OnDemand, Spot, Unknown}, c) }
