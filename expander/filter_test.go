package expander

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawProblem is a random request with one workload that may grow everything.
func drawProblem(t *rapid.T) (*problem, []int) {
	policy := &Policy{
		Workloads: []Workload{{
			Name: "w", Stages: []Stage{{Any: true}}, ZoneCap: map[string]int{"a": rapid.IntRange(0, 3).Draw(t, "cap")},
			Sharing: rapid.SampledFrom([]Sharing{"", SharingExclusive, SharingMPS}).Draw(t, "sharing"),
		}},
		CPUPods:  rapid.SampledFrom([]CPUPodRule{CPUPodsAvoid, CPUPodsNever, CPUPodsAllow}).Draw(t, "rule"),
		Failures: FailureMemory{SingleGPU: time.Hour, MultiGPU: time.Hour},
	}
	req, view := Request{}, View{Known: true}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range rapid.IntRange(1, 4).Draw(t, "pods") {
		pod := Pod{UID: rapid.StringMatching("[a-z]{6}").Draw(t, "uid"), Requests: Resources{MilliCPU: 1000, Extended: map[string]int64{wholeNvidia: rapid.Int64Range(0, 2).Draw(t, "wants")}}}
		pod.Claims = rapid.IntRange(0, 1).Draw(t, "claims")
		pod.Annotations = map[string]string{"gpu.ai/memory-per-gpu": rapid.SampledFrom([]string{"", "10Gi", "40Gi"}).Draw(t, "need")}
		req.Pods = append(req.Pods, pod)
	}
	var options []int
	for i := range rapid.IntRange(1, 5).Draw(t, "groups") {
		id := string(rune('a' + i))
		node := Resources{MilliCPU: 8000, Memory: 32 << 30, Extended: map[string]int64{wholeNvidia: rapid.Int64Range(0, 2).Draw(t, "gpus")}}
		req.Groups = append(req.Groups, Group{ID: id, Allocatable: node, Labels: map[string]string{
			"topology.kubernetes.io/zone":     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"),
			"nvidia.com/gpu.sharing-strategy": rapid.SampledFrom([]string{"", "none", "mps"}).Draw(t, "strategy"),
			gpuMemoryLabel:                    rapid.SampledFrom([]string{"", "16384", "81559"}).Draw(t, "memory"),
		}})
		option := Option{GroupID: id, NodeCount: rapid.IntRange(1, 3).Draw(t, "nodes"), Pods: []int{rapid.IntRange(0, len(req.Pods)-1).Draw(t, "pod")}}
		req.Options = append(req.Options, option)
		options = append(options, i)
		if rapid.Bool().Draw(t, "failed") {
			view.Failures = append(view.Failures, Failure{At: now.Add(-time.Minute), GroupID: id})
		}
	}
	history := History{}.clone()
	p := newProblem(policy, view, req, &history, now)
	history.observe(p)
	return p, options
}

// A filter only ever removes, and only isolation may leave nothing: every filter alone, and all in a row.
func TestFiltersOnlyRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, options := drawProblem(t)
		rejected := map[int]string{}
		left, _ := p.survivors(0, slices.Clone(options), rejected)
		if len(left) == 0 {
			t.Fatal("the filters left nothing")
		}
		for _, o := range options {
			_, dropped := rejected[o]
			if slices.Contains(left, o) == dropped {
				t.Fatalf("option %d: left %v, rejected %v", o, left, rejected)
			}
		}
		for _, o := range left {
			if !slices.Contains(options, o) {
				t.Fatalf("filters added option %d", o)
			}
		}
		for n := range filters {
			one := filters[n]
			before := filters
			filters = []filter{one}
			alone, _ := p.survivors(0, slices.Clone(options), map[int]string{})
			filters = before
			if len(alone) == 0 || len(alone) > len(options) {
				t.Fatalf("filter %s: %v of %v", one.code, alone, options)
			}
		}
	})
}
