package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warmpool/warmpool/expander"
)

func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"missing": filepath.Join(dir, "none.yaml"), "a directory": dir, "a device": "/dev/zero"} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names the path", name, err)
		}
	}
}

func TestExpanderIsOptional(t *testing.T) {
	c := mustParse(t, head)
	if c.Expander != nil || len(c.Services) != 0 || c.LargeRequests.Limit != 384<<20 {
		t.Errorf("got %+v", c)
	}
}

// TestNullSections treats a section with everything commented out as one that is not there.
func TestNullSections(t *testing.T) {
	c := mustParse(t, head+"prometheus:\n  headers:\npools:\nexpander:\nservices:\n")
	if c.Prometheus.Timeout == 0 || c.Expander != nil {
		t.Errorf("sections without content became %+v, expander %v", c.Prometheus, c.Expander)
	}
}

// TestVocabulary writes down what the cases of the expander need and the annotated file does not show.
func TestVocabulary(t *testing.T) {
	c := mustParse(t, head+`
caVersion: "1.36"
pools:
  - {name: a, match: {nodeGroups: ["^a-"]}, quotaGroup: l4}
  - {name: b, match: {taints: [{key: t}]}}
accelerators:
  extraResources: [xilinx.com/fpga]
  worth: {nvidia-l4: 0.5}
  memoryKeys: {podTotal: example.com/vram}
unknownCapacityTypeIs: on-demand
classify: [{idPattern: "-spot-", capacityType: spot}]
expander:
  mode: active
  trustTemplateCache: [warm-a]
  rank: [gpuWaste, {name: cpuMemWaste, tolerance: 0.02}, price, softAffinity, modelCache, nodes, podsHelped, reclaimRate]
  workloads:
    - name: tiers
      match: {namespaces: [x], priorityClasses: [high], tolerates: [{key: k}, {key: l, value: v, effect: NoExecute}]}
      stages: [{capacityType: spot, escalate: {attempts: 2}}, {capacityType: [reserved, on-demand]}, {labels: {zone: z1}}, {any: true}]
      rank: [price]
      failureMemory: {singleGPU: 20m, max: 3h}
      onDemandBase: 25%
      gpuMemory: {enforce: true}
      sharing: mps
      zoneCap: {z1: 10}
      worth: {nvidia-h100: 2}
      priority: -5
`)
	p := c.Expander
	priority := int32(-5)
	want := expander.Workload{
		Name: "tiers",
		Match: expander.WorkloadMatch{
			Namespaces: []string{"x"}, PriorityClasses: []string{"high"},
			Tolerates: []expander.Taint{{Key: "k"}, {Key: "l", Value: "v", Effect: "NoExecute"}},
		},
		Stages: []expander.Stage{
			{CapacityTypes: []expander.CapacityType{expander.Spot}, Escalate: expander.Escalation{Attempts: 2}},
			{CapacityTypes: []expander.CapacityType{expander.Reserved, expander.OnDemand}},
			{Labels: map[string]string{"zone": "z1"}},
			{Any: true},
		},
		Rank:         []expander.Criterion{{Name: expander.Price}},
		Failures:     p.Workloads[0].Failures,
		OnDemandBase: expander.Base{Share: 0.25}, EnforceGPUMemory: true, Sharing: expander.SharingMPS,
		ZoneCap: map[string]int{"z1": 10}, Worth: map[string]float64{"nvidia-h100": 2}, Priority: &priority,
	}
	if diff := cmp.Diff(want, p.Workloads[0], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	if f := p.Workloads[0].Failures; f.SingleGPU.String() != "20m0s" || f.MultiGPU.String() != "3h0m0s" || f.Factor != 2 {
		t.Errorf("failure memory: %+v", f)
	}
	if p.Pools[0].QuotaGroup != "l4" || p.UnknownIs != expander.OnDemand || p.GPUMemoryKeys.PodTotal != "example.com/vram" || p.GPUMemoryKeys.PodPerGPU != "gpu.ai/memory-per-gpu" {
		t.Errorf("policy: %+v", p)
	}
	if diff := cmp.Diff([]string{"warm-a"}, p.TrustTemplateCache); diff != "" {
		t.Error(diff)
	}
	if len(p.Rank) != 8 || p.Rank[1].Tolerance != 0.02 || !p.Classify[0].ID.MatchString("x-spot-1") {
		t.Errorf("rank %+v, classify %+v", p.Rank, p.Classify)
	}
	if all := mustParse(t, head+onePool+"expander: {trustTemplateCache: true}\n").Expander.TrustTemplateCache; len(all) != 1 || all[0] != "*" {
		t.Errorf("trust of all: %v", all)
	}
}

// TestFailureMemoryOfAWorkload takes what it does not give from the general one.
func TestFailureMemoryOfAWorkload(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	general := expander.FailureMemory{SingleGPU: 2 * hour, MultiGPU: 4 * hour, Factor: 3, Max: 8 * hour, StickFor: minute, Quota: hour, Suspected: 20 * minute, ProvisionTime: 15 * minute}
	for text, want := range map[string]func(*expander.FailureMemory){
		"{}":              func(*expander.FailureMemory) {},
		"{multiGPU: 5h}":  func(m *expander.FailureMemory) { m.MultiGPU = 5 * hour },
		"{suspected: 0s}": func(m *expander.FailureMemory) { m.Suspected = 0 },
		"10m": func(m *expander.FailureMemory) {
			m.SingleGPU, m.MultiGPU, m.Max, m.Suspected, m.Factor = 10*minute, 10*minute, 10*minute, 10*minute, 1
		},
	} {
		c := mustParse(t, head+onePool+"expander:\n  failureMemory: {singleGPU: 2h, multiGPU: 4h, factor: 3, max: 8h, stickFor: 1m, quota: 1h, suspected: 20m}\n"+
			"  workloads: [{name: a, stages: [{any: true}], failureMemory: "+text+"}]\n")
		expected := general
		want(&expected)
		if diff := cmp.Diff(&expected, c.Expander.Workloads[0].Failures); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestAliasesAreBounded follows nine levels of nine aliases, which would be 387 million values.
func TestAliasesAreBounded(t *testing.T) {
	text := head + "pools:\n  - match: {nodeGroups: &a0 [a, b, c, d, e, f, g, h, i]}\n"
	for i := 1; i < 9; i++ {
		text += "  - &a" + string(rune('0'+i)) + " [" + strings.TrimSuffix(strings.Repeat("*a"+string(rune('0'+i-1))+", ", 9), ", ") + "]\n"
	}
	if _, err := parseText(t, text); err == nil {
		t.Error("no error")
	}
	nested := head + "accelerators: {worth: &m {a: 1}}\npools: [" + strings.Repeat("{name: p, match: {labels: {a: b}}},", 10) + "]\n"
	if _, err := parseText(t, nested); err == nil {
		t.Error("doubled names are no error")
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/errors/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(llama))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("fuzz.yaml", data, func(string) ([]byte, error) { return nil, os.ErrNotExist })
		if err != nil {
			var found *Errors
			if !errors.As(err, &found) || len(found.Problems) == 0 || c != nil {
				t.Fatalf("an error without problems: %#v", err)
			}
			return
		}
		again, err := parse("fuzz.yaml", data, nil)
		if err != nil || again.Hash != c.Hash {
			t.Fatalf("parsed again: %v, hash %s then %s", err, c.Hash, again.Hash)
		}
		for _, s := range c.Services {
			if s.Policy.Min > s.Policy.Max || s.Policy.Max < 1 || len(s.Queries) == 0 || s.Forecast.Location == nil || s.Policy.StaleAfter < c.EvaluationInterval {
				t.Errorf("an impossible service: %+v", s)
			}
		}
	})
}
