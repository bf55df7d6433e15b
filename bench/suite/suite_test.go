package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/bench/report"
	"github.com/warmpool/warmpool/bench/trace"
)

func TestMeans(t *testing.T) {
	if got := geometric([]float64{1, 4}); math.Abs(got-2) > 1e-12 {
		t.Errorf("geometric mean %v, want 2", got)
	}
	if got := median([]float64{9, 1, 2, 4}); got != 3 {
		t.Errorf("median %v, want 3", got)
	}
	if got := span([]float64{2, 1.5, 3}); got != "1.50–3.00" {
		t.Errorf("span %q", got)
	}
	if two(math.NaN()) != "–" || span(nil) != "–" {
		t.Error("nothing is not shown as nothing")
	}
}

func TestShortNames(t *testing.T) {
	for file, want := range map[string]string{
		"servegen/servegen_m-mid_client30_10m.csv": "m-mid_client30", "web/worldcup98_1998-05-01_1998-06-10_1m.csv.gz": "worldcup98_1998-05-01_1998-06-10",
	} {
		if got := short(file); got != want {
			t.Errorf("%s is called %q, want %q", file, got, want)
		}
	}
}

// fabricated is a result in which warmpool is late, dear, and behind its reactive form.
func fabricated(kind string) played {
	hours := func(v float64) []*float64 { return []*float64{&v, nil} }
	t := report.Traffic{Trace: "servegen_a_10m.csv"}
	for name, p := range map[string][3]float64{"oracle": {1, 10, 10}, "warmpool": {0.98, 15, 13}, "warmpool-reactive": {0.97, 12, 12}, "hpa-queue": {0.5, 20, 19}, "hpa-queue-min": {0.9, 14, 13.5}, "warmpool-default": {0.99, 16, 14}} {
		t.Policies = append(t.Policies, report.PolicyResult{Policy: name, SLOAttainment: p[0], GPUHours: p[1]})
		t.Frontiers = append(t.Frontiers, report.Frontier{Policy: name, AtLateness: hours(p[2])})
	}
	return played{t, kind}
}

func TestGoalsNameTheExceptions(t *testing.T) {
	var out bytes.Buffer
	writeTrafficGoals(&out, []played{fabricated(trace.Seasonal), fabricated(trace.Unseasonal)})
	for _, want := range []string{
		"on every series, seasonal | 0 of 1 | **missed** | a 98.00 % |", "median of the seasonal series | 1.50 | **missed** | a 1.50 |",
		"at no more than 5 % more GPU-hours | 2 of 2 | met |  |", "than hpa-queue-min | 0 of 2 | **missed** | a 0.96, a 0.96 |",
		"without the forecast, unseasonal | 0 of 1 | **missed** | a 1.08 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// TestWorstIsComputed: the rule that is cheaper at equal lateness is named, and the series that is late.
func TestWorstIsComputed(t *testing.T) {
	r := fabricated(trace.Noisy)
	r.Frontiers[slices.IndexFunc(r.Frontiers, func(f report.Frontier) bool { return f.Policy == "hpa-queue" })].AtLateness[0] = new(11.0)
	var out bytes.Buffer
	writeTrafficWorst(&out, []played{r})
	for _, want := range []string{
		"cheaper at equal lateness in 1 of 2 comparisons", "at 1 % late hpa-queue takes 1.10 of the oracle's GPU-hours, warmpool 1.30 |",
		"98.00 % on time, the best other rule at its own setting hpa-queue-min 90.00 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestBestSimpleRule(t *testing.T) {
	costs := func(price, priority, perPod, warmpool float64) condition {
		var c condition
		for name, v := range map[string]float64{"price": price, "priority": priority, "dollars-per-pod": perPod, "warmpool": warmpool} {
			c.result.Expanders = append(c.result.Expanders, report.ExpanderResult{Expander: name, ToLeastWaste: v})
		}
		return c
	}
	cs := []condition{costs(0.5, 0.9, 0.6, 0.6), costs(0.8, 0.5, 0.7, 0.7)}
	if name, cost := bestSimple(cs); name != "price" || math.Abs(cost-math.Sqrt(0.4)) > 1e-12 {
		t.Errorf("best is %s at %v, want price", name, cost)
	}
	if got := worstAgainst(cs, "priority"); math.Abs(got-1.4) > 1e-12 {
		t.Errorf("worst %v, want 1.4", got)
	}
}

func TestConditionsAreAllDifferent(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conditions() {
		if name := c.name(); seen[name] {
			t.Errorf("%s twice", name)
		} else {
			seen[name] = true
		}
	}
	if len(seen) != 108 {
		t.Errorf("%d conditions, want 60 plain and 48 changed", len(seen))
	}
}
