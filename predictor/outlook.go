package predictor

import "math"

// Outlook is the forecast distribution of one future slot.
type Outlook struct {
	Horizon int   // slots from the newest known one
	Slot    int64 // number of the slot: its start in Unix seconds over the step

	Value float64 // forecast mean rate; never negative
	Scale float64 // one unit of error
	Upper float64 // 0.9 bound for people and reports; not used for orders

	Recent, ClockTime, Global float64 // parts of Scale

	Experts [expertCount]float64 // NaN where an expert has none
	Weights [expertCount]float64 // sum to 1

	Tail Tail // valid until the service observes the next slot
}

// Short is the probability that replicas of the given load each are too few.
func (o *Outlook) Short(replicas int, perReplica float64) float64 {
	if o.Tail.n == 0 {
		return 1 / float64(max(1, replicas))
	}
	return o.Tail.Exceed((float64(replicas)*perReplica - o.Value) / o.Scale)
}

// Order is the number of replicas at which one more costs more than the
// shortage it avoids: the n from floor on with the smallest n + price Short(n),
// the smallest on ties. price is how many replica-steps one short step is worth.
func (o *Outlook) Order(perReplica, price float64, floor int) int {
	floor = max(1, floor)
	best, bestCost := floor, math.Inf(1)
	upTo := 0
	for n := floor; float64(n) <= bestCost; n++ {
		short := 1 / float64(n)
		if o.Tail.n > 0 {
			x := (float64(n)*perReplica - o.Value) / o.Scale
			for upTo < len(o.Tail.values) && o.Tail.values[upTo] <= x {
				upTo++
			}
			short = o.Tail.exceed(x, upTo)
		}
		if cost := float64(n) + price*short; cost < bestCost {
			best, bestCost = n, cost
		}
	}
	return best
}

// Replicas is the number that carries a rate, at least one. A rate above a
// multiple by rounding noise needs no further replica.
func Replicas(rate, perReplica float64) int {
	if !(rate > 0) || !(perReplica > 0) {
		return 1
	}
	return max(1, int(math.Ceil(rate/perReplica-1e-9)))
}
