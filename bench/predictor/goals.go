package main

import (
	"fmt"
	"io"
	"math"

	benchtrace "github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/predictor/backtest"
)

// goal is a number for each lead that a figure must not exceed (or, with least,
// must reach). The figures were set for series of the same kinds that nobody had
// looked at; medians of the development series are higher.
type goal struct {
	name         string
	read         func(results []result, lead int) float64
	must, strong [3]float64 // NaN where there is none
	least        bool
}

var none = [3]float64{math.NaN(), math.NaN(), math.NaN()}

func medianOf(m metric) func([]result, int) float64 {
	return func(r []result, lead int) float64 { return collect(r, warmpool, lead, m).median() }
}

func worstOf(m metric) func([]result, int) float64 {
	return func(r []result, lead int) float64 {
		x, _ := collect(r, warmpool, lead, m).worst()
		return x
	}
}

func quantileOf(m metric, q float64) func([]result, int) float64 {
	return func(r []result, lead int) float64 { return collect(r, warmpool, lead, m).quantile(q) }
}

// better is the share of series on which the predictor has the lower figure by
// more than a margin.
func better(rival string, m func(f backtest.Figures) float64, margin float64) func([]result, int) float64 {
	return func(results []result, lead int) float64 {
		won, n := 0.0, 0.0
		for _, r := range results {
			ours, ok := r.find(warmpool, lead)
			theirs, also := r.find(rival, lead)
			if !ok || !also {
				continue
			}
			n++
			if m(ours) < (1-margin)*m(theirs) {
				won++
			}
		}
		return won / n
	}
}

func openCost(f backtest.Figures) float64 { return f.Open.CostAt(0.02) }
func wapeOf(f backtest.Figures) float64   { return f.WAPE }
func seasonalMedian(r []result, lead int) float64 {
	return collect(r, warmpool, lead, cost(0.02)).of(benchtrace.Seasonal).median()
}

var goals = []goal{
	{"cost at 2 %, median", medianOf(cost(0.02)), [3]float64{1.30, 1.38, 1.50}, [3]float64{1.24, 1.29, 1.36}, false},
	{"median ratio to reactive at 2 %", medianOf(ratio(0.02)), [3]float64{0.92, 0.80, 0.68}, [3]float64{0.90, 0.75, 0.58}, false},
	{"cost at 2 %, 75 % of the series", quantileOf(cost(0.02), 0.75), none, [3]float64{1.5, 1.55, 1.8}, false},
	{"cost at 2 %, worst", worstOf(cost(0.02)), none, [3]float64{3.5, 3.5, 3.0}, false},
	{"worst ratio to reactive at 2 %", worstOf(ratio(0.02)), [3]float64{1.10, 1.05, 1.05}, [3]float64{1, 1, 1}, false},
	{"cheaper than Holt-Winters by > 0.5 %", better(holtWinters, openCost, 0.005), [3]float64{0.70, 0.75, 0.75}, [3]float64{21.0 / 23, 1, 21.0 / 24}, true},
	{"cheaper than the profile by > 0.5 %", better(profile, openCost, 0.005), [3]float64{0.70, 0.75, 0.75}, [3]float64{17.0 / 23, 21.0 / 24, 22.0 / 24}, true},
	{"cost at 0.5 %, median", medianOf(cost(0.005)), [3]float64{1.80, 1.90, 2.10}, [3]float64{1.73, 1.83, 1.90}, false},
	{"median ratio to reactive at 0.5 %", medianOf(ratio(0.005)), [3]float64{0.82, 0.78, 0.70}, [3]float64{0.76, 0.70, 0.58}, false},
	{"seasonal group at 2 %, median", seasonalMedian, [3]float64{1.30, 1.35, 1.45}, [3]float64{1.23, 1.29, 1.35}, false},
	{"WAPE, median", medianOf(wape), none, [3]float64{0.10, 0.115, 0.13}, false},
	{"lower WAPE than last value", better(reactive, wapeOf, 0), [3]float64{0.9, 0.9, 0.9}, none, true},
	{"lower WAPE than Holt-Winters", better(holtWinters, wapeOf, 0), [3]float64{0.85, 0.85, 0.85}, none, true},
	{"lower WAPE than the profile", better(profile, wapeOf, 0), [3]float64{0.8, 0.8, 0.75}, none, true},
	{"coverage, median at least", medianOf(coverage), [3]float64{0.89, 0.89, 0.89}, none, true},
	{"coverage, median at most", medianOf(coverage), [3]float64{0.91, 0.91, 0.91}, none, false},
	{"coverage, worst", quantileOf(coverage, 0), [3]float64{0.88, 0.87, 0.86}, none, true},
	{"online at 2 %: short %, median", medianOf(onlineShort), [3]float64{2.1, 2.1, 2.1}, none, false},
	{"online at 2 %: short %, 90 % of the series", quantileOf(onlineShort, 0.9), [3]float64{3, 3, 3}, none, false},
	{"online at 2 %: short %, worst", worstOf(onlineShort), [3]float64{4, 4, 4}, none, false},
	{"online cost at target 2 %, median", medianOf(onlineCost), [3]float64{1.32, 1.42, 1.57}, [3]float64{1.24, 1.33, 1.46}, false},
	{"closed loop at 2 %, median", medianOf(closed(0.02)), [3]float64{1.32, 1.38, 1.48}, [3]float64{1.27, 1.29, 1.31}, false},
}

func printGoals(w io.Writer, results []result) {
	fmt.Fprint(w, "## Goals, set for unseen series of the same kinds\n\n")
	fmt.Fprintln(w, "| figure | short | must / strong | 30 min | must / strong | 60 min | must / strong |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, g := range goals {
		fmt.Fprintf(w, "| %s |", g.name)
		for lead := range leadNames {
			x := g.read(results, lead)
			fmt.Fprintf(w, " %.3f %s | %s / %s |", x, g.verdict(x, lead), bound(g.must[lead]), bound(g.strong[lead]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func (g goal) verdict(x float64, lead int) string {
	meets := func(limit float64) bool {
		if g.least {
			return x >= limit-1e-9
		}
		return x <= limit+1e-9
	}
	switch {
	case meets(g.strong[lead]):
		return "strong"
	case math.IsNaN(g.must[lead]):
		return "below strong"
	case meets(g.must[lead]):
		return "must"
	}
	return "MISSED"
}

func bound(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3g", x)
}
