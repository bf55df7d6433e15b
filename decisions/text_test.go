package decisions

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), -update writes it:\n%s", path, diff)
	}
}

func fullChoice() expander.Decision {
	return expander.Decision{
		Time: start, Outcome: expander.Selected, Selected: []string{"eks-elastic-spot-l4"},
		Answer: []string{"eks-elastic-spot-l4", "eks-inference-a100", "eks-cpu"}, Mode: expander.Observe,
		Reasons: []string{"dollarsPerDollarNeeded"}, Warnings: []string{"similar-groups-mixed"},
		Workloads: []expander.WorkloadDecision{
			{Name: "inference", Pods: 3, Stage: 2, StageReason: "attempts", Served: true, Valid: []string{"eks-elastic-spot-l4"}},
			{Name: "training", Pods: 1, Valid: []string{"eks-inference-a100"}, Stage: 1, UnservedLoops: 2},
			{Name: "", Pods: 2},
		},
		Candidates: []expander.Candidate{
			{
				ID: "eks-elastic-spot-l4", Pool: "elastic-spot", CapacityType: expander.Spot, NodeCount: 3, Pods: 3,
				Waste: expander.Waste{GPU: new(0.0), CPU: new(0.75), Memory: new(0.7512)}, Cost: new(0.7266), Score: new(1.0),
			},
			{
				ID: "eks-inference-a100", Pool: "inference", CapacityType: expander.OnDemand, NodeCount: 1, Pods: 3,
				Waste: expander.Waste{GPU: new(0.625), GPUMemory: new(0.5), CPU: new(0.94), Memory: new(0.98)}, Cost: new(29.39), Score: new(15.13),
				Criteria: []expander.CriterionValue{{Name: expander.DollarsPerDollarNeeded, Value: new(15.13)}},
			},
			{ID: "eks-cpu", NodeCount: 2, Rejected: "isolation"},
		},
		LeastWaste: expander.LeastWasteBaseline{Groups: []string{"eks-inference-a100"}, Cost: new(29.39)},
		Failures: []expander.FailureState{
			{GroupID: "eks-inference-spot", Class: expander.FailureStock, Proven: true, Failures: 2, Until: start.Add(20 * time.Minute)},
		},
		PolicyHash: "5f1c9a",
	}
}

func TestExpanderText(t *testing.T) {
	veto := expander.Decision{
		Time: start, Mode: expander.Active, Outcome: expander.Veto, Reasons: []string{"isolation"},
		Workloads:  []expander.WorkloadDecision{{Name: "analytics", Pods: 40}},
		Candidates: []expander.Candidate{{ID: "inference", Pool: "inference", CapacityType: expander.OnDemand, NodeCount: 4, Pods: 40, Rejected: "isolation"}},
		LeastWaste: expander.LeastWasteBaseline{Groups: []string{"inference", "training"}},
	}
	for name, d := range map[string]expander.Decision{
		"expander-observe.txt": fullChoice(), "expander-veto.txt": veto, "expander-empty.txt": {Time: start, Outcome: expander.PassThrough, Mode: expander.Active},
	} {
		var b bytes.Buffer
		if err := WriteExpander(&b, d); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func fullTarget() scaler.Decision {
	return scaler.Decision{
		Time: start, Service: "ai-prod/llm-7b", Replicas: 11, Active: true, Raw: 12, Need: 12, Binding: "queue", Limited: "step",
		Votes: []scaler.Vote{
			{Name: "queue", Replicas: 12, Exact: 11.32, Text: "154 running and waiting over 16 x 0.85", Used: true},
			{Name: "utilisation", Replicas: 9, Exact: 9, Text: "0.82 above 0.8 in 3 samples", Stale: true, Used: true},
			{Name: "forecast", Replicas: 20, Exact: 19.2, Text: "peak at 13:00"},
		},
		Reasons: []string{"queue", "down-step"}, Stale: []scaler.Signal{scaler.Utilization}, Missing: []scaler.Signal{scaler.Rate},
		Ready: 10, Starting: 2, Stuck: 1, CurrentReplicas: 12, HeldByTolerance: true,
		Lead:     scaler.LeadTime{Seconds: 312, Samples: 14, Source: "learned"},
		Forecast: &scaler.Forecast{Replicas: 20, Text: "20 replicas for the peak at 13:00, recorded only (shadow)"},
		Override: &scaler.Override{To: start.Add(time.Hour), Reason: "launch"}, PolicyHash: "77aa",
		Signals: []scaler.SignalAge{
			{Signal: scaler.Waiting, Value: 4, Age: 7},
			{Signal: scaler.Utilization, Value: 0.82, Age: 61},
			{Signal: scaler.Rate, Age: -1, Error: "query timed out"},
			{Signal: scaler.KVCache, Age: -1, Error: "no series", Excused: scaler.ExcusedOptional},
			{Signal: scaler.Running, Value: 3, Age: 400, Excused: scaler.ExcusedNotReady},
		},
	}
}

func TestScalerText(t *testing.T) {
	full := fullTarget()
	none := scaler.Decision{Time: start, Service: "ai-prod/new", Unavailable: "no source has answered yet", CurrentReplicas: -1}
	for name, d := range map[string]scaler.Decision{"scaler.txt": full, "scaler-unavailable.txt": none} {
		var b bytes.Buffer
		if err := WriteScaler(&b, d); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestComparisonText(t *testing.T) {
	var c Comparison
	for day := range 3 {
		d := fullChoice()
		d.Time = start.AddDate(0, 0, day)
		c.Add(OfExpander(d))
		d.Time = d.Time.Add(10 * time.Second) // the next loop of the Cluster Autoscaler asks again
		c.Add(OfExpander(d))
	}
	c.Add(OfExpander(expander.Decision{Time: start, Outcome: expander.Veto}))
	var b bytes.Buffer
	if err := WriteComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.txt", b.Bytes())

	b.Reset()
	if err := WriteComparison(&b, Comparison{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison-empty.txt", b.Bytes())
}
