package engine

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/scaler"
)

// TestEvaluationGivesTheSameDecision: what is kept of a replica target is enough to compute it again, also after a way
// through JSON, through rises, falls, a metric store that fails, and a value that is no number.
func TestEvaluationGivesTheSameDecision(t *testing.T) {
	c := parseConfig(t, `apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: "http://prometheus.test"}
services:
  - name: llm
    namespace: ml
    replicas: {min: 1, max: 20}
    perReplica: {concurrency: 8}
    queries: {waiting: "waiting", running: "running"}
    forecast: {mode: "off"}
`)
	log, err := decisions.Open(decisions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	source, start := newFakeSource(), time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)
	e := newTestEngine(t, Options{Config: c, Decisions: log, Source: source, Clock: func() time.Time { return start }})
	load := []float64{3, 60, 61, 90, math.NaN(), 20, 20}
	for i := range 80 {
		source.set("waiting", float64(i%3))
		source.set("running", load[i/8%len(load)])
		if i/10 == 4 {
			source.fail("waiting")
			source.fail("running")
		}
		e.Tick(t.Context(), start.Add(time.Duration(i)*15*time.Second))
	}
	records := log.List(decisions.Filter{Limit: 1000})
	if len(records) < 10 {
		t.Fatalf("only %d records: the test checks little", len(records))
	}
	for _, record := range records {
		kept, ok := e.Situation(record.ID)
		if !ok || kept.Target == nil {
			t.Fatalf("no situation of %s", record.ID)
		}
		data, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		var read Situation
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		again, _ := scaler.Evaluate(read.Target.Policy, read.Target.State, read.Target.Inputs, read.At)
		want, _ := json.MarshalIndent(record.Scaler, "", " ")
		got, _ := json.MarshalIndent(&again, "", " ")
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s %s (-recorded +again):\n%s", record.Time.Format(time.TimeOnly), record.Summary, diff)
		}
	}
}

// TestEvaluationsDriveOutNoChoice: the two halves have a memory each.
func TestEvaluationsDriveOutNoChoice(t *testing.T) {
	var e Engine
	e.situations.add("choice", Situation{})
	for i := range 2 * keptSituations {
		e.evaluations.add(string(rune('a'+i)), Situation{Target: &Evaluation{}})
	}
	if _, ok := e.Situation("choice"); !ok || len(e.evaluations.ids) != keptSituations {
		t.Errorf("choice kept: %v; %d targets", ok, len(e.evaluations.ids))
	}
	v := Evaluation{State: scaler.State{Last: map[scaler.Signal][]scaler.Sample{scaler.Rate: make([]scaler.Sample, 1<<16)}}}
	if v.size() < 1<<21 {
		t.Errorf("64 Ki samples take %d bytes", v.size())
	}
}
