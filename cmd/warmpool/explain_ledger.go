package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/warmpool/warmpool/link"
)

// writeLedger says what a service runs on, what is on the way, what fell back and why, and what that costs.
func writeLedger(out io.Writer, l *link.Ledger) {
	if l.Known {
		fmt.Fprintf(out, "\nruns on:  %s\n", runsOn(l))
		t := newTable(out, "GROUP", "CAPACITY", "REPLICAS", "READY", "$/H", "WHY NOT THE FIRST STAGE")
		for _, h := range l.Holdings {
			t.row(cmp.Or(h.Pool, "unknown"), cmp.Or(string(h.Capacity), "unknown"), h.Replicas, h.Ready, fmt.Sprintf("%.2f", h.HourlyCost), whyFellBack(l, h.Pool))
		}
		_ = t.end() // a writer that fails shows at the next line
		for _, w := range l.OnTheWay {
			fmt.Fprintf(out, "on the way from %s: %d, %d of them late\n", cmp.Or(w.Pool, "no order yet"), w.Replicas, w.Late)
		}
		if l.Supply.None {
			fmt.Fprintln(out, "supply:   no pool can deliver a node now")
		}
		if len(l.Supply.Bounds) > 0 {
			fmt.Fprintf(out, "bounds:   %s\n", strings.Join(l.Supply.Bounds, "; "))
		}
	}
	if l.Base != nil && l.Base.Text != "" {
		fmt.Fprintf(out, "\non-demand base: %s\n", l.Base.Text)
	}
	if l.Return != nil && l.Return.Text != "" {
		fmt.Fprintf(out, "back to spot: %s\n", l.Return.Text)
	}
}

func runsOn(l *link.Ledger) string {
	var parts []string
	for _, kind := range []link.Capacity{link.Spot, link.OnDemand, link.Reserved, link.Unknown} {
		if n := l.Count(kind); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(string(kind), "unknown")))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	text := strings.Join(parts, ", ") + fmt.Sprintf(", $%.2f an hour", l.HourlyCost)
	if l.CostUnknown > 0 {
		text += fmt.Sprintf(" and %d without a known price", l.CostUnknown)
	}
	return text
}

func whyFellBack(l *link.Ledger, pool string) string {
	for _, f := range l.FellBack {
		if f.Pool == pool {
			return f.Why
		}
	}
	if l.Workload == "" {
		return "-"
	}
	return "it is the first"
}
