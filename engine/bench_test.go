package engine

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// fleet resolves n triggers that live wholly in their metadata, as many KEDA users write them: one preset, and so one
// set of expressions.
func fleet(tb testing.TB, n int) (*Engine, *fakeSource) {
	tb.Helper()
	source := newFakeSource()
	e := newTestEngine(tb, Options{Config: testConfig(tb), Source: source, Limits: Limits{Triggers: n, ForgetAfter: 100 * 365 * 24 * time.Hour}})
	for i := range n {
		mustResolve(tb, e, Trigger{Namespace: fmt.Sprintf("team-%d", i%20), ScaledObject: fmt.Sprintf("llm-%d", i), Metadata: map[string]string{
			"preset": "vllm", "model": fmt.Sprintf("m%d", i), "minReplicas": "1", "maxReplicas": "40", "forecastMode": "off",
		}})
	}
	for _, s := range e.services.list() {
		for _, q := range s.compiled.Queries {
			source.set(q.Expr, 0.5)
		}
	}
	e.Tick(tb.Context(), time.Unix(1_800_000_000, 0))
	return e, source
}

// TestQueriesDoNotGrow asks as many expressions for 500 services as for 5.
func TestQueriesDoNotGrow(t *testing.T) {
	var counts []int
	for _, n := range []int{5, 500} {
		e, source := fleet(t, n)
		source.requests = nil
		e.Tick(t.Context(), time.Unix(1_800_000_015, 0))
		counts = append(counts, source.requests[0])
		if lines := e.Board(); len(lines) != n || lines[n-1].Decision == nil {
			t.Errorf("%d lines on the board, want %d", len(lines), n)
		}
	}
	if counts[0] != counts[1] || counts[0] == 0 {
		t.Errorf("%d expressions for 5 services and %d for 500", counts[0], counts[1])
	}
}

// BenchmarkTick is the cost of one evaluation of all services, the reading of signals from memory included. Its budget:
// 10,000 services cost at most twelve times what 1,000 do. Ticks are 15 s apart in life: so garbage is collected between
// them here, and the processor's caches are cold, which in a loop they would be for 10,000 services only. The processor
// time is the one to compare: on a busy machine the clock measures the others.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, _ := fleet(b, n)
			at := time.Unix(1_800_000_000, 0)
			b.ReportAllocs()
			spent := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				runtime.GC()
				coolCaches()
				at = at.Add(15 * time.Second)
				b.StartTimer()
				before := processorTime(b)
				e.Tick(b.Context(), at)
				spent += processorTime(b) - before
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/service")
		})
	}
}

// unrelated is larger than any cache.
var unrelated = make([]byte, 128<<20)

func coolCaches() {
	const line = 64
	for i := 0; i < len(unrelated); i += line {
		unrelated[i]++
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTarget is what one call of KEDA costs the engine: its trigger is resolved and the board read.
func BenchmarkTarget(b *testing.B) {
	e, _ := fleet(b, 1_000)
	trigger := *e.services.list()[500].trigger
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id, err := e.Resolve(trigger)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = e.Target(id)
		}
	})
}

// BenchmarkPlan is what the forecast adds to the evaluation of one service.
func BenchmarkPlan(b *testing.B) {
	source := newFakeSource()
	source.setFunc("gateway_rate", daily)
	e := newTestEngine(b, Options{Config: testConfig(b, forecastYAML("active")), Source: source})
	at := time.Now().Truncate(15 * time.Second)
	e.Tick(b.Context(), at)
	s, _ := e.services.get("ml/chat")
	e.Tick(b.Context(), at.Add(15*time.Second))
	e.backfill(b.Context(), s.forecast)
	if s.forecast.predictor == nil {
		b.Fatal("no predictor")
	}
	var reading arrivals
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(15 * time.Second)
		if e.plan(s, reading, at) == nil {
			b.Fatal("no forecast")
		}
	}
}
