package main

import (
	"fmt"
	"io"
	"math"
)

// curve is one policy on one series, by ascending headroom.
type curve []record

// enough tells that more headroom is of no interest: it helps no more, or the shortage is far below every limit, at half more than what the
// loosest limit costs.
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
func geometric(a, b []float64) (mean float64, n int) {
	sum := 0.0
	for i := range a {
		if r := a[i] / b[i]; r > 0 && !math.IsInf(r, 0) {
			sum += math.Log(r)
			n++
		}
	}
	return math.Exp(sum / float64(n)), n
}

func each(curves []curve, f func(curve) float64) []float64 {
	out := make([]float64, len(curves))
	for i, c := range curves {
		out[i] = f(c)
	}
	return out
}

func atShort(limit float64) func(curve) float64 {
	return func(c curve) float64 { return c.at(record.shortShare, limit) }
}

func atUnserved(limit float64) func(curve) float64 {
	return func(c curve) float64 { return c.at(record.unservedShare, limit) }
}

const (
	allOnDemand = 0
	ruleU       = 3
)

func printCondition(w io.Writer, c conditions, results [][]curve) {
	fmt.Fprintf(w, "## %s\n\n", c.name)
	fmt.Fprintln(w, "| policy | ÷ all on-demand | ÷ U | at 1 % unserved | at 0.5 % unserved | short at U's cost ÷ U | spot $ | lost |\n|---|---|---|---|---|---|---|---|")
	firm, base := each(results[allOnDemand], atShort(0.02)), each(results[ruleU], atShort(0.02))
	firmUnserved, firmTight := each(results[allOnDemand], atUnserved(0.01)), each(results[allOnDemand], atUnserved(0.005))
	for p := range policies {
		if results[p] == nil {
			continue
		}
		own := each(results[p], atShort(0.02))
		shorts := make([]float64, len(own))
		limits := make([]float64, len(own))
		for i := range own {
			shorts[i], limits[i] = results[p][i].shortAt(base[i]), 0.02
		}
		spot, cost, lost := 0.0, 0.0, 0
		for _, s := range results[p] {
			for _, r := range s {
				spot, cost, lost = spot+r.spotCost, cost+r.cost, lost+r.lost
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %.0f %% | %d |\n", policies[p].name, ratio(own, firm), ratio(own, base),
			ratio(each(results[p], atUnserved(0.01)), firmUnserved), ratio(each(results[p], atUnserved(0.005)), firmTight),
			ratio(shorts, limits), 100*spot/cost, lost/len(headrooms))
	}
	fmt.Fprintln(w)
}

// ratio writes the geometric mean, with the number of series where it is not all of them.
func ratio(a, b []float64) string {
	mean, n := geometric(a, b)
	switch {
	case n == 0:
		return "never"
	case n < len(a):
		return fmt.Sprintf("%.3f (%d)", mean, n)
	}
	return fmt.Sprintf("%.3f", mean)
}
