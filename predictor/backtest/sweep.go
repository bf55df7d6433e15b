package backtest

import "math"

// Prices are the prices of a short step, in replica-steps, at which a policy
// with a price rule is compared.
var Prices = []float64{
	1, 2, 3, 4.5, 6.5, 9, 13, 18, 25, 35, 50, 70, 100, 140, 200, 300, 450, 700,
	1100, 1800, 3000, 6000, 12000, 30000, 1e5, 1e6,
}

// Quantiles are those at which a policy with a plain bound is compared.
var Quantiles = []float64{
	.05, .1, .2, .3, .4, .5, .6, .7, .75, .8, .85, .9, .92, .94, .95, .96, .97, .98, .985, .99, .995, .998,
}

// Stretches go on beyond the largest quantile: multiples of its score.
var Stretches = []float64{1.25, 1.5, 2, 3, 5, 8, 15}

// Outcome is what a policy cost at one setting.
type Outcome struct {
	Short float64 // share of scored steps with too little capacity
	Cost  float64 // replica-steps over those of the oracle
	Paid  float64 // the same including replicas that are starting; closed loop only
}

// Curve is the outcome over the swept settings, from scarce to generous.
type Curve struct {
	Outcomes []Outcome
	Priced   bool // swept over prices, not quantiles
}

// CostAt reads the cost at a share of short steps: linear between the first
// setting that reaches the share and the one before it.
func (c Curve) CostAt(short float64) float64 {
	return c.read(short, func(o Outcome) float64 { return o.Cost })
}

// PaidAt is CostAt with starting replicas.
func (c Curve) PaidAt(short float64) float64 {
	return c.read(short, func(o Outcome) float64 { return o.Paid })
}

const neverReached = 99

func (c Curve) read(short float64, cost func(Outcome) float64) float64 {
	for i, o := range c.Outcomes {
		if o.Short > short {
			continue
		}
		if i == 0 || c.Outcomes[i-1].Short <= o.Short {
			return cost(o)
		}
		before := c.Outcomes[i-1]
		f := (before.Short - short) / (before.Short - o.Short)
		return cost(before) + f*(cost(o)-cost(before))
	}
	if c.Priced && len(c.Outcomes) > 0 {
		return 1.5 * cost(c.Outcomes[len(c.Outcomes)-1])
	}
	return neverReached
}

// Span says which steps of a series are scored, from (inclusive) to (exclusive).
type Span struct{ From, To int }

// SecondHalf is the span that is scored: the first half warms up.
func SecondHalf(n int) Span { return Span{n / 2, n} }

// demand holds what every policy is measured against.
type demand struct {
	y    []float64
	need []int32 // replicas; 0 where the value is missing
	hold int     // steps an order is kept
}

func (d demand) scored(i int, span Span) bool {
	return i >= span.From && i < span.To && !math.IsNaN(d.y[i])
}

// openLoop charges orders made h steps ahead as if they were ready in time and
// could be released at once after the hold. orders is indexed by the step of
// the decision.
func (d demand) openLoop(orders []int32, h int, span Span) Outcome {
	var short, steps int
	var have, need int64
	for s := span.From; s < span.To; s++ {
		if !d.scored(s, span) || s < h {
			continue
		}
		c := d.capacity(orders, s, h)
		steps++
		have += int64(c)
		need += int64(d.need[s])
		if c < d.need[s] {
			short++
		}
	}
	return outcome(short, steps, have, have, need)
}

// capacity for step s: the order for it and those for the steps of the hold before.
func (d demand) capacity(orders []int32, s, h int) int32 {
	c := int32(0)
	for t := max(0, s-h-d.hold); t <= s-h; t++ {
		c = max(c, orders[t])
	}
	return c
}

func outcome(short, steps int, have, paid, need int64) Outcome {
	if steps == 0 || need == 0 {
		return Outcome{Short: math.NaN(), Cost: math.NaN(), Paid: math.NaN()}
	}
	return Outcome{
		Short: float64(short) / float64(steps),
		Cost:  float64(have) / float64(need), Paid: float64(paid) / float64(need),
	}
}

// closedLoop plays wanted, the replicas desired at each decision, against
// replicas that take h steps to start. Surplus goes at once, the youngest
// starting ones first. The run begins two days before the span.
func (d demand) closedLoop(wanted []int32, h int, span Span, perDay int) Outcome {
	begin := max(0, span.From-2*perDay)
	starting := make([]int32, h) // by step they become ready at
	ready := d.held(wanted, begin)
	total := ready
	var short, steps int
	var have, paid, need int64
	for s := begin + 1; s < span.To; s++ {
		t := s - 1 // the decision at the end of t is in force from s on
		want := d.held(wanted, t)
		if want >= total {
			starting[(t+h)%h] += want - total
		} else {
			gone := total - want
			for k := h; k >= 2 && gone > 0; k-- { // ready at s+k-1, the youngest first
				i := (t + k) % h
				cut := min(gone, starting[i])
				starting[i] -= cut
				gone -= cut
			}
			ready -= gone
		}
		total = want
		ready += starting[s%h]
		starting[s%h] = 0
		if !d.scored(s, span) {
			continue
		}
		steps++
		have += int64(ready)
		paid += int64(total)
		need += int64(d.need[s])
		if ready < d.need[s] {
			short++
		}
	}
	return outcome(short, steps, have, paid, need)
}

func (d demand) held(wanted []int32, t int) int32 {
	w := int32(1)
	for k := max(0, t-d.hold); k <= t; k++ {
		w = max(w, wanted[k])
	}
	return w
}
