package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	capturesDir    = "../../wire/testdata/captures"
	capturesConfig = "testdata/captures.yaml"
	at             = "2026-08-03T12:00:00Z"
)

func warmpool(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return out.String(), errs.String(), code
}

func explain(t testing.TB, capture string, more ...string) expander.Decision {
	t.Helper()
	args := append([]string{"explain", "--config", capturesConfig, "--request", filepath.Join(capturesDir, capture+".bin"), "--at", at, "-o", "json"}, more...)
	out, stderr, code := warmpool(t, args...)
	var d expander.Decision
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%s: code %d, %v\n%s", capture, code, err, stderr)
	}
	return d
}

// The groups of the recordings: cpu-std 8 CPUs, 32 GiB; gpu-l4 1 GPU, 8 CPUs, 32 GiB; gpu-a100 8 GPUs, 96 CPUs,
// 1360 GiB; gpu-h100 8 GPUs, 208 CPUs, 1872 GiB. The pods: llm 1 GPU, 2 CPUs, 8 GiB; research/big 8 GPUs, 32 CPUs,
// 256 GiB; research/mid 4 GPUs, 8 CPUs, 64 GiB; cpuonly 6 CPUs and no workload. The configuration binds llm to l4, then
// a100 after one failed attempt, and research to a100 and h100.
const (
	notForLLM   = "isolation:llm"      // llm may never grow it, and no pod of another workload is served by it
	mixedForLLM = "other-workload:llm" // good for others, but it would serve llm pods too, which may not grow it
	laterForLLM = "stage:2"            // llm may grow it only after l4 has failed once
)

var goldenCaptures = []struct {
	capture  string
	outcome  expander.Outcome
	selected string
	rejected map[string]string
	// workloads has pods and stage; a negative stage marks a workload that has to wait.
	workloads map[string][2]int
	why       string
}{
	{
		"ca136-001", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": notForLLM},
		map[string][2]int{"llm": {3, 1}},
		"3 llm pods: their first stage is l4, and it can grow",
	},
	{
		"ca136-002", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": mixedForLLM},
		map[string][2]int{"llm": {2, 1}, "research": {5, -1}},
		"2 llm and 5 research pods of equal priority and age: the policy names llm first. a100 would serve all seven, but llm is in stage 1",
	},
	{
		"ca136-006", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": mixedForLLM},
		map[string][2]int{"llm": {2, 1}, "research": {5, -1}},
		"the situation of ca136-002 in another order and with other template names: the same answer",
	},
	{
		"ca136-009", expander.PassThrough, "", nil,
		map[string][2]int{},
		"CPU pods of no workload, and cpu is not exclusive: no opinion",
	},
	{
		"ca136-010", expander.PassThrough, "", nil,
		map[string][2]int{},
		"as ca136-009 with two nodes",
	},
	{
		"ca136-011", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": mixedForLLM, "gpu-h100": notForLLM},
		map[string][2]int{"llm": {17, 1}, "research": {2, -1}},
		"17 of the 150 llm replicas fit into what l4 may still grow",
	},
	{
		"ca136-013", expander.Selected, "gpu-l4", nil,
		map[string][2]int{"llm": {17, 1}},
		"one option is left, and it is llm's first stage",
	},
	{
		"ca136-014", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": notForLLM},
		map[string][2]int{"llm": {32, 1}, "research": {1, -1}},
		"l4 covers 20 of 32 llm pods, a100 all 33 pods: the stage decides, not the number of pods helped",
	},
	{
		"ca134-001", expander.Selected, "gpu-l4",
		map[string]string{"cpu-std": mixedForLLM, "gpu-a100": laterForLLM, "gpu-h100": mixedForLLM},
		map[string][2]int{"llm": {3, 1}, "research": {5, -1}},
		"both generations of the pod field are filled: 3 llm pods, not 6",
	},
	{
		"ca134-002", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": mixedForLLM},
		map[string][2]int{"llm": {3, 1}, "research": {5, -1}},
		"as ca134-001 without the CPU pods",
	},
	{
		"ca134-003", expander.Selected, "gpu-a100", nil,
		map[string][2]int{"research": {5, 1}},
		"only research: 4 x $29.39 for all five pods against 3 x $88.25 for four of them",
	},
	{
		"ca134-004", expander.Selected, "gpu-l4",
		map[string]string{"gpu-a100": laterForLLM, "gpu-h100": notForLLM},
		map[string][2]int{"llm": {24, 1}},
		"24 llm pods; l4 may add 12",
	},
	{
		"ca133-002", expander.Selected, "gpu-l4",
		map[string]string{"cpu-std": mixedForLLM, "gpu-a100": laterForLLM, "gpu-h100": mixedForLLM},
		map[string][2]int{"llm": {1, 1}, "research": {5, -1}},
		"the typed generation only; least-waste would buy four CPU machines for CPU pods",
	},
	{
		"ca133-004", expander.Selected, "gpu-a100", nil,
		map[string][2]int{"research": {5, 1}},
		"as ca134-003",
	},
}

func TestCaptures(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(capturesDir, "*.bin"))
	if err != nil || len(names) != len(goldenCaptures) {
		t.Fatalf("%d captures, %d cases, %v", len(names), len(goldenCaptures), err)
	}
	for _, test := range goldenCaptures {
		d := explain(t, test.capture)
		var selected []string
		if test.selected != "" {
			selected = []string{test.selected}
		}
		if d.Outcome != test.outcome || !cmp.Equal(append([]string(nil), d.Selected...), selected) {
			t.Errorf("%s: %s %v, want %s %v: %s", test.capture, d.Outcome, d.Selected, test.outcome, selected, test.why)
		}
		rejected := map[string]string{}
		for _, c := range d.Candidates {
			if c.Rejected != "" {
				rejected[c.ID] = c.Rejected
			}
		}
		if len(rejected)+len(test.rejected) > 0 && !cmp.Equal(test.rejected, rejected) {
			t.Errorf("%s (%s): rejected (-want +got):\n%s", test.capture, test.why, cmp.Diff(test.rejected, rejected))
		}
		workloads := map[string][2]int{}
		for _, w := range d.Workloads {
			stage := w.Stage
			if !w.Served {
				stage = -stage
			}
			workloads[w.Name] = [2]int{w.Pods, stage}
		}
		if diff := cmp.Diff(test.workloads, workloads); diff != "" {
			t.Errorf("%s (%s): workloads (-want +got):\n%s", test.capture, test.why, diff)
		}
	}
}

var policyLine = regexp.MustCompile(`policy: .*`)

// TestCaptureText fixes what a person reads for each recording.
func TestCaptureText(t *testing.T) {
	for _, test := range goldenCaptures {
		out, stderr, code := warmpool(t, "explain", "--config", capturesConfig, "--request", filepath.Join(capturesDir, test.capture+".bin"), "--at", at)
		if code != 0 {
			t.Fatalf("%s: %s", test.capture, stderr)
		}
		out = policyLine.ReplaceAllString(out, "policy:   (hash of the configuration)") // it changes with every new key
		path := filepath.Join("testdata", "captures", test.capture+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out); diff != "" {
			t.Errorf("%s (-want +got), -update writes it:\n%s", path, diff)
		}
	}
}

// TestCaptureNumbers computes what one recording must show. ca136-001 is 3 llm pods on 3 l4, or on 1 a100.
func TestCaptureNumbers(t *testing.T) {
	d := explain(t, "ca136-001")
	want := map[string]struct{ gpu, cpu, memory, cost float64 }{
		"gpu-l4":   {0, 1 - 2.0/8, 1 - 8.0/32, 3 * 0.854},             // one pod fills the GPU of its node
		"gpu-a100": {1 - 3.0/8, 1 - 3*2.0/96, 1 - 3*8.0/1360, 29.39},  // three of eight GPUs
		"gpu-h100": {1 - 3.0/8, 1 - 3*2.0/208, 1 - 3*8.0/1872, 88.25}, // the same on a dearer card
	}
	if len(d.Candidates) != len(want) {
		t.Fatalf("%d candidates, want %d", len(d.Candidates), len(want))
	}
	for _, c := range d.Candidates {
		w := want[c.ID]
		for _, n := range []struct {
			name string
			got  *float64
			want float64
		}{{"gpu", c.Waste.GPU, w.gpu}, {"cpu", c.Waste.CPU, w.cpu}, {"memory", c.Waste.Memory, w.memory}, {"cost", c.Cost, w.cost}} {
			if n.got == nil || math.Abs(*n.got-n.want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", c.ID, n.name, n.got, n.want)
			}
		}
		if c.Waste.GPUMemory != nil {
			t.Errorf("%s: a GPU memory waste although no pod says what it needs", c.ID)
		}
	}
	// Least-waste knows CPU and memory alone: l4 wastes 0.75+0.75, a100 0.94+0.98, h100 0.97+0.99.
	if base := d.LeastWaste; !cmp.Equal(base.Groups, []string{"gpu-l4"}) || base.Cost == nil || *base.Cost != 3*0.854 {
		t.Errorf("least-waste: %+v", base)
	}
}

// TestJSONContract holds the names and kinds that scripts depend on.
func TestJSONContract(t *testing.T) {
	out, stderr, code := warmpool(t, "explain", "--config", capturesConfig, "--request", filepath.Join(capturesDir, "ca136-009.bin"), "-o", "json")
	var d struct {
		Outcome   *string `json:"outcome"`
		Selected  *[]string
		Workloads *[]struct {
			Name        *string
			Pods, Stage *int
		}
		Candidates []struct {
			ID, Pool, CapacityType, Rejected *string
			Waste                            map[string]*float64
			Cost, Score                      *float64
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, stderr)
	}
	if d.Outcome == nil || *d.Outcome != "passthrough" || d.Selected == nil || *d.Selected == nil || d.Workloads == nil || *d.Workloads == nil {
		t.Errorf("outcome, selected or workloads is missing or null:\n%s", out)
	}
	if len(d.Candidates) != 1 {
		t.Fatalf("%d candidates", len(d.Candidates))
	}
	c := d.Candidates[0]
	if c.ID == nil || c.Pool == nil || c.CapacityType == nil || c.Rejected == nil || c.Cost == nil || c.Score == nil {
		t.Errorf("a field of the candidate is missing:\n%s", out)
	}
	for _, name := range []string{"gpu", "gpuMemory", "cpu", "memory"} {
		if _, ok := c.Waste[name]; !ok {
			t.Errorf("waste.%s is missing", name)
		}
	}
}

// TestSameSituationSameAnswer: -006 is -002 one loop later, with another order and other template names.
func TestSameSituationSameAnswer(t *testing.T) {
	a, b := explain(t, "ca136-002"), explain(t, "ca136-006")
	byID := func(d expander.Decision) map[string]expander.Candidate {
		out := map[string]expander.Candidate{}
		for _, c := range d.Candidates {
			out[c.ID] = c
		}
		return out
	}
	if diff := cmp.Diff(byID(a), byID(b)); diff != "" {
		t.Errorf("candidates differ:\n%s", diff)
	}
	if !cmp.Equal(a.Selected, b.Selected) || !cmp.Equal(a.Workloads, b.Workloads) {
		t.Errorf("%v %+v\nand\n%v %+v", a.Selected, a.Workloads, b.Selected, b.Workloads)
	}
}

// TestState: a failure of l4 that the cluster has proven opens the second stage.
func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	state := `
view:
  at: 2026-08-03T12:00:00Z
  groups:
    gpu-l4: {nodes: 0, registered: 0, target: 3, backoff: {class: STOCK, code: RESOURCE_POOL_EXHAUSTED, since: "2026-08-03T11:58:00Z"}}
  failures: [{at: "2026-08-03T11:58:00Z", group: gpu-l4, class: STOCK, reason: ScaleUpFailed}]
`
	if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	d := explain(t, "ca136-001", "--state", path)
	if !cmp.Equal(d.Selected, []string{"gpu-a100"}) {
		t.Errorf("selected %v, want gpu-a100: l4 has no stock", d.Selected)
	}
	if len(d.Failures) != 1 || d.Failures[0].GroupID != "gpu-l4" || !d.Failures[0].Proven {
		t.Errorf("held back: %+v", d.Failures)
	}
}

// TestObserveShowsTheChoice: the answer keeps everything, and the choice is shown all the same.
func TestObserveShowsTheChoice(t *testing.T) {
	data, err := os.ReadFile(capturesConfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "observe.yaml")
	if err := os.WriteFile(path, bytes.Replace(data, []byte("mode: active"), []byte("mode: observe"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	d := explain(t, "ca136-001", "--config", path)
	if d.Outcome != expander.Selected || !cmp.Equal(d.Selected, []string{"gpu-l4"}) || len(d.Answer) != 3 {
		t.Errorf("%s %v, answered %v", d.Outcome, d.Selected, d.Answer)
	}
}
