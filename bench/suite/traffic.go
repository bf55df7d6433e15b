package main

import (
	"cmp"
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
	// quick is set for the fixed subset, short for the part of it that is played in the other settings too.
	quick, short bool
}

// recordings are all rate series of the traces.
var recordings = []series{
	{"servegen/servegen_m-large_allclients_10m.csv", true, true},
	{"servegen/servegen_m-large_client142_10m.csv", true, false},
	{"servegen/servegen_m-large_client149_10m.csv", true, false},
	{"servegen/servegen_m-large_client56_10m.csv", false, false},
	{"servegen/servegen_m-mid_client30_10m.csv", true, true},
	{"servegen/servegen_m-mid_client36_10m.csv", false, false},
	{"servegen/servegen_m-mid_client40_10m.csv", false, false},
	{"servegen/servegen_m-mid_client60_10m.csv", true, true},
	{"servegen/servegen_m-mid_client71_10m.csv", true, false},
	{"servegen/servegen_m-mid_client73_10m.csv", false, false},
	{"servegen/servegen_m-small_client8_10m.csv", true, false},
	{"servegen/servegen_m-small_client38_10m.csv", true, false},
	{"servegen/servegen_m-small_client41_10m.csv", false, false},
	{"crane/crane_input0_1m.csv", false, false},
	{"crane/crane_input2_1m.csv", true, false},
	{"crane/crane_input6_1m.csv", false, false},
	{"crane/crane_input11_1m.csv", false, false},
	{"crane/crane_input13_1m.csv", false, false},
	{"nab/Twitter_volume_GOOG_5m.csv", false, false},
	{"nab/elb_request_count_8c0756_5m.csv", true, false},
	{"nab/nyc_taxi_2014-07_2014-10_30m.csv", false, false},
	{"web/nasa_http_1995-07_1m.csv", false, false},
	{"web/worldcup98_1998-05-01_1998-06-10_1m.csv.gz", false, false},
}

// setting is a scale of the service. Outside of the full run only the first has every series, policy and seed.
type setting struct {
	need    float64
	startup time.Duration
	short   bool
}

// shortPolicies are those of the short settings.
var shortPolicies = []string{"hpa-queue", "hpa-queue-min", "hpa-gpu", "holt-winters", "week-maximum", "warmpool-reactive", "warmpool-default", "warmpool", "oracle"}

func (s settings) trafficSettings() []setting {
	return []setting{{8, 5 * time.Minute, false}, {8, 2 * time.Minute, !s.full}, {8, 10 * time.Minute, !s.full}, {40, 5 * time.Minute, !s.full}}
}

// played is the result of one recording.
type played struct {
	report.Traffic
	// kind says how much of the traffic repeats, see [trace.Series.Kind].
	kind string
}

// kindOf are the results of one kind.
func kindOf(results []played, kind string) []played {
	var out []played
	for _, r := range results {
		if r.kind == kind {
			out = append(out, r)
		}
	}
	return out
}

// rules are the policies that were played, in the order of tables.
func rules(results []played) []string {
	var names []string
	for _, p := range results[0].Policies {
		names = append(names, p.Policy)
	}
	return names
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
paid from order to removal. Mean need is that at 80 %% of the slots. The oracle knows every request, fills every slot and
starts as slowly as everybody: a rule that plans with a free fifth of the slots pays 1.25 of it before anything goes
wrong. Traffic is seasonal where its ten-minute means correlate with those of a day or a week before by 0.8 or more,
unseasonal below 0.4, noisy in between.

HPA on queue depth alone asks for no replica while nothing waits: after its five minutes of stabilisation it goes to its
minimum, the queue fills, and it starts again. hpa-queue-min is the same rule with a minimum set from the mean need.
warmpool-default has every setting but the mode at its default; warmpool adds forecast.maxUtilization 0.95, as
docs/howto/shadow-to-active.md suggests for services whose requests may wait a few seconds.

`, s.seeds)
	var all []played
	for _, at := range s.trafficSettings() {
		results, err := s.replay(ctx, at)
		if err != nil {
			return err
		}
		if len(results) == 0 {
			if at.short && s.series != "" {
				continue
			}
			return fmt.Errorf("no recording is called %s", s.series)
		}
		seeds := s.seeds
		if at.short {
			seeds = 1
		}
		fmt.Fprintf(w, "### Mean need %g replicas, start-up %s: %d series, %d seeds\n\n", at.need, strings.TrimSuffix(at.startup.String(), "0s"), len(results), seeds)
		writeStandard(w, results)
		writeTuned(w, results)
		writeTrafficGoals(w, results)
		writeSeries(w, results)
		all = append(all, results...)
	}
	writeTrafficWorst(w, all)
	return nil
}

func (s settings) replay(ctx context.Context, at setting) ([]played, error) {
	var out []played
	for _, r := range recordings {
		if !s.plays(r, at) {
			continue
		}
		fmt.Fprintf(s.log, "traffic: need %g, start-up %s, %s\n", at.need, at.startup, short(r.file))
		t, err := trace.ReadTraffic(s.at(r.file))
		if err != nil {
			return nil, err //nolint:wrapcheck // names the file
		}
		o := report.TrafficOptions{Seed: s.seed, Seeds: s.seeds, Startup: at.startup, Need: at.need, Sweep: true, Coarse: !s.full}
		if at.short {
			o.Seeds, o.Policies = 1, shortPolicies
		}
		result, err := report.RunTraffic(ctx, t, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		out = append(out, played{result, t.Series.Kind()})
	}
	return out, nil
}

// plays tells whether a recording is part of the run.
func (s settings) plays(r series, at setting) bool {
	if s.series != "" {
		return slices.Contains(strings.Split(s.series, ","), short(r.file)) && (!at.short || r.short)
	}
	return s.full || (r.quick && (!at.short || r.short))
}

// of is one policy with its customary setting.
func of(t played, name string) report.PolicyResult {
	return t.Policies[slices.IndexFunc(t.Policies, func(p report.PolicyResult) bool { return p.Policy == name })]
}

// tuned are the GPU-hours of a policy at a share of late requests; false if it never gets there.
func tuned(t played, name string, target int) (float64, bool) {
	f := t.Frontiers[slices.IndexFunc(t.Frontiers, func(f report.Frontier) bool { return f.Policy == name })]
	if f.AtLateness[target] == nil {
		return 0, false
	}
	return *f.AtLateness[target], true
}

func toOracle(t played, hours float64) float64 { return hours / of(t, "oracle").GPUHours }

func writeStandard(w io.Writer, results []played) {
	fmt.Fprint(w, "Each rule at the setting that documentation or custom suggests:\n\n")
	t := markdown{head: []string{"rule", "setting", "on time, median", "worst", "GPU-hours ÷ oracle, median", "range", "range over the seeds, widest"}}
	for _, name := range rules(results) {
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

func writeTuned(w io.Writer, results []played) {
	fmt.Fprint(w, "Every rule tuned on the series itself: GPU-hours over the oracle's at an equal share of late requests, median over the\nseries that it reaches it on.\n\n")
	t := markdown{head: []string{"rule"}}
	for _, target := range report.Targets {
		t.head = append(t.head, fmt.Sprintf("%g %% late", 100*target), "range", "never")
	}
	for _, name := range rules(results) {
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

// exceptions counts what does not meet a goal, by name.
type exceptions struct {
	of    int
	names []string
}

func (e *exceptions) check(ok bool, name string) {
	e.of++
	if !ok {
		e.names = append(e.names, name)
	}
}

func (e *exceptions) row(t *markdown, label string) {
	if e.of > 0 {
		t.add(label, fmt.Sprintf("%d of %d", e.of-len(e.names), e.of), met(len(e.names) == 0), strings.Join(e.names, ", "))
	}
}

func writeTrafficGoals(w io.Writer, results []played) {
	t := markdown{head: []string{"goal, at the own settings unless said", "measured", "", "exceptions"}}
	for _, kind := range []string{trace.Seasonal, trace.Noisy, trace.Unseasonal} {
		var late exceptions
		for _, r := range kindOf(results, kind) {
			on := of(r, "warmpool").SLOAttainment
			late.check(on >= 0.99, fmt.Sprintf("%s %.2f %%", short(r.Trace), 100*on))
		}
		late.row(&t, "at least 99 % on time on every series, "+kind)
	}
	var dear, aim exceptions
	var hours []float64
	for _, r := range kindOf(results, trace.Seasonal) {
		h := toOracle(r, of(r, "warmpool").GPUHours)
		hours = append(hours, h)
		dear.check(h <= 1.35, fmt.Sprintf("%s %.2f", short(r.Trace), h))
		aim.check(h <= 1.2, "")
	}
	if len(hours) > 0 {
		t.add("GPU-hours ÷ oracle at most 1.35, median of the seasonal series", two(median(hours)), met(median(hours) <= 1.35), strings.Join(dear.names, ", "))
		t.add("the aim: at most 1.20", two(median(hours)), met(median(hours) <= 1.2), "")
	}
	againstQueue(&t, results)
	var behind exceptions
	for _, r := range kindOf(results, trace.Unseasonal) {
		own, ok1 := tuned(r, "warmpool", 0)
		reactive, ok2 := tuned(r, "warmpool-reactive", 0)
		behind.check(!ok2 || (ok1 && own <= 1.02*reactive), fmt.Sprintf("%s %s", short(r.Trace), ratio(own, ok1, reactive)))
	}
	behind.row(&t, "tuned to 1 % late, at most 2 % dearer than without the forecast, unseasonal")
	t.write(w)
}

func ratio(own float64, reached bool, other float64) string {
	if !reached {
		return "never"
	}
	return two(own / other)
}

// againstQueue compares with the autoscaler on queue depth: at the own settings, and with both tuned, where a rule that
// never gets to 1 % late counts as beaten.
func againstQueue(t *markdown, results []played) {
	var plain, equal exceptions
	for _, r := range results {
		p, hpa := of(r, "warmpool"), of(r, "hpa-queue")
		late := (1 - p.SLOAttainment) / (1 - hpa.SLOAttainment)
		plain.check(late <= 0.2 && p.GPUHours <= 1.05*hpa.GPUHours, fmt.Sprintf("%s %.0f %% of the late ones, %.2f × the GPU-hours", short(r.Trace), 100*late, p.GPUHours/hpa.GPUHours))
		own, ok := tuned(r, "warmpool", 0)
		rival, theirs := tuned(r, "hpa-queue-min", 0)
		equal.check(!theirs || (ok && own <= 0.85*rival), fmt.Sprintf("%s %s", short(r.Trace), ratio(own, ok, rival)))
	}
	plain.row(t, "four fifths fewer late requests than hpa-queue at no more than 5 % more GPU-hours")
	equal.row(t, "both tuned to 1 % late, at least 15 % fewer GPU-hours than hpa-queue-min")
}

func writeSeries(w io.Writer, results []played) {
	fmt.Fprint(w, "By series: on time and GPU-hours over the oracle's at the own settings, and GPU-hours at 1 % late when tuned.\n\n")
	t := markdown{head: []string{"series", "kind", "warmpool", "warmpool-default", "warmpool-reactive", "warmpool tuned", "reactive tuned", "best other rule, tuned"}}
	show := func(r played, name string) string {
		p := of(r, name)
		return fmt.Sprintf("%.2f %%, %.2f", 100*p.SLOAttainment, toOracle(r, p.GPUHours))
	}
	hours := func(r played, name string) string {
		h, ok := tuned(r, name, 0)
		if !ok {
			return "never"
		}
		return two(toOracle(r, h))
	}
	for _, r := range results {
		rival := "none gets there"
		if best, least := bestRival(r, 0); best != "" {
			rival = best + " " + two(toOracle(r, least))
		}
		t.add(short(r.Trace), r.kind, show(r, "warmpool"), show(r, "warmpool-default"), show(r, "warmpool-reactive"), hours(r, "warmpool"), hours(r, "warmpool-reactive"), rival)
	}
	t.write(w)
}

// bestRival is the cheapest rule of others at a share of late requests; empty if none gets there.
func bestRival(r played, target int) (best string, least float64) {
	for _, p := range r.Policies {
		if strings.HasPrefix(p.Policy, "warmpool") || p.Policy == "oracle" {
			continue
		}
		if h, ok := tuned(r, p.Policy, target); ok && (best == "" || h < least) {
			best, least = p.Policy, h
		}
	}
	return best, least
}

// loss is where warmpool is worse than somebody, or late.
type loss struct {
	where, what string
	by          float64
}

// writeTrafficWorst lists what warmpool is worst at: rules that are cheaper at equal lateness, most expensive first, and
// the series that it is most often late on.
func writeTrafficWorst(w io.Writer, results []played) {
	var behind, late []loss
	for _, r := range results {
		where := fmt.Sprintf("%s (%s), need %g, start-up %.0f min", short(r.Trace), r.kind, r.MeanNeed, r.StartupSeconds/60)
		for i, target := range report.Targets {
			best, least := bestRival(r, i)
			own, ok := tuned(r, "warmpool", i)
			if best == "" || (ok && own <= least) {
				continue
			}
			what := fmt.Sprintf("at %g %% late %s takes %s of the oracle's GPU-hours, warmpool ", 100*target, best, two(toOracle(r, least)))
			by := 10.0
			if ok {
				what, by = what+two(toOracle(r, own)), own/least
			} else {
				what += "never gets there"
			}
			behind = append(behind, loss{where, what, by})
		}
		if p := of(r, "warmpool"); p.SLOAttainment < 0.99 {
			late = append(late, loss{where, fmt.Sprintf("%.2f %% on time, the best other rule at its own setting %s", 100*p.SLOAttainment, mostOnTime(r)), 1 - p.SLOAttainment})
		}
	}
	fmt.Fprintf(w, "### What warmpool is worst at\n\n")
	writeLosses(w, "Tuned on the series, another rule is cheaper at equal lateness", behind, 2*len(results))
	writeLosses(w, "At its own setting it is below 99 % on time", late, len(results))
}

func mostOnTime(r played) string {
	var name string
	var on, hours float64
	for _, p := range r.Policies {
		if !strings.HasPrefix(p.Policy, "warmpool") && p.Policy != "oracle" && p.SLOAttainment > on {
			name, on, hours = p.Policy, p.SLOAttainment, toOracle(r, p.GPUHours)
		}
	}
	return fmt.Sprintf("%s %.2f %% with %s against %s of the oracle's GPU-hours", name, 100*on, two(hours), two(toOracle(r, of(r, "warmpool").GPUHours)))
}

const shownLosses = 10

func writeLosses(w io.Writer, title string, all []loss, among int) {
	fmt.Fprintf(w, "%s in %d of %d comparisons", title, len(all), among)
	if len(all) == 0 {
		fmt.Fprint(w, ".\n\n")
		return
	}
	slices.SortStableFunc(all, func(a, b loss) int { return cmp.Compare(b.by, a.by) })
	fmt.Fprintf(w, "; the %d worst:\n\n", min(len(all), shownLosses))
	t := markdown{head: []string{"where", "what"}}
	for _, l := range all[:min(len(all), shownLosses)] {
		t.add(l.where, l.what)
	}
	t.write(w)
}
