package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/report"
	"github.com/warmpool/warmpool/bench/trace"
)

// series is one recording of traffic.
type series struct {
	file string
	// quick is set for the fixed subset.
	quick bool
}

// recordings are all rate series of the traces.
var recordings = []series{
	{"servegen/servegen_m-large_allclients_10m.csv", true},
	{"servegen/servegen_m-large_client142_10m.csv", false},
	{"servegen/servegen_m-large_client149_10m.csv", false},
	{"servegen/servegen_m-large_client56_10m.csv", false},
	{"servegen/servegen_m-mid_client30_10m.csv", true},
	{"servegen/servegen_m-mid_client36_10m.csv", false},
	{"servegen/servegen_m-mid_client40_10m.csv", false},
	{"servegen/servegen_m-mid_client60_10m.csv", true},
	{"servegen/servegen_m-mid_client71_10m.csv", false},
	{"servegen/servegen_m-mid_client73_10m.csv", false},
	{"servegen/servegen_m-small_client8_10m.csv", true},
	{"servegen/servegen_m-small_client38_10m.csv", false},
	{"servegen/servegen_m-small_client41_10m.csv", false},
	{"crane/crane_input0_1m.csv", false},
	{"crane/crane_input2_1m.csv", true},
	{"crane/crane_input6_1m.csv", false},
	{"crane/crane_input11_1m.csv", false},
	{"crane/crane_input13_1m.csv", false},
	{"nab/Twitter_volume_GOOG_5m.csv", false},
	{"nab/elb_request_count_8c0756_5m.csv", true},
	{"nab/nyc_taxi_2014-07_2014-10_30m.csv", false},
	{"web/nasa_http_1995-07_1m.csv", false},
	{"web/worldcup98_1998-05-01_1998-06-10_1m.csv.gz", false},
}

// setting is a scale of the service.
type setting struct {
	need    float64
	startup time.Duration
}

func (s settings) trafficSettings() []setting {
	if s.full {
		return []setting{{8, 5 * time.Minute}, {8, 2 * time.Minute}, {8, 10 * time.Minute}, {40, 5 * time.Minute}}
	}
	return []setting{{8, 5 * time.Minute}}
}

// short is the name of a series in tables.
func short(file string) string {
	name := file[strings.LastIndex(file, "/")+1:]
	name, _, _ = strings.Cut(name, ".")
	name = strings.TrimPrefix(name, "servegen_")
	for _, step := range []string{"_10m", "_5m", "_1m", "_30m"} {
		name = strings.TrimSuffix(name, step)
	}
	return name
}

func traffic(ctx context.Context, s settings, w io.Writer) error {
	fmt.Fprintf(w, `## Replicas: recorded traffic against other rules

The first half of each series is history, the second half counts. Requests are drawn from the recorded rates (%d seeds,
mean); service time 8 s lognormal, 16 slots a replica, a request is late that waits over 10 s for a slot. A replica is
paid from order to removal. The oracle knows every request, fills every slot and starts as slowly as everybody: a rule that
plans with a free fifth of the slots pays 1.25 of it before anything goes wrong.

`, s.seeds)
	for _, at := range s.trafficSettings() {
		results, err := s.replay(ctx, at)
		if err != nil {
			return err
		}
		if len(results) == 0 {
			return fmt.Errorf("no recording is called %s", s.series)
		}
		fmt.Fprintf(w, "### Mean need %g replicas, start-up %s, %d series\n\n", at.need, at.startup, len(results))
		writeStandard(w, results)
		writeTuned(w, results)
		writeTrafficGoals(w, results)
		writeSeries(w, results)
	}
	return nil
}

func (s settings) replay(ctx context.Context, at setting) ([]report.Traffic, error) {
	var out []report.Traffic
	for _, r := range recordings {
		if !s.plays(r) {
			continue
		}
		fmt.Fprintf(s.log, "traffic: need %g, start-up %s, %s\n", at.need, at.startup, short(r.file))
		t, err := trace.ReadTraffic(s.at(r.file))
		if err != nil {
			return nil, err //nolint:wrapcheck // names the file
		}
		result, err := report.RunTraffic(ctx, t, report.TrafficOptions{Seed: s.seed, Seeds: s.seeds, Startup: at.startup, Need: at.need, Sweep: true, Coarse: !s.full})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		out = append(out, result)
	}
	return out, nil
}

// plays tells whether a recording is part of the run.
func (s settings) plays(r series) bool {
	if s.series != "" {
		return slices.Contains(strings.Split(s.series, ","), short(r.file))
	}
	return r.quick || s.full
}

// of is one policy with its customary setting.
func of(t report.Traffic, name string) report.PolicyResult {
	return t.Policies[slices.IndexFunc(t.Policies, func(p report.PolicyResult) bool { return p.Policy == name })]
}

// tuned are the GPU-hours of a policy at a share of late requests; false if it never gets there.
func tuned(t report.Traffic, name string, target int) (float64, bool) {
	f := t.Frontiers[slices.IndexFunc(t.Frontiers, func(f report.Frontier) bool { return f.Policy == name })]
	if f.AtLateness[target] == nil {
		return 0, false
	}
	return *f.AtLateness[target], true
}

func toOracle(t report.Traffic, hours float64) float64 { return hours / of(t, "oracle").GPUHours }

func writeStandard(w io.Writer, results []report.Traffic) {
	fmt.Fprint(w, "Each rule at the setting that documentation or custom suggests:\n\n")
	t := markdown{head: []string{"rule", "setting", "on time, median", "worst", "GPU-hours ÷ oracle, median", "range", "range over the seeds, widest"}}
	for _, name := range policy.Names() {
		var onTime, hours, widths []float64
		for _, r := range results {
			p := of(r, name)
			onTime = append(onTime, 100*p.SLOAttainment)
			hours = append(hours, toOracle(r, p.GPUHours))
			widths = append(widths, (p.Spread.GPUHours[1]-p.Spread.GPUHours[0])/p.GPUHours)
		}
		_, knob, _ := policy.Sweep(name)
		t.add(name, fmt.Sprintf("%s %g", knob, of(results[0], name).Knob), fmt.Sprintf("%.2f %%", median(onTime)), fmt.Sprintf("%.2f %%", slices.Min(onTime)),
			two(median(hours)), span(hours), fmt.Sprintf("%.1f %%", 100*slices.Max(widths)))
	}
	t.write(w)
}

func writeTuned(w io.Writer, results []report.Traffic) {
	fmt.Fprint(w, "Every rule tuned on the series itself: GPU-hours over the oracle's at an equal share of late requests, median over the\nseries that it reaches it on.\n\n")
	t := markdown{head: []string{"rule"}}
	for _, target := range report.Targets {
		t.head = append(t.head, fmt.Sprintf("%g %% late", 100*target), "range", "never")
	}
	for _, name := range policy.Names() {
		row := []string{name}
		for i := range report.Targets {
			var hours []float64
			for _, r := range results {
				if h, ok := tuned(r, name, i); ok {
					hours = append(hours, toOracle(r, h))
				}
			}
			row = append(row, two(median(hours)), span(hours), fmt.Sprint(len(results)-len(hours)))
		}
		t.add(row...)
	}
	t.write(w)
}

func writeTrafficGoals(w io.Writer, results []report.Traffic) {
	var hours []float64
	var late, dear, behind, queue []string
	for _, r := range results {
		p, name := of(r, "warmpool"), short(r.Trace)
		hours = append(hours, toOracle(r, p.GPUHours))
		if p.SLOAttainment < 0.99 {
			late = append(late, fmt.Sprintf("%s %.2f %%", name, 100*p.SLOAttainment))
		}
		if toOracle(r, p.GPUHours) > 1.35 {
			dear = append(dear, fmt.Sprintf("%s %.2f", name, toOracle(r, p.GPUHours)))
		}
		own, ok1 := tuned(r, "warmpool", 0)
		reactive, ok2 := tuned(r, "warmpool-reactive", 0)
		if ok2 && (!ok1 || own > 1.02*reactive) {
			behind = append(behind, fmt.Sprintf("%s %.2f", name, own/reactive))
		}
		hpa := of(r, "hpa-queue")
		if 1-p.SLOAttainment > 0.2*(1-hpa.SLOAttainment) || p.GPUHours > 1.05*hpa.GPUHours {
			queue = append(queue, name)
		}
	}
	t := markdown{head: []string{"goal, warmpool at its own settings", "measured", "", "exceptions"}}
	t.add("at least 99 % on time on every series", fmt.Sprintf("%d of %d", len(results)-len(late), len(results)), met(len(late) == 0), strings.Join(late, ", "))
	t.add("GPU-hours at most 1.35 of the oracle's, median", two(median(hours)), met(median(hours) <= 1.35), strings.Join(dear, ", "))
	t.add("four fifths fewer late requests than HPA on queue depth at no more than 5 % more GPU-hours", fmt.Sprintf("%d of %d", len(results)-len(queue), len(results)), met(len(queue) == 0), strings.Join(queue, ", "))
	t.add("tuned to 1 % late, at most 2 % dearer than without the forecast", fmt.Sprintf("%d of %d", len(results)-len(behind), len(results)), met(len(behind) == 0), strings.Join(behind, ", "))
	t.write(w)
}

func writeSeries(w io.Writer, results []report.Traffic) {
	fmt.Fprint(w, "By series: on time and GPU-hours over the oracle's at the own settings, and GPU-hours at 1 % late when tuned.\n\n")
	t := markdown{head: []string{"series", "warmpool", "warmpool reactive", "warmpool tuned", "reactive tuned", "best other rule, tuned"}}
	show := func(r report.Traffic, name string) string {
		p := of(r, name)
		return fmt.Sprintf("%.2f %%, %.2f", 100*p.SLOAttainment, toOracle(r, p.GPUHours))
	}
	hours := func(r report.Traffic, name string) string {
		h, ok := tuned(r, name, 0)
		if !ok {
			return "never"
		}
		return two(toOracle(r, h))
	}
	for _, r := range results {
		best := ""
		var least float64
		for _, name := range policy.Names() {
			if strings.HasPrefix(name, "warmpool") || name == "oracle" {
				continue
			}
			if h, ok := tuned(r, name, 0); ok && (best == "" || h < least) {
				best, least = name, h
			}
		}
		rival := "none gets there"
		if best != "" {
			rival = best + " " + two(toOracle(r, least))
		}
		t.add(short(r.Trace), show(r, "warmpool"), show(r, "warmpool-reactive"), hours(r, "warmpool"), hours(r, "warmpool-reactive"), rival)
	}
	t.write(w)
}
