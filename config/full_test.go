package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// TestFullExpander compiles the annotated configuration, which shows every key, into what it says.
func TestFullExpander(t *testing.T) {
	p := full(t).Expander
	if p.Mode != expander.Observe || p.CPUPods != expander.CPUPodsAvoid || p.WhenAllRejected != expander.VetoAll || !p.VetoSupported || p.MaxUnservedLoops != 3 || p.Frozen {
		t.Errorf("general settings: %+v", p)
	}
	general := expander.FailureMemory{
		SingleGPU: time.Hour, MultiGPU: 3 * time.Hour, Factor: 2, Max: 6 * time.Hour,
		StickFor: 2 * time.Minute, Quota: 2 * time.Hour, Suspected: 10 * time.Minute, ProvisionTime: 15 * time.Minute,
	}
	if diff := cmp.Diff(general, p.Failures); diff != "" {
		t.Errorf("failure memory:\n%s", diff)
	}
	rank := []expander.Criterion{{Name: expander.DollarsPerDollarNeeded}, {Name: expander.CPUMemWaste}, {Name: expander.Size}}
	if diff := cmp.Diff(rank, p.Rank); diff != "" {
		t.Errorf("rank:\n%s", diff)
	}
	short := general
	short.SingleGPU, short.MultiGPU, short.Max, short.Factor = 10*time.Minute, 10*time.Minute, 10*time.Minute, 1
	workloads := []expander.Workload{
		{
			Name: "inference", Match: expander.WorkloadMatch{PodLabels: map[string]string{"workload-tier": "online"}},
			Stages: []expander.Stage{
				{Pools: []string{"inference"}},
				{Pools: []string{"elastic-spot"}, Escalate: expander.Escalation{Attempts: 1, FirstSeen: time.Minute}},
				{Pools: []string{"elastic-on-demand"}},
			},
			Failures: &short, Sharing: expander.SharingExclusive,
		},
		{
			Name: "training", Match: expander.WorkloadMatch{Tolerates: []expander.Taint{{Key: "workload", Value: "training"}}},
			Stages:  []expander.Stage{{Pools: []string{"training"}}, {Pools: []string{"elastic-spot"}}},
			Sharing: expander.SharingExclusive,
		},
	}
	if diff := cmp.Diff(workloads, p.Workloads, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	if len(p.Pools) != 4 || p.Pools[0].HourlyCost != 0.526 || !p.Pools[2].Match.NodeGroups[0].MatchString("gpu-spot-a") || p.Pools[2].CapacityType != expander.Spot {
		t.Errorf("pools: %+v", p.Pools)
	}
	if got := p.InstanceTypes["g5.xlarge"]; got.GPUs != 1 || got.MilliCPU != 4000 || got.GPUModel != "a10g" {
		t.Errorf("built-in g5.xlarge: %+v", got)
	}
}

func TestFullServices(t *testing.T) {
	c := full(t)
	s := c.Services[0]
	want := scaler.Policy{
		Namespace: "ai-prod", Name: "llm-7b", Min: 2, Max: 64, Concurrency: 16, MaxUtilization: 0.85, DrainTime: time.Minute,
		Sources: []scaler.Source{
			{Signal: scaler.Waiting, OnlyWhenReady: true},
			{Signal: scaler.Running, OnlyWhenReady: true},
			{Signal: scaler.Latency, OnlyWhenReady: true, Optional: true},
			// The file writes the thresholds down, so that their source counts.
			{Signal: scaler.Utilization, OnlyWhenReady: true},
			{Signal: scaler.KVCache, OnlyWhenReady: true, Optional: true},
		},
		QueuePerReplica: 5,
		Utilization:     scaler.UtilizationRule{ScaleUp: 0.8, ScaleDown: 0.3, Samples: 3, MaxUpCount: 4, MaxUpPercent: 100, MaxUpPeriod: time.Minute},
		Forecast:        scaler.ForecastLimit{MaxPrewarm: 0.5},
		Startup:         scaler.StartupRule{Prior: 5 * time.Minute},
		ScaleDown:       scaler.ScaleDown{Window: 10 * time.Minute, MaxStep: 0.2, Period: 5 * time.Minute},
		IdleAfter:       15 * time.Minute, StaleAfter: 90 * time.Second,
		Hash: s.Policy.Hash,
	}
	if diff := cmp.Diff(want, s.Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if f := s.Forecast; f.Mode != "shadow" || f.MaxShort != 0.01 || f.Location.String() != "Asia/Shanghai" || f.MaxPrewarm != 0.5 || f.Rate != nil {
		t.Errorf("forecast: %+v", f)
	}
	if c.EvaluationInterval != 15*time.Second || c.ActivationInterval != time.Second || c.Prometheus.Timeout != 2*time.Second || c.Prometheus.MaxConcurrent != 8 {
		t.Errorf("general settings: %+v", c)
	}
	if c.LargeRequests != (LargeRequests{64 << 20, 384 << 20, 1}) || c.Spot != (Spot{true, true, true, true}) || c.Rebalance.Mode != "off" || c.Decisions.Ring != 10000 {
		t.Errorf("other sections: %+v %+v %+v %+v", c.LargeRequests, c.Spot, c.Rebalance, c.Decisions)
	}
	if got := warningCodes(c); got != "forecast-without-history" {
		t.Errorf("warnings %q, want that a gateway rate is missing, and nothing else", got)
	}
}

// TestDefaultsAreThoseOfTheFullFile removes everything from the annotated file that has the default there, which must not
// change the configuration.
func TestDefaultsAreThoseOfTheFullFile(t *testing.T) {
	bare := mustParse(t, head+`
caVersion: "1.36"
prometheus: {url: "http://prometheus.monitoring:9090"}
pools:
  - {name: inference, class: inference, capacityType: on-demand, exclusive: true, match: {labels: {node-role: inference}}, hourlyCost: 0.526}
  - {name: training, class: training, capacityType: on-demand, exclusive: true, match: {taints: [{key: workload, value: training, effect: NoSchedule}]}}
  - {name: elastic-spot, class: elastic, capacityType: spot, match: {nodeGroups: ["-spot-"]}}
  - {name: elastic-on-demand, class: elastic, capacityType: on-demand, match: {labels: {node-role: elastic, spot: "false"}}}
expander:
  workloads:
    - name: inference
      match: {podLabels: {workload-tier: online}}
      stages: [{pools: [inference]}, {pools: [elastic-spot], escalate: {attempts: 1, firstSeen: 60s}}, {pools: [elastic-on-demand]}]
      failureMemory: 10m
    - name: training
      match: {tolerates: {key: workload, value: training}}
      stages: [{pools: [training]}, {pools: [elastic-spot]}]
services:
  - {name: llm-7b, namespace: ai-prod, replicas: {min: 2, max: 64}, preset: vllm, selector: {model_name: llama-7b}, gpuUtilization: {}}
`)
	if want := full(t).Hash; bare.Hash != want {
		t.Errorf("hash %s, want %s: a default differs from the annotated file", bare.Hash, want)
		if diff := cmp.Diff(full(t).source, bare.source, cmp.AllowUnexported(file{}), cmpopts.EquateEmpty()); diff != "" {
			t.Logf("(-annotated +bare):\n%s", diff)
		}
	}
}
