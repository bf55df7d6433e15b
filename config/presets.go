package config

import (
	"strings"

	"github.com/warmpool/warmpool/scaler"
)

// preset is what is known of the metrics of an engine or a gateway. Metric names change between releases: every query can
// be replaced in the configuration.
type preset struct {
	// modelLabel is the label that the metadata key model sets; empty: the metrics carry none.
	modelLabel string
	// presence is a series that every serving pod has. It tells which pods belong to the service, which the metrics of
	// the GPU exporter do not.
	presence string
	// gpu is the GPU metric; empty: none.
	gpu     string
	gpuUnit float64
	// exporter is set when the GPU metric comes from a node-wide exporter, whose labels for the workload differ.
	exporter bool
	signals  []presetSignal
	// arrivals is the rate of arrivals as the engine itself sees it; nil: unknown.
	arrivals *presetSignal
	// atGateway is set when arrivals are counted in front of the engine.
	atGateway bool
}

// presetSignal is the template of one query. In the templates
//
//	$by      becomes "by (LABELS)", or nothing for one service alone
//	$perPod  becomes "by (LABELS, POD, instance)"
//	$m       becomes the matchers of one service alone, or nothing
type presetSignal struct {
	signal scaler.Signal
	expr   string
	// newest selects the series whose timestamp is the age of the value.
	newest      string
	perReadyPod bool
	scale       float64
	optional    bool
	// whenReady series are exported by the serving pods themselves.
	whenReady bool
}

const (
	dcgmUtilization = "DCGM_FI_DEV_GPU_UTIL"
	// rateWindow has to cover four scrapes at least.
	rateWindow = "2m"
	// latencyWindow is longer: few requests end within two minutes where answers are long.
	latencyWindow = "10m"
)

func gauge(signal scaler.Signal, expr, newest string) presetSignal {
	return presetSignal{signal: signal, expr: expr, newest: newest, whenReady: true}
}

func optional(s presetSignal) presetSignal {
	s.optional = true
	return s
}

// finishedPlusGrowth reads arrivals off an engine that only counts finished requests: what came in is what went out plus
// what the engine holds more than before. The growth keeps it true while the engine is saturated.
func finishedPlusGrowth(aggregate, finished, waiting, running string) *presetSignal {
	part := func(function, metric string) string {
		return strings.Replace(aggregate, "$x", function+"("+metric+"{$m}["+rateWindow+"])", 1)
	}
	expr := "clamp_min(" + part("rate", finished) + " + " + part("deriv", waiting)
	if running != "" {
		expr += " + " + part("deriv", running)
	}
	return &presetSignal{signal: scaler.Rate, expr: expr + ", 0)", newest: waiting, whenReady: true}
}

func meanDuration(name string) presetSignal {
	return optional(gauge(scaler.Latency, "sum $by (rate("+name+"_sum{$m}["+latencyWindow+"])) / sum $by (rate("+name+"_count{$m}["+latencyWindow+"]))", name+"_count"))
}

var presets = map[string]preset{
	"none": {},
	// The engines of data-parallel ranks share one pod and differ in the label engine: their sum is the pod's load.
	"vllm": {
		modelLabel: "model_name", presence: "vllm:num_requests_running", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (vllm:num_requests_waiting{$m})", "vllm:num_requests_waiting"),
			gauge(scaler.Running, `sum $by ({__name__=~"vllm:num_requests_(running|swapped)",$m})`, "vllm:num_requests_running"),
			meanDuration("vllm:request_inference_time_seconds"),
			optional(gauge(scaler.KVCache, `avg $by ({__name__=~"vllm:(kv|gpu)_cache_usage_perc",$m})`, "vllm:num_requests_running")),
		},
		arrivals: finishedPlusGrowth("sum $by ($x)", "vllm:request_success_total", "vllm:num_requests_waiting", "vllm:num_requests_running"),
	},
	// Tensor- and pipeline-parallel ranks repeat the number of their pod: the largest of a pod counts.
	"sglang": {
		modelLabel: "model_name", presence: "sglang:num_running_reqs", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (max $perPod (sglang:num_queue_reqs{$m}))", "sglang:num_queue_reqs"),
			gauge(scaler.Running, "sum $by (max $perPod (sglang:num_running_reqs{$m}))", "sglang:num_running_reqs"),
			optional(gauge(scaler.KVCache, "avg $by (max $perPod (sglang:token_usage{$m}))", "sglang:token_usage")),
		},
		arrivals: finishedPlusGrowth("sum $by (max $perPod ($x))", "sglang:num_requests_total", "sglang:num_queue_reqs", "sglang:num_running_reqs"),
	},
	"tgi": {
		presence: "tgi_batch_current_size", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (tgi_queue_size{$m})", "tgi_queue_size"),
			gauge(scaler.Running, "sum $by (tgi_batch_current_size{$m})", "tgi_batch_current_size"),
			meanDuration("tgi_request_inference_duration"),
		},
		arrivals: &presetSignal{signal: scaler.Rate, expr: "sum $by (rate(tgi_request_count{$m}[" + rateWindow + "]))", newest: "tgi_queue_size", whenReady: true},
	},
	// Triton has no gauge of running requests: it is sized by rate and by the time a request is not queued.
	"triton": {
		modelLabel: "model", presence: "nv_inference_pending_request_count", gpu: "nv_gpu_utilization", gpuUnit: 1,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (nv_inference_pending_request_count{$m})", "nv_inference_pending_request_count"),
			*finishedPlusGrowth("sum $by ($x)", "nv_inference_request_success", "nv_inference_pending_request_count", ""),
			optional(presetSignal{
				signal: scaler.Latency, scale: 1e-6, whenReady: true, newest: "nv_inference_request_success",
				expr: "(sum $by (rate(nv_inference_request_duration_us{$m}[" + latencyWindow + "])) - sum $by (rate(nv_inference_queue_duration_us{$m}[" + latencyWindow +
					"]))) / sum $by (rate(nv_inference_request_success{$m}[" + latencyWindow + "]))",
			}),
		},
		arrivals: finishedPlusGrowth("sum $by ($x)", "nv_inference_request_success", "nv_inference_pending_request_count", ""),
	},
	"nim": {
		modelLabel: "model_name", presence: "num_requests_running", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (num_requests_waiting{$m})", "num_requests_waiting"),
			gauge(scaler.Running, "sum $by (num_requests_running{$m})", "num_requests_running"),
			optional(gauge(scaler.KVCache, "avg $by (gpu_cache_usage_perc{$m})", "gpu_cache_usage_perc")),
		},
		arrivals: finishedPlusGrowth("sum $by ($x)", "request_success_total", "num_requests_waiting", "num_requests_running"),
	},
	// Queued requests are counted by every handle, so they exist without replicas too.
	"ray-serve": {
		modelLabel: "deployment", presence: "ray_serve_replica_processing_queries", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			{signal: scaler.Waiting, expr: "sum $by (ray_serve_deployment_queued_queries{$m})", newest: "ray_serve_deployment_queued_queries"},
			gauge(scaler.Running, "sum $by (ray_serve_replica_processing_queries{$m})", "ray_serve_replica_processing_queries"),
		},
	},
	// The endpoint picker reports means over its ready pods.
	"epp": {
		modelLabel: "name",
		signals: []presetSignal{
			{
				signal: scaler.Waiting, expr: `avg $by ({__name__=~"inference_pool_average_queue_size|llm_d_epp_average_queue_size",$m})`,
				newest: `{__name__=~"inference_pool_average_queue_size|llm_d_epp_average_queue_size"}`, perReadyPod: true,
			},
			{signal: scaler.Running, expr: "avg $by (inference_pool_average_running_requests{$m})", newest: "inference_pool_average_running_requests", perReadyPod: true},
			optional(presetSignal{signal: scaler.KVCache, expr: "avg $by (inference_pool_average_kv_cache_utilization{$m})", newest: "inference_pool_average_kv_cache_utilization"}),
		},
	},
	// Names that an application gives its Micrometer meters: gauges ai.inference.queue.size and ai.inference.active.requests,
	// counter ai.inference.requests.
	"micrometer": {
		modelLabel: "model", presence: "ai_inference_active_requests", gpu: dcgmUtilization, gpuUnit: 0.01, exporter: true,
		signals: []presetSignal{
			gauge(scaler.Waiting, "sum $by (ai_inference_queue_size{$m})", "ai_inference_queue_size"),
			gauge(scaler.Running, "sum $by (ai_inference_active_requests{$m})", "ai_inference_active_requests"),
		},
		arrivals: &presetSignal{signal: scaler.Rate, expr: "sum $by (rate(ai_inference_requests_total{$m}[" + rateWindow + "]))", newest: "ai_inference_queue_size", whenReady: true},
	},
}
