package link

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// BaseAdvice says in numbers and words what an on-demand base would be worth. It sets nothing.
type BaseAdvice struct {
	// Samples is how many values of the demand it rests on; too few give no advice, and Text says so.
	Samples int `json:"samples"`
	// P10, P50 and Peak are replicas: the demand was at least P10 for 90 % of the time.
	P10  int `json:"p10"`
	P50  int `json:"p50"`
	Peak int `json:"peak"`
	// Base is the advised count; 0 is no base.
	Base int `json:"base"`
	// Kept is the share of the work that a base of that size carries alone, when all spot is lost at once.
	Kept float64 `json:"kept"`
	// Dearer is by what share the bill is higher than with every replica on spot all the time: the most it can cost.
	Dearer float64 `json:"dearer"`
	Text   string  `json:"text"`
}

// leastDemand is how many samples an advice needs: a day of slots of five minutes.
const leastDemand = 288

// AdviseBase looks at the replicas that last week's demand needed. spotPrice is the price of spot as a share of
// on-demand, between 0 and 1; 0 is unknown and leaves the cost out. Values that are no numbers are left out.
func AdviseBase(needs []float64, spotPrice float64) BaseAdvice {
	known := slices.DeleteFunc(slices.Clone(needs), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || v < 0 })
	a := BaseAdvice{Samples: len(known)}
	if len(known) < leastDemand {
		a.Text = fmt.Sprintf("no advice yet: %d of %d slots of demand are known", len(known), leastDemand)
		return a
	}
	slices.Sort(known)
	whole := func(q float64) int { return int(math.Ceil(quantileOf(known, q) - 1e-9)) }
	a.P10, a.P50, a.Peak = whole(0.1), whole(0.5), whole(1)
	a.Base = a.P10
	var all, kept, spot float64
	for _, v := range known {
		all += v
		kept += math.Min(v, float64(a.Base))
		spot += math.Ceil(v - 1e-9)
	}
	if all > 0 {
		a.Kept = kept / all
	}
	if spotPrice > 0 && spot > 0 {
		bill := 0.0
		for _, v := range known {
			bill += float64(a.Base) + spotPrice*math.Max(0, math.Ceil(v-1e-9)-float64(a.Base))
		}
		a.Dearer = bill/(spotPrice*spot) - 1
	}
	a.Text = a.words(spotPrice)
	return a
}

func (a *BaseAdvice) words(spotPrice float64) string {
	if a.Base == 0 {
		return fmt.Sprintf("10th percentile 0 replicas, median %d, peak %d: there is no steady part that a base could carry", a.P50, a.Peak)
	}
	text := fmt.Sprintf("10th percentile %s, median %d, peak %d: a base of %d would carry %.0f %% of last week's work alone if all spot were lost at once",
		counted(a.P10, "replica"), a.P50, a.Peak, a.Base, 100*a.Kept)
	if spotPrice > 0 {
		text += fmt.Sprintf("; it costs at most %.0f %% more than spot all the time, less where fall-back nodes run anyway", 100*a.Dearer)
	}
	return text + ". It caps a risk and saves nothing; set onDemandBase if a loss of everything at once is not acceptable"
}

// ReturnPool is a spot group that fall-back replicas could go back to.
type ReturnPool struct {
	Pool string
	// HourlyCost of a node; 0 is unknown.
	HourlyCost float64
	// Deliverable tells that it is neither held nor full.
	Deliverable bool
	// ReclaimsPerHour is the observed rate of losses for each node; negative is unknown.
	ReclaimsPerHour float64
	// Lost is how many of its nodes were lost within the last minutes.
	Lost int
}

// unfit says why nothing should go back to the pool; empty when something may.
func (p *ReturnPool) unfit() string {
	switch {
	case !p.Deliverable:
		return p.Pool + " cannot deliver now"
	case p.ReclaimsPerHour < 0:
		return p.Pool + " has not run long enough to know its losses"
	case p.ReclaimsPerHour > calmRate:
		return fmt.Sprintf("%s lost %.2f of its nodes an hour", p.Pool, p.ReclaimsPerHour)
	}
	return ""
}

// dear says that the pool saves nothing against the nodes that are fallen back to; empty when it does, or when a price is
// not known.
func (p *ReturnPool) dear(onDemandCost float64) string {
	if onDemandCost > 0 && p.HourlyCost >= onDemandCost {
		return p.Pool + " is no cheaper"
	}
	return ""
}

// calmest is the cheapest of the pools against which nothing speaks, one without a known price last, and what speaks
// against the others; nil is none.
func calmest(pools []ReturnPool, unfit func(*ReturnPool) string) (best *ReturnPool, why []string) {
	for i := range pools {
		p := &pools[i]
		if against := unfit(p); against != "" {
			why = append(why, against)
		} else if best == nil || p.price() < best.price() {
			best = p
		}
	}
	return best, why
}

func (p *ReturnPool) price() float64 {
	if p.HourlyCost <= 0 {
		return math.Inf(1)
	}
	return p.HourlyCost
}

// ReturnAdvice says which fall-back replicas could go back to spot. It moves nothing.
type ReturnAdvice struct {
	// Replicas could go back, to Pool; 0 is none.
	Replicas int    `json:"replicas"`
	Pool     string `json:"pool,omitempty"`
	// SavesPerHour is in the currency of the prices; 0 is unknown.
	SavesPerHour float64 `json:"savesPerHour,omitempty"`
	Text         string  `json:"text"`
}

// calmRate is the largest rate of losses, per node and hour, at which going back is advised: a node then lives for four
// hours on average, and a start of ten minutes costs a twentieth of that.
const calmRate = 0.25

// AdviseReturn looks for a spot pool that can deliver and has been calm, for the on-demand replicas above the base that
// are not paid for anyway. onDemandCost is what one of their nodes costs per hour; 0 is unknown.
func AdviseReturn(replicas []Replica, base int, onDemandCost float64, pools []ReturnPool) ReturnAdvice {
	n := 0
	for i, cost := range wantedCosts(replicas, base) {
		if cost == CostFallBack && replicas[i].Ready {
			n++
		}
	}
	if n == 0 {
		return ReturnAdvice{Text: "nothing runs on fall-back nodes"}
	}
	best, why := calmest(pools, func(p *ReturnPool) string {
		if against := p.unfit(); against != "" {
			return against
		}
		return p.dear(onDemandCost)
	})
	if best == nil {
		return ReturnAdvice{Text: fmt.Sprintf("%s on fall-back nodes, nothing to go back to: %s", counted(n, "replica"), orNone(why))}
	}
	a := ReturnAdvice{Replicas: n, Pool: best.Pool}
	a.Text = fmt.Sprintf("%s on fall-back nodes could go back to %s", counted(n, "replica"), best.Pool)
	if onDemandCost > best.HourlyCost && best.HourlyCost > 0 {
		a.SavesPerHour = float64(n) * (onDemandCost - best.HourlyCost)
		a.Text += fmt.Sprintf(" and save $%.2f an hour", a.SavesPerHour)
	}
	a.Text += "; this is advice, nothing is moved"
	return a
}

func orNone(why []string) string {
	if len(why) == 0 {
		return "no spot pool is known"
	}
	return strings.Join(why, "; ")
}
