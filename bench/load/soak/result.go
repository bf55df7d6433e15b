package soak

import (
	"fmt"
	"strings"
)

// Latency of calls, in seconds.
type Latency struct {
	Calls          int
	P50, P99, Most float64
}

func latencyOf(seconds []float64) Latency {
	return Latency{len(seconds), quantile(seconds, 0.5), quantile(seconds, 0.99), quantile(seconds, 1)}
}

// Compared is the latency of GetMetrics against that of the constant server.
type Compared struct {
	Name           string
	Objects, Conns int
	Real, Constant Latency
}

// Result is what a run has measured.
type Result struct {
	Options Options
	// Calls and Failed count calls by method, from the start of the run; Failed has the code and the message too.
	Calls, Failed map[string]int
	// First is how long a scaled object waited for its first answer.
	First       Latency
	GetMetrics  []Compared
	BestOptions Latency
	// Growth of memory by the kernel, of Go's live heap, of goroutines and of open files, in the measured time.
	Resident, Heap, Goroutines, Descriptors Growth
	// Processor is the share of one processor that the server used.
	Processor float64
	// BoardAge is the largest age of the board that was seen, in evaluation intervals, and Skipped how many evaluations
	// were left out.
	BoardAge, Skipped float64
	// Problems say what is not as it must be; empty if the run is passed.
	Problems []string
}

func judge(o *Options, keda *clients, autoscaler *bursts, readings []Reading, warm Reading) *Result {
	r := &Result{Options: *o, BestOptions: latencyOf(autoscaler.took), First: latencyOf(keda.first)}
	r.Calls, r.Failed = keda.tally.all()
	for _, g := range keda.groups {
		r.GetMetrics = append(r.GetMetrics, Compared{g.name, len(g.objects), g.connections, latencyOf(g.real), latencyOf(g.constant)})
	}
	r.Resident = growthOf(readings, func(r Reading) float64 { return r.Resident })
	r.Heap = growthOf(readings, func(r Reading) float64 { return r.Heap })
	r.Goroutines = growthOf(readings, func(r Reading) float64 { return r.Goroutines })
	r.Descriptors = growthOf(readings, func(r Reading) float64 { return r.Descriptors })
	last := readings[len(readings)-1]
	r.Skipped = last.Skipped
	if warm.At > 0 {
		r.Processor = (last.Processor - warm.Processor).Seconds() / (last.At - warm.At).Seconds()
		r.Skipped -= warm.Skipped
	}
	for _, one := range readings {
		r.BoardAge = max(r.BoardAge, one.BoardAge/o.Evaluate.Seconds())
	}
	r.examine()
	return r
}

// examine fills in the problems.
func (r *Result) examine() {
	wrong := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	for _, what := range sorted(r.Failed) {
		if strings.HasPrefix(what, constantCall) {
			continue // says how busy the machine is, and nothing about the server
		}
		wrong("%d times %s", r.Failed[what], what)
	}
	if r.First.Calls != r.Options.Objects {
		wrong("%d of %d scaled objects had an answer", r.First.Calls, r.Options.Objects)
	}
	if r.BoardAge > 2 {
		wrong("the board was %.1f evaluation intervals old", r.BoardAge)
	}
	if r.Skipped > 0 {
		wrong("%g evaluations were left out", r.Skipped)
	}
	const mib = 1 << 20
	for _, one := range []struct {
		name          string
		growth        Growth
		share, amount float64
	}{
		{"memory", r.Resident, 0.1, 32 * mib},
		{"live heap", r.Heap, 0.1, 16 * mib},
		{"goroutines", r.Goroutines, 0.02, 20},
		{"open files", r.Descriptors, 0.02, 10},
	} {
		if one.growth.leaked(r.Options.For, one.share, one.amount) {
			wrong("%s grew from %.0f to %.0f, %.0f an hour", one.name, one.growth.First, one.growth.Last, one.growth.PerHour)
		}
	}
}

// Rows describe the result for a table with one column for each run.
func (r *Result) Rows() [][2]string {
	o := &r.Options
	milli := func(l Latency) string { return fmt.Sprintf("%.2f / %.2f / %.0f ms", 1e3*l.P50, 1e3*l.P99, 1e3*l.Most) }
	mib := func(g Growth) string {
		return fmt.Sprintf("%.0f → %.0f (%+.0f an hour), at most %.0f", g.First/(1<<20), g.Last/(1<<20), g.PerHour/(1<<20), g.Most/(1<<20))
	}
	count := func(g Growth) string { return fmt.Sprintf("%.0f → %.0f, at most %.0f", g.First, g.Last, g.Most) }
	rows := [][2]string{
		{"scaled objects, polled every " + o.Poll.String(), fmt.Sprintf("%d, of them %d with a push stream and %d with a forecast", o.Objects, o.Streams, o.Forecasts)},
		{"warm-up, measured", fmt.Sprintf("%v, %v", o.Warmup, o.For)},
		{"BestOptions", fmt.Sprintf("%d groups × %d new pods every %v", o.Wave.Groups, o.Wave.Pods, o.Burst)},
		{"calls", counts(r.Calls)},
		{"failed calls", counts(r.Failed)},
		{"first answer for a new object, p50 / p99 / longest", fmt.Sprintf("%.1f / %.1f / %.1f s", r.First.P50, r.First.P99, r.First.Most)},
	}
	for _, c := range r.GetMetrics {
		where := fmt.Sprintf("%d objects on %d connections (%s)", c.Objects, c.Conns, c.Name)
		rows = append(
			rows,
			[2]string{"GetMetrics p50 / p99 / longest, " + where, milli(c.Real)},
			[2]string{"the same of the constant server", milli(c.Constant)},
			[2]string{"ratio to the constant server, p50 / p99", fmt.Sprintf("%.2f / %.2f", c.Real.P50/c.Constant.P50, c.Real.P99/c.Constant.P99)},
		)
	}
	return append(
		rows,
		[2]string{"BestOptions p50 / p99 / longest", milli(r.BestOptions)},
		[2]string{"oldest board, in evaluation intervals; evaluations left out", fmt.Sprintf("%.2f; %g", r.BoardAge, r.Skipped)},
		[2]string{"memory (RSS), MiB, first → last quarter", mib(r.Resident)},
		[2]string{"live heap, MiB", mib(r.Heap)},
		[2]string{"goroutines", count(r.Goroutines)},
		[2]string{"open files", count(r.Descriptors)},
		[2]string{"processors used by the server", fmt.Sprintf("%.2f", r.Processor)},
		[2]string{"verdict", r.verdict()},
	)
}

func (r *Result) verdict() string {
	if len(r.Problems) == 0 {
		return "passed"
	}
	return "failed: " + strings.Join(r.Problems, "; ")
}

func counts(of map[string]int) string {
	if len(of) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range sorted(of) {
		parts = append(parts, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(parts, ", ")
}
