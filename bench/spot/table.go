package main

import (
	"fmt"
	"io"
	"slices"
)

// results are the curves of every policy under every condition: by the name of the condition, the index of the policy,
// and the series. A policy that was not played has none.
type results map[string][][]curve

// of is a policy under a condition, on every series; nil if it was not played. On-demand nodes alone meet no condition
// that could change anything: those of the first one are those of all.
func (r results) of(condition, policy string) []curve {
	if policy == firmName {
		condition = settings[0].name
	}
	i := indexOf(policy)
	if r[condition] == nil || r[condition][i] == nil {
		return nil
	}
	return r[condition][i]
}

func indexOf(name string) int {
	return slices.IndexFunc(policies, func(p policy) bool { return p.name == name })
}

// measure is what is told of a policy under a condition: one number a series, over that of another.
type measure func(r results, condition, policy string) (ratios []float64)

// costOver is the cost of a policy over that of another where both reach the same limit.
func costOver(rival string, share func(record) float64, limit float64) measure {
	at := func(c curve) float64 { return c.at(share, limit) }
	return func(r results, condition, policy string) []float64 {
		return over(each(r.of(condition, policy), at), each(r.of(condition, rival), at))
	}
}

// overPlain is the cost over that of the Cluster Autoscaler as it comes, both with the forecast or both without.
func overPlain(r results, condition, policy string) []float64 {
	rival := plainName
	if policies[indexOf(policy)].forecast {
		rival += ", forecast"
	}
	return costOver(rival, record.shortShare, shortLimit)(r, condition, policy)
}

// shortAtCostOfU is the share of time short where a policy costs what U costs at 2 %, over those 2 %.
func shortAtCostOfU(r results, condition, policy string) []float64 {
	own := r.of(condition, policy)
	u := each(r.of(condition, ruleUName), func(c curve) float64 { return c.at(record.shortShare, shortLimit) })
	out := make([]float64, min(len(own), len(u)))
	for i := range out {
		out[i] = own[i].shortAt(u[i]) / shortLimit
	}
	return out
}

func over(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

func each(curves []curve, f func(curve) float64) []float64 {
	out := make([]float64, len(curves))
	for i, c := range curves {
		out[i] = f(c)
	}
	return out
}

// shortLimit is the share of time short at which policies are compared.
const shortLimit = 0.02

var (
	overFirm     = costOver(firmName, record.shortShare, shortLimit)
	overU        = costOver(ruleUName, record.shortShare, shortLimit)
	atOnePercent = costOver(firmName, record.unservedShare, 0.01)
	atHalf       = costOver(firmName, record.unservedShare, 0.005)
)

// printTable writes a measure of every policy that was played under any of the conditions, and is wanted.
func (r results) printTable(w io.Writer, title string, m measure, conditions []string, wanted func(policy) bool) {
	fmt.Fprintf(w, "**%s**\n\n| policy |", title)
	for _, c := range conditions {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprint(w, "\n|---|")
	for range conditions {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	for _, p := range policies {
		if !wanted(p) {
			continue
		}
		cells, played := "", false
		for _, c := range conditions {
			cell := "–"
			if r.of(c, p.name) != nil {
				cell, played = cellOf(m(r, c, p.name)), true
			}
			cells += " " + cell + " |"
		}
		if played {
			fmt.Fprintf(w, "| %s |%s\n", p.name, cells)
		}
	}
	fmt.Fprintln(w)
}

// cellOf writes the geometric mean, with the number of series where it is not all of them.
func cellOf(ratios []float64) string {
	mean, n := geometric(ratios)
	switch {
	case n == 0:
		return "never"
	case n < len(ratios):
		return fmt.Sprintf("%.3f (%d)", mean, n)
	}
	return fmt.Sprintf("%.3f", mean)
}

// printBills writes what part of the bill is spot, and how many replicas are lost in the days that are played, over all
// series and headrooms.
func (r results) printBills(w io.Writer, conditions []string) {
	fmt.Fprintf(w, "**Share of the bill that is spot, and replicas that are lost a day**\n\n| condition | %s | %s | %s | %s |\n|---|---|---|---|---|\n",
		plainName, ruleUName, allName, swapName)
	for _, c := range conditions {
		fmt.Fprintf(w, "| %s |", c)
		for _, name := range []string{plainName, ruleUName, allName, swapName} {
			var spot, cost, lost, days float64
			for _, s := range r.of(c, name) {
				for _, one := range s {
					spot, cost, lost = spot+one.spotCost, cost+one.cost, lost+float64(one.lost)
					days += float64(one.ticks) * tick.Hours() / 24
				}
			}
			fmt.Fprintf(w, " %.0f %%, %.1f |", 100*spot/cost, lost/days)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
