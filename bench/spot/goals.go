package main

import (
	"fmt"
	"io"
)

// goal is a number that a measure must not exceed under a condition, and one to aim at; 0 is none.
type goal struct {
	what         string
	condition    string
	read         measure
	must, strong float64
}

// goals were set by an earlier experiment on the same kinds of recordings. U cost there 0.543 of on-demand nodes under
// partial capacity; it does here at the size of the condition "partial". Of the other sizes there was none.
var goals = []goal{
	{"cost ÷ U", "good", overU, 0.85, 0.79},
	{"cost ÷ U", "mid", overU, 0.95, 0.92},
	{"cost ÷ U", "two", overU, 0.96, 0.93},
	{"cost ÷ U", "mild", overU, 0.88, 0.83},
	{"cost ÷ U", "partial", overU, 0.88, 0.82},
	{"cost ÷ U", "scarce", overU, 1.02, 0},
	{"cost ÷ all on-demand", "good", overFirm, 0.68, 0.62},
	{"cost ÷ all on-demand", "mid", overFirm, 0.88, 0.84},
	{"cost ÷ all on-demand", "two", overFirm, 0.87, 0.82},
	{"cost ÷ all on-demand", "mild", overFirm, 0.77, 0.72},
	{"cost ÷ all on-demand", "partial", overFirm, 0.50, 0.45},
	{"with notice, cost ÷ U", "good, notice", overU, 0.83, 0.78},
	{"with notice, cost ÷ U", "mid, notice", overU, 0.93, 0.90},
	{"with notice, cost ÷ U", "two, notice", overU, 0.93, 0.88},
	{"cost ÷ all on-demand at 1 % unserved", "good", atOnePercent, 0.72, 0.66},
	{"cost ÷ all on-demand at 1 % unserved", "mid", atOnePercent, 0.89, 0.86},
	{"cost ÷ all on-demand at 1 % unserved", "mild", atOnePercent, 0.75, 0.70},
	{"cost ÷ all on-demand at 1 % unserved", "partial", atOnePercent, 0.48, 0.44},
	{"time short at U's cost", "good", shortAtCostOfU, 0.60, 0.51},
	{"time short at U's cost", "mid", shortAtCostOfU, 0.75, 0.65},
	{"time short at U's cost", "mild", shortAtCostOfU, 0.45, 0.33},
	{"time short at U's cost", "partial", shortAtCostOfU, 0.55, 0.47},
	{"failures found after 900 s, cost ÷ U", "good, 900 s", overU, 0.85, 0.79},
	{"failures found after 900 s, cost ÷ U", "mid, 900 s", overU, 0.95, 0.92},
	{"failures found after 900 s, cost ÷ U", "mild, 900 s", overU, 0.88, 0.83},
	{"failures found after 900 s, cost ÷ U", "partial, 900 s", overU, 0.85, 0.79},
}

func (g goal) verdict(x float64) string {
	switch {
	case x <= g.strong+1e-9:
		return "strong"
	case x <= g.must+1e-9:
		return "must"
	}
	return "MISSED"
}

// printGoals judges all rules, with the swap and, as the configuration comes, without.
func (r results) printGoals(w io.Writer) {
	fmt.Fprintf(w, "| figure | condition | must / strong | %s | | %s | |\n|---|---|---|---|---|---|---|\n", allName, swapName)
	for _, g := range goals {
		strong := "–"
		if g.strong > 0 {
			strong = fmt.Sprintf("%.2f", g.strong)
		}
		fmt.Fprintf(w, "| %s | %s | %.2f / %s |", g.what, g.condition, g.must, strong)
		for _, name := range []string{allName, swapName} {
			ratios := g.read(r, g.condition, name)
			mean, _ := geometric(ratios)
			fmt.Fprintf(w, " %s | %s |", cellOf(ratios), g.verdict(mean))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	r.printNeverDearer(w)
	r.printCap(w)
}

// printNeverDearer compares a rule with the same without it.
func (r results) printNeverDearer(w io.Writer) {
	fmt.Fprint(w, "Never dearer than without, within 0.01:\n\n| rule | condition | cost ÷ without | |\n|---|---|---|---|\n")
	without := costOver(ruleName, record.shortShare, shortLimit)
	for _, c := range settings {
		for _, name := range []string{"1 + replacement at notice", "1 + suspect nodes"} {
			if r.of(c.name, name) == nil {
				continue
			}
			ratios := without(r, c.name, name)
			mean, _ := geometric(ratios)
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", name, c.name, cellOf(ratios), goal{must: 1.01}.verdict(mean))
		}
	}
	fmt.Fprintln(w)
}

// printCap tells on how many series an on-demand base of one half reaches 0.5 % unserved, of those where on-demand nodes
// alone do.
func (r results) printCap(w io.Writer) {
	fmt.Fprint(w, "With an on-demand base of 50 % at most 0.5 % unserved:\n\n| condition | cost ÷ all on-demand | on every series that on-demand nodes alone serve so well |\n|---|---|---|\n")
	for _, c := range settings {
		if !c.isPlain() || r.of(c.name, "all rules, base 50 %") == nil {
			continue
		}
		ratios := atHalf(r, c.name, "all rules, base 50 %")
		_, reached := geometric(ratios)
		_, scorable := geometric(atHalf(r, c.name, firmName))
		verdict := "yes"
		if reached < scorable {
			verdict = fmt.Sprintf("MISSED: %d of %d", reached, scorable)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.name, cellOf(ratios), verdict)
	}
	fmt.Fprintln(w)
}
