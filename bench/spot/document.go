package main

import (
	"fmt"
	"io"
)

// printDocument writes all tables.
func printDocument(w io.Writer, r results, series, left int, replicas float64) {
	fmt.Fprintf(w, `# Services on spot, measured

Written by %[1]smake bench-spot%[1]s; the same recordings give the same bytes. What the rules are, and what the numbers say, is in
[spot.md](spot.md).

%[2]d recorded series (%[3]d more left out: on-demand nodes alone stay short for more than 2 %% of the time), the last six days of
each, scaled to a mean need of %[4]v replicas; one replica is one GPU is one node. Spot costs %[5]v of on-demand, a node
boots in 2 to 4 minutes, a model loads in 3, a failed scale-up is found after 60 s, or after 900 s where it says so. The
scaler is reactive, with a headroom that is varied; policies are compared where they are short for the same share of time,
or leave the same share of the need unserved. Numbers are geometric means over the series on which a policy and the one
it is compared with reach the limit, with how many those are where they are not all. A dash was not played.

Conditions: good, mid, two and scarce are availabilities of 95, 69, 69 and 55 (two groups), and 33 %%, and all nodes of a
group die when it goes away. Mild is mid with 30 %% dying at once and 10 %% of the rest every ten minutes. Partial has the
recorded size of a g4dn spot group (12.6 nodes on average, at most 24) as its capacity, in three sizes: four such groups,
half of it and a quarter; A100 is another recording, of 17 to 64 nodes.

U is a failure memory of three hours with escalation after 60 s, the best rule for batch. Rule 1 has a memory of ten
minutes, of 60 where failures are found by time-out. All rules are rule 1, a loss as a failure, replacement at the notice
and suspect nodes; the swap is off by default.

`, "`", series, left, replicas, spotPrice)
	plain, notice, late := names(conditions.isPlain),
		names(func(c conditions) bool { return c.notice > 0 && c.detect <= slot }), names(func(c conditions) bool { return c.detect > slot })
	fmt.Fprint(w, "## Goals\n\n")
	r.printGoals(w)
	fmt.Fprint(w, "## Failures found after 60 s\n\n")
	r.printTable(w, "Cost ÷ all on-demand at 2 % of the time short", overFirm, plain, reactive)
	r.printTable(w, "Cost ÷ U at 2 % of the time short", overU, plain, reactive)
	r.printTable(w, "Cost ÷ all on-demand at 1 % unserved", atOnePercent, plain, reactive)
	r.printTable(w, "Cost ÷ all on-demand at 0.5 % unserved", atHalf, plain, reactive)
	r.printTable(w, "Time short at U's cost ÷ 2 %", shortAtCostOfU, plain, reactive)
	r.printBills(w, plain)
	for _, part := range []struct {
		title string
		among []string
	}{{"## With a notice of 120 s\n\n", notice}, {"## Failures found after 900 s\n\n", late}} {
		fmt.Fprint(w, part.title)
		r.printTable(w, "Cost ÷ U at 2 % of the time short", overU, part.among, reactive)
		r.printTable(w, "Cost ÷ all on-demand at 1 % unserved", atOnePercent, part.among, reactive)
		r.printBills(w, part.among)
	}
	fmt.Fprint(w, `## With the forecast

The scaler adds what package predictor orders for the 7 minutes that a replica on a new node takes; it knows what the
recording has before the six days, for about half of the series nothing. The table tells whether the rules are worth the
same then. It does not tell what the forecast is worth: the headroom comes on top of a margin that its orders have
already. That is measured in [benchmarks.md](benchmarks.md).

`)
	r.printTable(w, "Cost ÷ cheapest first + backoff, both with the forecast or both without, at 2 % of the time short", overPlain, names(forecastPlayed), withForecast)
}

func reactive(p policy) bool { return !p.forecast }

// withForecast are the policies with the forecast, and the same without.
func withForecast(p policy) bool {
	return p.forecast || indexOf(p.name+", forecast") >= 0
}

func forecastPlayed(c conditions) bool {
	return c.plays(policies[len(policies)-1])
}

func names(want func(conditions) bool) []string {
	var out []string
	for _, c := range settings {
		if want(c) {
			out = append(out, c.name)
		}
	}
	return out
}
