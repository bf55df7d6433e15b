package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	benchtrace "github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/predictor/backtest"
)

var leadNames = [3]string{"short", "30 min", "60 min"}

// metric reads one number of a method on a series.
type metric func(f, reactive backtest.Figures) float64

func cost(short float64) metric {
	return func(f, _ backtest.Figures) float64 { return f.Open.CostAt(short) }
}

func ratio(short float64) metric {
	return func(f, r backtest.Figures) float64 { return f.Open.CostAt(short) / r.Open.CostAt(short) }
}

func closed(short float64) metric {
	return func(f, _ backtest.Figures) float64 { return f.Closed.CostAt(short) }
}

func wape(f, _ backtest.Figures) float64        { return f.WAPE }
func coverage(f, _ backtest.Figures) float64    { return f.Coverage }
func onlineShort(f, _ backtest.Figures) float64 { return 100 * f.Online.Short }
func onlineCost(f, _ backtest.Figures) float64  { return f.Online.Cost }
func paid(f, _ backtest.Figures) float64        { return f.Closed.PaidAt(0.02) }
func windowless(f, _ backtest.Figures) float64  { return f.Windowless().CostAt(0.02) }

// values are a metric over the series, with the series' names and groups.
type values struct {
	numbers []float64
	names   []string
	groups  []string
}

func collect(results []result, method string, lead int, m metric) values {
	var v values
	for _, r := range results {
		f, ok := r.find(method, lead)
		base, _ := r.find(reactive, lead)
		if ok {
			v.numbers = append(v.numbers, m(f, base))
			v.names = append(v.names, r.Name)
			v.groups = append(v.groups, r.group)
		}
	}
	return v
}

func (v values) of(group string) values {
	var out values
	for i, g := range v.groups {
		if g == group {
			out.numbers, out.names = append(out.numbers, v.numbers[i]), append(out.names, v.names[i])
		}
	}
	return out
}

// quantile interpolates between the ranks; NaN without values.
func (v values) quantile(q float64) float64 {
	if len(v.numbers) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(v.numbers)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func (v values) median() float64 { return v.quantile(0.5) }

func (v values) geometric() float64 {
	sum := 0.0
	for _, x := range v.numbers {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v.numbers)))
}

func (v values) worst() (float64, string) {
	best := 0
	for i, x := range v.numbers {
		if x > v.numbers[best] {
			best = i
		}
	}
	if len(v.numbers) == 0 {
		return math.NaN(), ""
	}
	return v.numbers[best], v.names[best]
}

func (v values) share(holds func(float64) bool) float64 {
	n := 0
	for _, x := range v.numbers {
		if holds(x) {
			n++
		}
	}
	return float64(n) / float64(len(v.numbers))
}

func printTables(w io.Writer, results []result) {
	fmt.Fprintf(w, "# Predictor against rivals\n\nPrinted by `go run ./bench/predictor -traces DIR`; the traces are not part of the repository.\n\n%d recorded series. Cost is replica-hours over those of an oracle; 1 replica carries an eighth of the mean.\n", len(results))
	fmt.Fprint(w, "Medians over the series; in parentheses seasonal / noisy / unseasonal and the worst series.\n\n")
	printMethods(w, results)
	printClosed(w, results)
	printGoals(w, results)
	printReference(w, results)
	printSeries(w, results)
	printFootprint(w, results)
}

func methodsOf(results []result) []string {
	var out []string
	for _, r := range results {
		for _, f := range r.figures {
			if !slices.Contains(out, f.Method) {
				out = append(out, f.Method)
			}
		}
	}
	return out
}

func printMethods(w io.Writer, results []result) {
	fmt.Fprintln(w, "| lead | method | WAPE | coverage | cost at 2 % | cost at 0.5 % | ratio to reactive, 2 %; 0.5 % | geometric mean, 2 % | cheaper than reactive at 2 % | online, target 2 %: short, cost |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for lead, name := range leadNames {
		for _, m := range methodsOf(results) {
			v := func(x metric) values { return collect(results, m, lead, x) }
			r2 := v(ratio(0.02))
			cheaper := r2.share(func(x float64) bool { return x < 0.995 })
			fmt.Fprintf(w, "| %s | %s | %.3f | %.3f | %s | %s | %.2f; %.2f | %.3f | %.0f of %d | %.2f %%, %.2f |\n",
				name, m, v(wape).median(), v(coverage).median(), spread(v(cost(0.02))), spread(v(cost(0.005))),
				r2.median(), v(ratio(0.005)).median(), r2.geometric(), cheaper*float64(len(r2.numbers)), len(r2.numbers),
				v(onlineShort).median(), v(onlineCost).median())
		}
	}
	fmt.Fprintln(w)
}

// spread writes a median with those of the groups and the worst series.
func spread(v values) string {
	worst, name := v.worst()
	return fmt.Sprintf("%.2f (%.2f / %.2f / %.2f; %.3g %s)", v.median(), v.of(benchtrace.Seasonal).median(), v.of(benchtrace.Noisy).median(), v.of(benchtrace.Unseasonal).median(), worst, name)
}

func printClosed(w io.Writer, results []result) {
	fmt.Fprint(w, "## Closed loop: replicas need the lead to start\n\n")
	fmt.Fprintln(w, "| lead | method | cost at 2 % | only the order for the lead | paid with starting replicas | geometric mean over reactive, 2 % | cost at 0.5 % |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for lead, name := range leadNames {
		for _, m := range methodsOf(results) {
			v := func(x metric) values { return collect(results, m, lead, x) }
			over := v(func(f, r backtest.Figures) float64 { return f.Closed.CostAt(0.02) / r.Closed.CostAt(0.02) })
			fmt.Fprintf(w, "| %s | %s | %s | %.2f | %.2f | %.3f | %.2f |\n",
				name, m, spread(v(closed(0.02))), v(windowless).median(), v(paid).median(), over.geometric(), v(closed(0.005)).median())
		}
	}
	fmt.Fprintln(w)
}

func printSeries(w io.Writer, results []result) {
	fmt.Fprint(w, "## Series one by one: cost at 2 %, short / 30 / 60 min\n\nIn parentheses the figures of the method as it was specified.\n\n")
	shown := []string{reactive, holtWinters, profile, reactiveScale, warmpool}
	fmt.Fprintf(w, "| series | group | %s | %s at 0.5 %% | closed loop | WAPE at 30: %s (last value) | coverage | online at 30: short, cost |\n", strings.Join(shown, " | "), warmpool, warmpool)
	fmt.Fprintln(w, "|"+strings.Repeat("---|", len(shown)+7))
	for _, r := range results {
		fmt.Fprintf(w, "| %s | %s %.2f |", r.Name, r.group, r.season)
		for _, m := range shown[:len(shown)-1] {
			fmt.Fprintf(w, " %s |", r.triple(m, cost(0.02)))
		}
		fmt.Fprintf(w, " %s%s |", r.triple(warmpool, cost(0.02)), specified(r.Name))
		f, _ := r.find(warmpool, 1)
		last, _ := r.find(reactive, 1)
		fmt.Fprintf(w, " %s | %s | %.3f (%.3f) | %.3f | %.2f %%, %.2f |\n", r.triple(warmpool, cost(0.005)), r.triple(warmpool, closed(0.02)),
			f.WAPE, last.WAPE, f.Coverage, 100*f.Online.Short, f.Online.Cost)
	}
	fmt.Fprintln(w)
}

func (r result) triple(method string, m metric) string {
	var out []string
	for lead := range leadNames {
		f, ok := r.find(method, lead)
		if !ok {
			out = append(out, "–")
			continue
		}
		base, _ := r.find(reactive, lead)
		out = append(out, fmt.Sprintf("%.2f", m(f, base)))
	}
	return strings.Join(out, "/")
}

func printFootprint(w io.Writer, results []result) {
	var times, sizes, horizons []float64
	for _, r := range results {
		if r.bytes > 0 {
			times = append(times, r.perSlot.Seconds()*1e6)
			sizes = append(sizes, float64(r.bytes)/1024)
			horizons = append(horizons, float64(r.horizons))
		}
	}
	if len(times) == 0 {
		return
	}
	fmt.Fprintf(w, "## Time and memory\n\nOne slot of one service, all its horizons and the record of what they are worth: median %.0f µs (%.0f µs a horizon), %.0f KB of memory, worst %.0f µs and %.0f KB.\n",
		values{numbers: times}.median(), values{numbers: times}.median()/values{numbers: horizons}.median(), values{numbers: sizes}.median(), slices.Max(times), slices.Max(sizes))
}
