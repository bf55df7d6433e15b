package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/report"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
)

// spotCase is one comparison with spot twins.
type spotCase struct {
	list   string
	drain  bool
	found  time.Duration
	result report.Placement
	// onDemand is warmpool without spot groups.
	onDemand report.ExpanderResult
}

const cheapestFirst = "priority"

func spot(ctx context.Context, s settings, w io.Writer) error {
	machines, err := s.machines()
	if err != nil {
		return err
	}
	groups, err := policy.Groups("mixed", machines)
	if err != nil {
		return err //nolint:wrapcheck // names the set
	}
	stock, err := trace.Read(s.at("spot/aws_spot_availability_2022_us-west-2a.csv"), trace.ReadAvailability)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	times, err := trace.Read(s.at("gpu/openb_pod_list_default.csv"), trace.ReadGPUPods)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	var cases []spotCase
	for _, list := range lists {
		pods, err := trace.Read(s.at("gpu/openb_pod_list_"+list+".csv"), trace.ReadGPUPods)
		if err != nil {
			return err //nolint:wrapcheck // names the file
		}
		for _, drain := range []bool{false, true} {
			for _, found := range []time.Duration{sim.StockFailure, sim.ProvisionTimeout} {
				c := spotCase{list: list, drain: drain, found: found}
				fmt.Fprintf(s.log, "spot: %s, found after %s, moved %v\n", list, found, drain)
				if err := c.run(ctx, s, pods, groups, stock, times); err != nil {
					return err
				}
				cases = append(cases, c)
			}
		}
	}
	writeSpot(w, s, cases)
	return nil
}

func (c *spotCase) run(ctx context.Context, s settings, pods []trace.GPUPod, groups []sim.GroupSpec, stock []*trace.Availability, times []trace.GPUPod) error {
	twins, err := policy.Twins(groups, stock, c.found)
	if err != nil {
		return err //nolint:wrapcheck // says what is missing
	}
	o := report.PlacementOptions{Seed: s.seed, Replicates: s.replicates}
	o.Drain, o.Times = c.drain, times
	o.Expanders = []string{cheapestFirst, "warmpool"}
	if c.result, err = report.RunPlacement(ctx, pods, twins, o); err != nil {
		return fmt.Errorf("with spot: %w", err)
	}
	o.Expanders = []string{"warmpool"}
	plain, err := report.RunPlacement(ctx, pods, groups, o)
	if err != nil {
		return fmt.Errorf("without spot: %w", err)
	}
	c.onDemand = plain.Expanders[0]
	return nil
}

func (c *spotCase) rival() report.ExpanderResult    { return c.result.Expanders[0] }
func (c *spotCase) warmpool() report.ExpanderResult { return c.result.Expanders[1] }

func writeSpot(w io.Writer, s settings, cases []spotCase) {
	fmt.Fprintf(w, `## Spot: recorded availability

Every GPU group of the mixed set has a spot twin at 0.35 of its price, with availability from recorded tables (95, 68, 55
and 33 %% of the time); all nodes of a group are lost when it ends. Cheapest first is a priority list by price with the
Cluster Autoscaler's own backoff; warmpool remembers failed groups (3 h, single-GPU 1 h) and goes on after a minute. Waits
are those of GPU pods for a node; %d replicates.

`, s.replicates)
	t := markdown{head: []string{"pods", "moved", "failure found after", "rule", "cost ÷ all on-demand", "wait p99 s", "max s", "over 10 min", "stock-outs", "money to spot"}}
	for i := range cases {
		c := &cases[i]
		for _, r := range []report.ExpanderResult{c.onDemand, c.rival(), c.warmpool()} {
			label := map[string]string{cheapestFirst: "cheapest first", "warmpool": "warmpool"}[r.Expander]
			if r.StockOuts == 0 && r.SpotCostShare == 0 {
				label = "all on-demand"
			}
			t.add(c.list, fmt.Sprint(c.drain), fmt.Sprintf("%.0f s", c.found.Seconds()), label, two(r.Cost/c.onDemand.Cost), fmt.Sprintf("%.0f", r.Pending.P99),
				fmt.Sprintf("%.0f", r.Pending.Max), fmt.Sprintf("%.0f", r.WaitedLong), fmt.Sprintf("%.0f", r.StockOuts), fmt.Sprintf("%.0f %%", 100*r.SpotCostShare))
		}
	}
	t.write(w)
	writeSpotGoals(w, cases)
}

func writeSpotGoals(w io.Writer, cases []spotCase) {
	t := markdown{head: []string{"goal", "measured, worst case unless said", "limit", ""}}
	worst := func(label string, most float64, format string, found time.Duration, figure func(c *spotCase) float64) {
		got := math.Inf(-1)
		for i := range cases {
			if found == 0 || cases[i].found == found {
				got = max(got, figure(&cases[i]))
			}
		}
		t.add(label, fmt.Sprintf(format, got), fmt.Sprintf(format, most), met(got <= most))
	}
	p99 := func(c *spotCase) float64 { return c.warmpool().Pending.P99 }
	longest := func(c *spotCase) float64 { return c.warmpool().Pending.Max }
	worst("found after 900 s: wait p99, s", 1350, "%.0f", sim.ProvisionTimeout, p99)
	worst("longest, s", 2600, "%.0f", sim.ProvisionTimeout, longest)
	worst("found after 60 s: wait p99, s", 490, "%.0f", sim.StockFailure, p99)
	worst("longest, s", 900, "%.0f", sim.StockFailure, longest)
	sum := func(label string, most float64, figure func(r report.ExpanderResult) float64) {
		var own, rival float64
		for i := range cases {
			own, rival = own+figure(cases[i].warmpool()), rival+figure(cases[i].rival())
		}
		t.add(label, two(own/rival), two(most), met(own <= most*rival))
	}
	sum("stock-outs ÷ cheapest first, all cases", 0.6, func(r report.ExpanderResult) float64 { return r.StockOuts })
	sum("pods that wait over 10 min ÷ cheapest first, all cases", 0.7, func(r report.ExpanderResult) float64 { return r.WaitedLong })
	worst("cost ÷ cheapest first", 1.20, "%.2f", 0, func(c *spotCase) float64 { return c.warmpool().Cost / c.rival().Cost })
	t.write(w)
	var saved []float64
	for i := range cases {
		saved = append(saved, cases[i].warmpool().Cost/cases[i].onDemand.Cost)
	}
	fmt.Fprintf(w, `What warmpool's memory and escalation buy is a bounded wait, not money: with spot it costs %s to %s of all on-demand. The
nodes bought while spot was out stay busy, so hardly any money goes back to spot; where cost matters more than waiting, leave
the escalation off.

`, two(slices.Min(saved)), two(slices.Max(saved)))
}
