package signals

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/signals/promtest"
)

// outcome is one reported query.
type outcome struct {
	samples []scaler.Sample
	err     error
}

func (o outcome) value() float64 {
	if o.err != nil || len(o.samples) == 0 {
		return -1
	}
	return o.samples[len(o.samples)-1].Value
}

func (o outcome) class() string {
	if o.err == nil {
		return "ok"
	}
	if failure, ok := errors.AsType[*Error](o.err); ok {
		return failure.Class()
	}
	return "not classified"
}

// readAll reads and fails the test unless each query is reported exactly once.
func readAll(ctx context.Context, t *testing.T, r *Reader, at time.Time, services ...[]config.Query) [][]outcome {
	t.Helper()
	outcomes := make([][]outcome, len(services))
	reported := 0
	for i := range services {
		outcomes[i] = make([]outcome, len(services[i]))
	}
	seen := map[[2]int]bool{}
	r.Read(ctx, at, services, func(s, q int, samples []scaler.Sample, err error) {
		if seen[[2]int{s, q}] {
			t.Errorf("query %d of service %d reported twice", q, s)
		}
		seen[[2]int{s, q}] = true
		reported++
		outcomes[s][q] = outcome{samples, err}
	})
	want := 0
	for i := range services {
		want += len(services[i])
	}
	if reported != want {
		t.Fatalf("%d of %d queries reported", reported, want)
	}
	return outcomes
}

func vllm(namespace, modelName string, waiting any) string {
	return fmt.Sprintf("vllm:num_requests_waiting{namespace=%q,model_name=%q} %v\n", namespace, modelName, waiting)
}

var (
	waitingQuery = config.Query{
		Signal:  scaler.Waiting,
		Expr:    `sum by (namespace, model_name) (vllm:num_requests_waiting)`,
		AgeExpr: `max by (namespace, model_name) (timestamp(vllm:num_requests_waiting))`,
		By:      []string{"namespace", "model_name"},
		Match:   map[string]string{"namespace": "prod", "model_name": "a"},
	}
	utilizationQuery = config.Query{
		Signal: scaler.Utilization,
		Expr:   `avg by (namespace) (avg by (namespace, pod) (DCGM_FI_DEV_GPU_UTIL))`,
		By:     []string{"namespace"}, Match: map[string]string{"namespace": "prod"}, Scale: 0.01,
	}
)

func TestRealPrometheus(t *testing.T) {
	engine, dcgm := promtest.NewTarget(t), promtest.NewTarget(t)
	url := promtest.Start(t, map[string]*promtest.Target{"vllm": engine, "dcgm": dcgm})
	r, err := NewReader(Options{URL: url, Timeout: 10500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func(q config.Query) outcome {
		return readAll(t.Context(), t, r, time.Now(), []config.Query{q})[0][0]
	}

	engine.Set(t, vllm("prod", "a", 3)+vllm("prod", "b", 100)+vllm("other", "a", 50))
	dcgm.Set(t, "DCGM_FI_DEV_GPU_UTIL{namespace=\"prod\",pod=\"p\",gpu=\"0\"} 90\n"+
		"DCGM_FI_DEV_GPU_UTIL{namespace=\"prod\",pod=\"p\",gpu=\"1\"} 70\n")

	t.Run("only the own row", func(t *testing.T) {
		o := read(waitingQuery)
		if o.value() != 3 {
			t.Fatalf("waiting = %v (%v), want 3", o.value(), o.err)
		}
		if age := time.Since(o.samples[0].At); age < 0 || age > 5*time.Second {
			t.Errorf("age of a sample scraped every 100 ms = %v", age)
		}
	})
	t.Run("percent becomes a share", func(t *testing.T) {
		// (90 + 70) / 2 = 80 percent.
		if o := read(utilizationQuery); o.value() != 0.8 {
			t.Errorf("utilisation = %v (%v), want 0.8", o.value(), o.err)
		}
	})
	t.Run("queue rises", func(t *testing.T) {
		engine.Set(t, vllm("prod", "a", 42))
		if o := read(waitingQuery); o.value() != 42 {
			t.Errorf("waiting = %v (%v), want 42", o.value(), o.err)
		}
	})
	t.Run("labels missing", func(t *testing.T) {
		engine.Set(t, "vllm:num_requests_waiting{model_name=\"a\"} 7\n")
		if o := read(waitingQuery); o.class() != "empty" {
			t.Errorf("a row without namespace was read as %v (%v), want empty", o.value(), o.err)
		}
	})
	t.Run("two samples", func(t *testing.T) {
		engine.Set(t, "vllm:num_requests_waiting{namespace=\"prod\",model_name=\"a\",engine=\"0\"} 2\n"+
			"vllm:num_requests_waiting{namespace=\"prod\",model_name=\"a\",engine=\"1\"} 5\n")
		raw := waitingQuery
		raw.Expr, raw.AgeExpr = "vllm:num_requests_waiting", ""
		if o := read(raw); o.class() != "ambiguous" {
			t.Errorf("two rows gave %v (%v), want ambiguous", o.value(), o.err)
		}
		if o := read(waitingQuery); o.value() != 7 {
			t.Errorf("the aggregating query gave %v (%v), want 7", o.value(), o.err)
		}
	})
	for _, bad := range []string{"NaN", "+Inf", "-Inf", "-3"} {
		t.Run("value "+bad, func(t *testing.T) {
			engine.Set(t, vllm("prod", "a", bad))
			if o := read(waitingQuery); o.class() != "invalid" || len(o.samples) != 0 {
				t.Errorf("%s gave %v (%v), want invalid", bad, o.samples, o.err)
			}
		})
	}
	t.Run("zero is a value", func(t *testing.T) {
		engine.Set(t, vllm("prod", "a", 0))
		if o := read(waitingQuery); o.value() != 0 {
			t.Errorf("waiting = %v (%v), want 0", o.value(), o.err)
		}
	})
	t.Run("series vanish", func(t *testing.T) {
		engine.Set(t, "# nothing\n")
		if o := read(waitingQuery); o.class() != "empty" {
			t.Errorf("a vanished series gave %v (%v), want empty", o.value(), o.err)
		}
	})
	t.Run("scalar, matrix, string", func(t *testing.T) {
		for expr, want := range map[string]string{
			"scalar(vector(4))": "ok", "vllm:num_requests_waiting[1m]": "wrong-type", `"text"`: "answer", "sum(": "refused",
		} {
			if o := read(config.Query{Signal: scaler.Waiting, Expr: expr}); o.class() != want {
				t.Errorf("%s: %s (%v), want %s", expr, o.class(), o.err, want)
			}
		}
	})
	t.Run("rewind and history", func(t *testing.T) { rewindAndHistory(t, r, engine) })
}

func rewindAndHistory(t *testing.T, r *Reader, engine *promtest.Target) {
	engine.Set(t, vllm("prod", "a", 8)+vllm("prod", `we"ird$1`, 9))
	// A whole second with the new values: at most two seconds of ten scrapes.
	engine.Await(t, 22)
	now := time.Now()
	var samples []scaler.Sample
	r.Rewind(t.Context(), now.Add(-10*time.Second), now, time.Second, [][]config.Query{{waitingQuery}},
		func(_, _ int, s []scaler.Sample, err error) {
			if err != nil {
				t.Errorf("rewind: %v", err)
			}
			samples = s
		})
	if len(samples) == 0 || samples[len(samples)-1].Value != 8 {
		t.Errorf("rewind gave %v, want 8 as the last value", samples)
	}
	odd := waitingQuery
	odd.Match = map[string]string{"namespace": "prod", "model_name": `we"ird$1`}
	end := now.Truncate(time.Second)
	values, err := r.History(t.Context(), odd, end.Add(-5*time.Second), end, time.Second)
	if err != nil || len(values) != 5 {
		t.Fatalf("history = %v, %v; want five slots", values, err)
	}
	// The newest slot is complete and the oldest lies before the series or inside it.
	if values[4] != 9 {
		t.Errorf("history of a label with quote and dollar = %v, want 9 in the newest slot", values)
	}
	r.Histories(t.Context(), []config.Query{waitingQuery, odd}, end.Add(-5*time.Second), end, time.Second, func(q int, means []float64, err error) {
		if want := []float64{8, 9}[q]; err != nil || len(means) != 5 || means[4] != want {
			t.Errorf("history of query %d read with the other = %v, %v, want %v in the newest slot", q, means, err, want)
		}
	})
}
