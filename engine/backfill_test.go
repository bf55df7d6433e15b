package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
)

// batchSource answers histories of many queries at once: of each service those of its own rate, and an error for one.
type batchSource struct {
	*fakeSource
	mu      sync.Mutex
	batches []int
	alone   int
	fails   string
}

func (b *batchSource) History(ctx context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	b.mu.Lock()
	b.alone++
	b.mu.Unlock()
	return b.fakeSource.History(ctx, q, from, to, slot)
}

func (b *batchSource) Histories(ctx context.Context, queries []config.Query, from, to time.Time, slot time.Duration, report func(int, []float64, error)) {
	b.mu.Lock()
	b.batches = append(b.batches, len(queries))
	b.mu.Unlock()
	for i, q := range queries {
		if q.Match["model_name"] == b.fails {
			report(i, nil, errors.New("ambiguous: two rows"))
			continue
		}
		rates, err := b.fakeSource.History(ctx, q, from, to, slot)
		report(i, rates, err)
	}
}

// forecasting are n services of one preset that learn from the engine's own counters.
func forecasting(n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("\n- {name: s%d, namespace: ml, replicas: {min: 1, max: 50}, preset: vllm, selector: {model_name: m%[1]d}, "+
			"perReplica: {rate: 8, maxUtilization: 1}, forecast: {mode: active, rate: engine, timeZone: UTC}, startup: {lead: 10m}}", i)
	}
	return text
}

func backfillEngine(tb testing.TB, services int) (*Engine, *batchSource) {
	tb.Helper()
	source := &batchSource{fakeSource: newFakeSource()}
	c := testConfig(tb, forecasting(services))
	for _, q := range c.Services[0].Queries {
		source.set(q.Expr, 0)
	}
	source.setFunc(c.Services[0].Forecast.Rate.Expr, daily)
	e := newTestEngine(tb, Options{Config: c, Source: source})
	at := time.Now().Truncate(15 * time.Second)
	e.Tick(tb.Context(), at)
	e.Tick(tb.Context(), at.Add(15*time.Second))
	return e, source
}

// TestHistoriesAreReadTogether makes the predictors of services that share an expression from a few readings, and the one
// whose history fails alone waits.
func TestHistoriesAreReadTogether(t *testing.T) {
	const services = largestBatch + 3
	e, source := backfillEngine(t, services)
	source.fails = "m7"
	// A replay of five weeks is no part of this test.
	span := time.Now().Add(-3 * time.Hour)
	source.setFunc(e.forecasts.due(e.clock())[0].query.Expr, func(at time.Time) (float64, error) {
		if at.Before(span) {
			return 0, errFakeEmpty
		}
		return 16, nil
	})
	source.fakeSource.gaps = true
	e.Backfill(t.Context())
	if len(source.batches) != 2 || source.batches[0] != largestBatch || source.batches[1] != 3 || source.alone != 0 {
		t.Errorf("read in batches of %v and %d alone", source.batches, source.alone)
	}
	made := 0
	for _, f := range e.forecasts.bySeries {
		if f.predictor != nil {
			made++
		} else if f.service != "ml/s7" || f.attempts != 1 {
			t.Errorf("%s has no predictor after %d attempts", f.service, f.attempts)
		}
	}
	if made != services-1 {
		t.Errorf("%d predictors, want %d", made, services-1)
	}
	if due := e.forecasts.due(e.clock()); len(due) != 0 {
		t.Errorf("%d are due again at once", len(due))
	}
}

// BenchmarkBackfill is the replay of one history of five weeks, without the reading.
func BenchmarkBackfill(b *testing.B) {
	e, _ := backfillEngine(b, 4)
	due := e.forecasts.due(e.clock())
	b.ReportAllocs()
	spent := time.Duration(0)
	for b.Loop() {
		for _, f := range due {
			f.predictor = nil
		}
		before := processorTime(b)
		e.backfill(b.Context(), due...)
		spent += processorTime(b) - before
	}
	b.ReportMetric(float64(spent.Milliseconds())/float64(b.N)/float64(len(due)), "cpu-ms/service")
}
