package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/signals"
	"github.com/warmpool/warmpool/signals/promtest"
)

const vllmService = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %q, timeout: 10s}
evaluationInterval: 5s
services:
- name: llm
  namespace: ml
  replicas: {min: 0, max: 40}
  preset: vllm
  selector: {model_name: m}
  perReplica: {concurrency: 10, maxUtilization: 0.8}
  forecast: {mode: "off"}
  staleAfter: 5s
`

// inference is the text of a vLLM server with one pod; values may be any number of the text format.
func inference(waiting, running any) string {
	const labels = `{namespace="ml",model_name="m",pod="llm-0"}`
	return fmt.Sprintf("vllm:num_requests_waiting%[1]s %[2]v\nvllm:num_requests_running%[1]s %[3]v\nvllm:kv_cache_usage_perc%[1]s 0.2\n",
		labels, waiting, running)
}

// gpu is the text of a DCGM exporter; its own labels are those of the exporter.
func gpu(percent int) string {
	return fmt.Sprintf("DCGM_FI_DEV_GPU_UTIL{exported_namespace=\"ml\",exported_pod=\"llm-0\",namespace=\"gpu\",gpu=\"0\"} %d\n", percent)
}

// TestFromExporterToTarget goes the whole way: exporters, a real Prometheus, signals, scaler, board. A replica carries
// 10 x 0.8 = 8 requests.
func TestFromExporterToTarget(t *testing.T) {
	vllm, dcgm := promtest.NewTarget(t), promtest.NewTarget(t)
	url := promtest.Start(t, map[string]*promtest.Target{"vllm": vllm, "dcgm": dcgm})
	c, err := config.Parse("test.yaml", fmt.Appendf(nil, vllmService, url))
	if err != nil {
		t.Fatal(err)
	}
	source, err := signals.NewReader(signals.FromConfig(c.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	e, err := engine.New(engine.Options{Config: c, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Resolve(engine.Trigger{Namespace: "ml", ScaledObject: "llm", Metadata: map[string]string{"service": "llm"}})
	if err != nil {
		t.Fatal(err)
	}
	tick := func() scaler.Decision {
		e.Tick(t.Context(), time.Now())
		d, err := e.Target(id)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	dcgm.Set(t, gpu(50))
	for _, step := range []struct {
		name string
		text string
		want int
		// invalid tells that the reading of waiting requests must be refused.
		invalid bool
	}{
		{"busy", inference(0, 20), 3, false},               // 20 / 8 = 2.5
		{"queue rises", inference(76, 20), 12, false},      // 96 / 8
		{"NaN", inference("NaN", 20), 12, true},            // held
		{"infinite", inference("+Inf", 20), 12, true},      // held
		{"negative", inference("-76", 20), 12, true},       // held
		{"two ranks", twoRanks(50, 70), 15, false},         // 120 / 8: the preset adds ranks
		{"no model label", withoutModel(100), 15, true},    // not this service's
		{"queue falls", inference(0, 20), 15, false},       // the scale-down window
		{"back and higher", inference(140, 20), 20, false}, // 160 / 8
	} {
		vllm.Set(t, step.text)
		d := tick()
		if d.Unavailable != "" || d.Replicas != step.want {
			t.Errorf("%s: %d replicas (%s), want %d; %s", step.name, d.Replicas, d.Unavailable, step.want, d.Text)
		}
		if invalid := signalError(d, scaler.Waiting) != ""; invalid != step.invalid {
			t.Errorf("%s: error of waiting = %q", step.name, signalError(d, scaler.Waiting))
		}
	}
	vanish(t, vllm, tick)
}

// vanish removes every series of the server: the target is held, then there is no answer, and never a lower one.
func vanish(t *testing.T, vllm *promtest.Target, tick func() scaler.Decision) {
	vllm.Set(t, "# gone\n")
	gone := time.Now()
	for held := 0; ; held++ {
		d := tick()
		since := time.Since(gone)
		if d.Unavailable != "" {
			// Utilisation needs the series of the server too, so everything is missing now.
			if held == 0 || since < 4*time.Second {
				t.Errorf("unavailable %v after the series vanished, want staleAfter of 5s", since)
			}
			return
		}
		if d.Replicas != 20 || len(d.Stale)+len(d.Missing) == 0 {
			t.Fatalf("%v after the series vanished: %d replicas, stale %v, missing %v", since, d.Replicas, d.Stale, d.Missing)
		}
		if since > 20*time.Second {
			t.Fatalf("still an answer %v after the series vanished: %+v", since, d)
		}
		vllm.Await(t, 3)
	}
}

func twoRanks(first, second int) string {
	return inference(0, 0) + fmt.Sprintf("vllm:num_requests_waiting{namespace=\"ml\",model_name=\"m\",engine=\"1\"} %d\n", first) +
		fmt.Sprintf("vllm:num_requests_waiting{namespace=\"ml\",model_name=\"m\",engine=\"2\"} %d\n", second)
}

func withoutModel(waiting int) string {
	return fmt.Sprintf("vllm:num_requests_waiting{namespace=\"ml\"} %d\n", waiting)
}

func signalError(d scaler.Decision, s scaler.Signal) string {
	for _, a := range d.Signals {
		if a.Signal == s {
			return a.Error
		}
	}
	return "not configured"
}
