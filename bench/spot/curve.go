package main

import "math"

// curve is one policy on one series, by ascending headroom.
type curve []record

// enough tells that more headroom is of no interest: it helps no more, or the shortage is far below every limit, at half
// more than what the loosest limit costs.
func (c curve) enough() bool {
	last := c[len(c)-1]
	if n := len(c); n > 2 && last.shortShare() > 0.03 && last.shortShare() > 0.9*c[n-2].shortShare() {
		return true // headroom does not help any more
	}
	return last.shortShare() < 0.003 && last.unservedShare() < 0.003 && last.cost > 1.5*c.at(record.shortShare, 0.02)
}

// at is the cost at which a share falls to a limit, by straight lines between the points; NaN where it never does, and
// the cheapest point where it always does. Of several crossings it is the cheapest.
func (c curve) at(share func(record) float64, limit float64) float64 {
	best := math.NaN()
	take := func(cost float64) {
		if math.IsNaN(best) || cost < best {
			best = cost
		}
	}
	for i := range c {
		if share(c[i]) > limit {
			continue
		}
		if i == 0 || share(c[i-1]) <= limit {
			take(c[i].cost)
			continue
		}
		over, under := share(c[i-1]), share(c[i])
		part := (over - limit) / (over - under)
		take(c[i-1].cost + part*(c[i].cost-c[i-1].cost))
	}
	return best
}

// shortAt is the share of time short at a cost, by straight lines; NaN outside of the curve.
func (c curve) shortAt(cost float64) float64 {
	best := math.NaN()
	for i := 1; i < len(c); i++ {
		low, high := c[i-1], c[i]
		if low.cost > high.cost {
			low, high = high, low
		}
		if cost < low.cost || cost > high.cost || low.cost == high.cost {
			continue
		}
		part := (cost - low.cost) / (high.cost - low.cost)
		if s := low.shortShare() + part*(high.shortShare()-low.shortShare()); math.IsNaN(best) || s < best {
			best = s
		}
	}
	return best
}

// geometric is the geometric mean of the ratios that are known, and how many there are.
func geometric(ratios []float64) (mean float64, n int) {
	sum := 0.0
	for _, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			sum += math.Log(r)
			n++
		}
	}
	if n == 0 {
		return math.NaN(), 0
	}
	return math.Exp(sum / float64(n)), n
}
