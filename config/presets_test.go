package config

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/warmpool/warmpool/scaler"
)

// presetService compiles a service with a preset; rest is appended to its entry.
func presetService(t *testing.T, name, preset, model, rest string) Service {
	t.Helper()
	selector := ""
	if label := presets[preset].modelLabel; label != "" && model != "" {
		selector = ", selector: {" + label + ": " + strconv.Quote(model) + "}"
	}
	c := mustParse(t, head+"prometheus: {url: \"http://p\"}\nservices: [{name: "+name+", namespace: ns, preset: "+preset+", replicas: {max: 4}"+selector+rest+"}]\n")
	return c.Services[0]
}

// TestPresetQueries shows every query of every preset.
func TestPresetQueries(t *testing.T) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		if name == noQuery {
			continue
		}
		s := presetService(t, "s", name, "m", ", forecast: {rate: engine}")
		fmt.Fprintf(&text, "== %s\n", name)
		queries := s.Queries
		if s.Forecast.Rate != nil {
			history := *s.Forecast.Rate
			history.Signal = "history"
			queries = append(slices.Clip(queries), history)
		}
		for _, q := range queries {
			fmt.Fprintf(&text, "%s (scale %g, per ready pod %t)\n  %s\n  %s\n  %s\n", q.Signal, q.Scale, q.PerReadyPod, q.Alone, q.Expr, q.AgeExpr)
			for _, expr := range []string{q.Alone, q.Expr, q.AgeExpr} {
				if err := checkPromQL(expr); err != nil {
					t.Errorf("%s %s: %v: %s", name, q.Signal, err, expr)
				}
			}
			if !strings.Contains(q.Alone, `namespace="ns"`) {
				t.Errorf("%s %s: alone it is not restricted: %s", name, q.Signal, q.Alone)
			}
		}
	}
	golden(t, "testdata/presets.txt", text.String())
}

// TestClusterInTheSelector: where a store holds several clusters, each query of a service takes the rows of its own.
func TestClusterInTheSelector(t *testing.T) {
	c := mustParse(t, head+`prometheus: {url: "http://p"}
services: [{name: s, namespace: ns, preset: vllm, replicas: {max: 4}, selector: {model_name: m, cluster: eu}, forecast: {rate: engine}}]
`)
	s := c.Services[0]
	for _, q := range append(slices.Clip(s.Queries), *s.Forecast.Rate) {
		if !slices.Contains(q.By, "cluster") || q.Match["cluster"] != "eu" || !strings.Contains(q.Alone, `cluster="eu"`) || !strings.Contains(q.Expr, "(namespace, cluster, model_name") {
			t.Errorf("%s: by %v, rows %v: %s\n%s", q.Signal, q.By, q.Match, q.Expr, q.Alone)
		}
	}
}

// TestServicesShareExpressions lets the number of requests depend on presets and label names, not on services.
func TestServicesShareExpressions(t *testing.T) {
	exprs := map[string]bool{}
	rows := map[string]bool{}
	for i := range 50 {
		for _, q := range presetService(t, fmt.Sprintf("s%d", i), "vllm", fmt.Sprintf("m%d", i), "").Queries {
			exprs[q.Expr], exprs[q.AgeExpr] = true, true
			rows[q.Match["model_name"]] = true
		}
	}
	if len(exprs) != 9 || len(rows) != 50 { // five signals and their ages; running and cache share an age
		t.Errorf("%d expressions and %d rows for 50 services, want 9 and 50", len(exprs), len(rows))
	}
}

func TestSignalsOfAService(t *testing.T) {
	source := func(rest string) string {
		s := presetService(t, "s", "vllm", "m", rest)
		var words []string
		for i, x := range s.Policy.Sources {
			word := string(x.Signal)
			if x.Optional {
				word += "?"
			}
			if s.Queries[i].Signal != x.Signal {
				t.Errorf("query %d is %s, source %s", i, s.Queries[i].Signal, x.Signal)
			}
			words = append(words, word)
		}
		return strings.Join(words, " ")
	}
	for rest, want := range map[string]string{
		"":                                  "waiting running latency? gpuUtilization? kvCache?",
		", gpuUtilization: {scaleUp: 0.9}":  "waiting running latency? gpuUtilization kvCache?",
		", queries: {gpuUtilization: none}": "waiting running latency? kvCache?",
		", queries: {gpuUtilization: x, latency: none, kvCache: none, rate: y}": "waiting running rate gpuUtilization",
	} {
		if got := source(rest); got != want {
			t.Errorf("%s: sources %s, want %s", rest, got, want)
		}
	}
	if _, err := parseText(t, head+"prometheus: {url: \"http://p\"}\nservices: [{name: s, namespace: n, replicas: {max: 4}, queries: {kvCache: x}}]\n"); err == nil ||
		!strings.Contains(err.Error(), "gives no signal") {
		t.Errorf("a service that only knows its cache: %v", err)
	}
}

// TestLabelValuesAreQuoted puts quotes, backslashes and braces into a label value, which must stay one value.
func TestLabelValuesAreQuoted(t *testing.T) {
	const value = `a"} or secret{x="\,}{}`
	s := presetService(t, "s", "vllm", value, "")
	for _, q := range s.Queries {
		if q.Match["model_name"] != value {
			t.Errorf("row %v", q.Match)
		}
		if n := strings.Count(q.Alone, "model_name="+strconv.Quote(value)); n == 0 {
			t.Errorf("%s: %s", q.Signal, q.Alone)
		}
	}
}

func TestLabelNamesOfTheExporter(t *testing.T) {
	c := mustParse(t, head+`prometheus: {url: "http://p", labels: {gpuNamespace: namespace, gpuPod: pod}}
services: [{name: s, namespace: ns, preset: tgi, replicas: {max: 4}}]
`)
	for _, q := range c.Services[0].Queries {
		if q.Signal == scaler.Utilization && q.Alone != `avg(avg by (namespace, pod) (DCGM_FI_DEV_GPU_UTIL{namespace="ns"}) * on (namespace, pod) group_right () group by (namespace, pod) (tgi_batch_current_size{namespace="ns"}))` {
			t.Errorf("with honorLabels: %s", q.Alone)
		}
	}
}

// TestPresetsOnPrometheus evaluates the queries with promtool over series as the engines export them: ranks, several GPUs in
// a pod, a pod that still loads its model, another namespace.
func TestPresetsOnPrometheus(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("WARMPOOL_REQUIRE_PROMETHEUS") != "" {
			t.Fatal("no promtool in PATH")
		}
		t.Skip("no promtool in PATH; it comes with Prometheus")
	}
	series := map[string]string{
		`vllm:num_requests_waiting{namespace="ns",model_name="m",pod="a",engine="0"}`: "3+0x20",
		`vllm:num_requests_waiting{namespace="ns",model_name="m",pod="a",engine="1"}`: "4+0x20",
		`vllm:num_requests_waiting{namespace="ns",model_name="m",pod="b",engine="0"}`: "0+2x20",
		`vllm:num_requests_waiting{namespace="other",model_name="m",pod="a"}`:         "100+0x20",
		`vllm:num_requests_running{namespace="ns",model_name="m",pod="a",engine="0"}`: "8+0x20",
		`vllm:num_requests_running{namespace="ns",model_name="m",pod="b",engine="0"}`: "8+0x20",
		`vllm:num_requests_swapped{namespace="ns",model_name="m",pod="b",engine="0"}`: "1+0x20",
		`vllm:num_requests_running{namespace="ns",model_name="n",pod="c",engine="0"}`: "1+0x20",
		`vllm:request_success_total{namespace="ns",model_name="m",pod="a"}`:           "0+30x20",
		`vllm:kv_cache_usage_perc{namespace="ns",model_name="m",pod="a"}`:             "0.5+0x20",
		`vllm:gpu_cache_usage_perc{namespace="ns",model_name="m",pod="b"}`:            "0.7+0x20",
		// Pod a has two GPUs, pod b one; pod d loads its model and does not serve yet.
		`DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="gpu",pod="x",exported_namespace="ns",exported_pod="a"}`: "100+0x20",
		`DCGM_FI_DEV_GPU_UTIL{gpu="1",namespace="gpu",pod="x",exported_namespace="ns",exported_pod="a"}`: "60+0x20",
		`DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="gpu",pod="y",exported_namespace="ns",exported_pod="b"}`: "40+0x20",
		`DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="gpu",pod="y",exported_namespace="ns",exported_pod="d"}`: "0+0x20",
		`DCGM_FI_DEV_GPU_UTIL{gpu="2",namespace="gpu",pod="y"}`:                                          "77+0x20",
		`sglang:num_queue_reqs{namespace="ns",model_name="m",pod="a",instance="a:1",tp_rank="0"}`:        "5+0x20",
		`sglang:num_queue_reqs{namespace="ns",model_name="m",pod="a",instance="a:1",tp_rank="1"}`:        "5+0x20",
		`sglang:num_queue_reqs{namespace="ns",model_name="m",pod="b",instance="b:1",tp_rank="0"}`:        "2+0x20",
		`nv_inference_request_success{namespace="ns",model="m",pod="a",version="1"}`:                     "0+60x20",
		`nv_inference_pending_request_count{namespace="ns",model="m",pod="a",version="1"}`:               "0+6x20",
		`nv_inference_request_duration_us{namespace="ns",model="m",pod="a",version="1"}`:                 "0+90000000x20",
		`nv_inference_queue_duration_us{namespace="ns",model="m",pod="a",version="1"}`:                   "0+30000000x20",
		`nv_gpu_utilization{namespace="ns",pod="a",gpu_uuid="u"}`:                                        "0.6+0x20",
		`inference_pool_average_queue_size{namespace="ns",name="m",pod="picker-0"}`:                      "2+0x20",
		`inference_pool_average_queue_size{namespace="ns",name="m",pod="picker-1"}`:                      "4+0x20",
		`ai_inference_active_requests{namespace="ns",model="m",pod="a"}`:                                 "2+0x20",
		`tgi_request_inference_duration_sum{namespace="ns",pod="a"}`:                                     "0+40x20",
		`tgi_request_inference_duration_count{namespace="ns",pod="a"}`:                                   "0+20x20",
	}
	// At minute 20, one sample a minute.
	const now = 20 * 60
	want := map[string]map[scaler.Signal]float64{
		"vllm": {
			scaler.Waiting: 3 + 4 + 40, scaler.Running: 17, scaler.KVCache: 0.6, scaler.Utilization: (80 + 40) / 2.0,
			"history": 30.0/60 + 2.0/60,
		}, // finished, and the queue of pod b that grows by 2 a minute
		"sglang":     {scaler.Waiting: 7},
		"tgi":        {scaler.Latency: 2},
		"triton":     {scaler.Waiting: 120, scaler.Rate: 60.0/60 + 6.0/60, scaler.Latency: 1e6, scaler.Utilization: 0.6},
		"epp":        {scaler.Waiting: 3},
		"micrometer": {scaler.Running: 2, scaler.Utilization: 80},
	}
	var file strings.Builder
	file.WriteString("rule_files: []\ntests:\n  - interval: 1m\n    input_series:\n")
	for _, name := range slices.Sorted(maps.Keys(series)) {
		fmt.Fprintf(&file, "      - {series: %s, values: %q}\n", singleQuoted(name), series[name])
	}
	file.WriteString("    promql_expr_test:\n")
	expect := func(expr string, labels map[string]string, value float64) {
		fmt.Fprintf(&file, "      - {expr: %s, eval_time: 20m, exp_samples: [{labels: %s, value: %s}]}\n", singleQuoted(expr), singleQuoted(labelSet(labels)), strconv.FormatFloat(value, 'g', 15, 64))
	}
	for _, preset := range slices.Sorted(maps.Keys(want)) {
		s := presetService(t, "s", preset, "m", ", forecast: {rate: engine}")
		queries := s.Queries
		if rate := s.Forecast.Rate; rate != nil {
			history := *rate
			history.Signal = "history"
			queries = append(slices.Clip(queries), history)
		}
		for _, q := range queries {
			value, ok := want[preset][q.Signal]
			if !ok {
				continue
			}
			expect("round("+q.Alone+", 0.0001)", nil, round(value))
			// The row of this service in the shared answer.
			row := "round(" + q.Expr + ", 0.0001) and on (" + strings.Join(q.By, ", ") + ") label_replace(label_replace(vector(1), \"namespace\", \"ns\", \"\", \"\"), \"" + lastLabel(q) + "\", \"" + q.Match[lastLabel(q)] + "\", \"\", \"\")"
			expect(row, q.Match, round(value))
			expect(strings.Replace(row, q.Expr, q.AgeExpr, 1), q.Match, now)
		}
	}
	path := filepath.Join(t.TempDir(), "presets.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func lastLabel(q Query) string { return q.By[len(q.By)-1] }

func round(v float64) float64 { return float64(int64(v*10000+0.5)) / 10000 }

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func labelSet(labels map[string]string) string {
	set := model.LabelSet{}
	for name, value := range labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	return set.String()
}

func TestWrittenQueriesStayAsTheyAre(t *testing.T) {
	s := presetService(t, "s", "vllm", "m", ", queries: {waiting: \"sum(my_queue)\", rate: \"sum(rate(x[5m]))\"}")
	want := Query{Signal: scaler.Waiting, Expr: "sum(my_queue)", Alone: "sum(my_queue)", Scale: 1}
	if diff := cmp.Diff(want, s.Queries[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Forecast.Rate == nil || s.Forecast.Rate.Expr != "sum(rate(x[5m]))" {
		t.Errorf("history: %+v", s.Forecast.Rate)
	}
}
