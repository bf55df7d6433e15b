package trace

import (
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var exact = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)}

func read[T any](t *testing.T, file string, f func(string, io.Reader) (T, error)) T {
	t.Helper()
	got, err := Read(filepath.Join("testdata", file), f)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return got
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

var day = time.Date(2031, 3, 4, 0, 0, 0, 0, time.UTC)

func TestIntervals(t *testing.T) {
	same(t, read(t, "intervals.csv", ReadIntervals), &Series{
		Name: "intervals.csv", Start: day, Step: 5 * time.Minute, Counts: []float64{60, math.NaN(), 90},
	})
	// Rows at :04 and :09 belong to the slots from :00 and :05; no row falls into :10 and :15.
	same(t, read(t, "drifting.csv", ReadIntervals), &Series{
		Name: "drifting.csv", Start: day, Step: 5 * time.Minute, Counts: []float64{5.5, 6, math.NaN(), math.NaN(), 8, 4},
	})
	same(t, read(t, "unix.csv", ReadIntervals), &Series{
		Name: "unix.csv", Start: time.Unix(1930000020, 0).UTC(), Step: time.Minute, Counts: []float64{3.5, 4, 4.25},
	})
}

func TestRequests(t *testing.T) {
	same(t, read(t, "azure.csv", ReadAzure), &Requests{
		Name: "azure.csv", Start: day.Add(8*time.Hour + 100*time.Millisecond),
		List: []Request{{0, 512, 40}, {1150 * time.Millisecond, 90, 7}, {12650*time.Millisecond + 100, 2048, 300}},
	})
	burst := read(t, "burstgpt.csv", ReadBurstGPT)
	same(t, burst.List, []Request{{0, 300, 20}, {0, 10, 0}, {56500 * time.Millisecond, 77, 9}})
	same(t, read(t, "burstgpt_v12.csv", ReadBurstGPT).List, []Request{{0, 31, 8}})
	same(t, read(t, "mooncake.jsonl", ReadMooncake).List, []Request{{0, 700, 12}, {2500 * time.Millisecond, 90, 3}})
	same(t, burst.Series(30*time.Second).Counts, []float64{2, 1})
}

func TestServeGen(t *testing.T) {
	same(t, read(t, "servegen_rates.csv", ReadServeGenRates), &Series{
		Name: "servegen_rates.csv", Start: servegenStart, Step: 10 * time.Minute, Counts: []float64{300, 0, 1350},
		Bursts: []Burst{{Gamma, 1.2}, {Exponential, 1}, {Weibull, 0.8}},
	})
	lengths := read(t, "servegen_lengths.json", ReadServeGenLengths)
	same(t, lengths, []LengthWindow{
		{Second: 0, Input: &Lengths{[]int64{10, 20, 400}, []float64{0.25, 0.75, 1}}, Output: &Lengths{[]int64{1}, []float64{1}}},
		{Second: 21600},
	})
	for p, want := range map[float64]int64{0: 10, 0.25: 10, 0.26: 20, 0.75: 20, 0.99: 400, 1: 400} {
		if got := lengths[0].Input.At(p); got != want {
			t.Errorf("quantile %v = %d, want %d", p, got, want)
		}
	}
}

func TestQueryRange(t *testing.T) {
	same(t, read(t, "query_range.json", ReadQueryRange), &Series{
		Name: "query_range.json", Start: time.Unix(1930000200, 0).UTC(), Step: time.Minute, Counts: []float64{30, math.NaN(), 120},
	})
}

func TestGPULists(t *testing.T) {
	same(t, read(t, "pods.csv", ReadGPUPods), []GPUPod{
		{Name: "pod-a", MilliCPU: 4000, MemoryMi: 8192, GPUs: 1, MilliGPU: 500, Timed: true, Created: 10 * time.Second, Deleted: 500 * time.Second},
		{Name: "pod-b", MilliCPU: 16000, MemoryMi: 65536, GPUs: 2, MilliGPU: 1000, Models: []string{"T4", "V100M16"}, Timed: true, Created: 30 * time.Second, Deleted: 90 * time.Second},
		{Name: "pod-c", MilliCPU: 1000, MemoryMi: 512, Timed: true, Created: 40 * time.Second, Deleted: 41 * time.Second},
	})
	same(t, read(t, "pods_short.csv", ReadGPUPods), []GPUPod{{Name: "pod-a", MilliCPU: 4000, MemoryMi: 8192, GPUs: 1, MilliGPU: 500}})
	same(t, read(t, "nodes.csv", ReadGPUNodes), []GPUNode{
		{Name: "node-a", MilliCPU: 32000, MemoryMi: 131072},
		{Name: "node-b", MilliCPU: 96000, MemoryMi: 393216, GPUs: 8, Model: "T4"},
	})
}

func TestCatalogues(t *testing.T) {
	nan := math.NaN()
	same(t, read(t, "aws.csv", ReadCatalogue), []Machine{
		{Type: "x1.large", MilliCPU: 4000, MemoryMi: 16384, GPUs: 1, GPUModel: "fast-1", GPUMemoryMi: 24576, AllocatableMilliCPU: 3900, AllocatableMemoryMi: 14000, HourlyCost: 0.75, SpotHourlyCost: nan},
		{Type: "x1.old", MilliCPU: 8000, MemoryMi: 32768, GPUs: 2, GPUModel: "slow-1", GPUMemoryMi: 8192, AllocatableMilliCPU: 8000, AllocatableMemoryMi: 32768, HourlyCost: nan, SpotHourlyCost: nan},
	})
	same(t, read(t, "gcp.csv", ReadCatalogue), []Machine{
		{Type: "z2-gpu-1", MilliCPU: 12000, MemoryMi: 87040, GPUs: 1, GPUModel: "fast-1", GPUMemoryMi: 40960, AllocatableMilliCPU: 12000, AllocatableMemoryMi: 87040, HourlyCost: 3.5, SpotHourlyCost: 1.05},
	})
	same(t, read(t, "gcp_n1.csv", ReadCatalogue), []Machine{
		{Type: "n1-standard-4", MilliCPU: 4000, MemoryMi: 15360, AllocatableMilliCPU: 4000, AllocatableMemoryMi: 15360, HourlyCost: 0.2, SpotHourlyCost: 0.04},
	})
	same(t, read(t, "azure_machines.csv", ReadCatalogue), []Machine{
		{Type: "Standard_Q8", MilliCPU: 8000, MemoryMi: 57344, GPUs: 1, AllocatableMilliCPU: 8000, AllocatableMemoryMi: 57344, HourlyCost: nan, SpotHourlyCost: nan},
	})
	same(t, read(t, "cards.csv", ReadCardPrices), []CardPrice{{"fast-1", 0.4, 0.1}})
}

func TestSpot(t *testing.T) {
	a := read(t, "availability.csv", ReadAvailability)
	same(t, a, []*Availability{
		{Name: "moon-1a_fast_1", GPU: "fast", GPUsPerNode: 1, Start: day, Step: 10 * time.Minute, Available: []bool{true, false}},
		{Name: "moon-1a_fast_8", GPU: "fast", GPUsPerNode: 8, Start: day, Step: 10 * time.Minute, Available: []bool{false, false}},
	})
	for offset, want := range map[time.Duration]bool{0: true, 599 * time.Second: true, 600 * time.Second: false, 20 * time.Minute: true, -11 * time.Minute: true} {
		if got := a[0].At(day.Add(offset)); got != want {
			t.Errorf("available at %s = %v, want %v", offset, got, want)
		}
	}
	w := read(t, "availability.json", ReadAvailabilityJSON)
	same(t, w.Available, []bool{true, false, false, true})
	same(t, w.Share(), 0.5)
	same(t, read(t, "prices.csv", ReadSpotPrices), []SpotPrice{{day, "moon-1a", "x1.large", 0.31}})
	same(t, read(t, "price_history.json", ReadSpotPriceHistory), []SpotPrice{
		{day.Add(time.Hour), "moon-1b", "x1.large", 0.31}, {day.Add(25 * time.Hour), "moon-1a", "x1.large", 0.35},
	})
	same(t, read(t, "events.csv", ReadSpotEvents), []SpotEvent{
		{day, "i0", Created, 1, "fast", "moon-1a"}, {day.Add(time.Minute), "i1", CreationFailed, 0, "", ""},
	})
	same(t, read(t, "events.log", ReadSpotLog), []SpotEvent{
		{day, "i0", Created, 2, "fast", "moon-1a"},
		{day.Add(time.Minute), "i1", CreationFailed, 0, "", ""},
		{day.Add(2 * time.Minute), "i0", NotRunning, 0, "", "moon-1a"},
		{day.Add(3 * time.Minute), "i0", Deleted, 0, "", ""},
	})
	same(t, read(t, "node_events.csv", ReadNodeEvents), []NodeCount{{time.Second, 2}, {61 * time.Second, 1}})
	same(t, read(t, "node_counts.txt", ReadNodeCounts), []NodeCount{{0, 12}, {100 * time.Second, 11}})
	same(t, read(t, "node_counts.csv", ReadNodeCounts), []NodeCount{{0, 0}, {time.Minute, 3}})
}

func TestTrafficIsToldApart(t *testing.T) {
	for file, wantSeries := range map[string]bool{
		"azure.csv": false, "burstgpt.csv": false, "burstgpt_v12.csv": false, "mooncake.jsonl": false,
		"servegen_rates.csv": true, "intervals.csv": true, "unix.csv": true, "query_range.json": true,
	} {
		got, err := ReadTraffic(filepath.Join("testdata", file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if (got.Series != nil) != wantSeries || (got.Requests != nil) == wantSeries || got.Name() != file {
			t.Errorf("%s: read as series %v, requests %v, name %q", file, got.Series != nil, got.Requests != nil, got.Name())
		}
	}
}

// TestFormatErrors checks that each mistake is found where it is.
func TestFormatErrors(t *testing.T) {
	azure := "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	pods := "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
	traffic := func(s string) error { _, err := readTraffic("f", strings.NewReader(s)); return err }
	gpuPods := func(s string) error { _, err := ReadGPUPods("f", strings.NewReader(s)); return err }
	spot := func(s string) error { _, err := ReadSpotLog("f", strings.NewReader(s)); return err }
	nodes := func(s string) error { _, err := ReadNodeEvents("f", strings.NewReader(s)); return err }
	for _, c := range []struct {
		name    string
		read    func(string) error
		text    string
		at, say string
	}{
		{"unknown", traffic, "hello\n", "f:1:1", "no known traffic format"},
		{"value", traffic, "timestamp,requests\n2031-03-04T00:00:00Z,5\n2031-03-04T00:05:00Z,x\n", "f:3:22", `"x" is not a finite number`},
		{"negative", traffic, "timestamp,requests\n2031-03-04T00:00:00Z,-5\n", "f:2:22", "at least 0"},
		{"time", traffic, "timestamp,requests\nyesterday,5\n", "f:2:1", "is not a time like"},
		{"order", traffic, "timestamp,requests\n2031-03-04T00:05:00Z,5\n2031-03-04T00:00:00Z,5\n", "f:3:1", "not after the row before"},
		{"fields", traffic, "timestamp,requests\n2031-03-04T00:05:00Z,5,6\n", "f:2:1", "wrong number of fields"},
		{"one row", traffic, "timestamp,requests\n2031-03-04T00:05:00Z,5\n", "f:1", "at least two rows"},
		{"tokens", traffic, azure + "2031-03-04 08:00:00.1,512,1.5\n", "f:2:27", "not a whole number"},
		{"mooncake", traffic, `{"timestamp": 0, "input_length": 1, "output_length": 1}` + "\n" + `{"timestamp": 5}` + "\n", "f:2:1", "all needed"},
		{"servegen step", traffic, "0,1,1,Gamma,1,1\n600,1,1,Gamma,1,1\n1300,1,1,Gamma,1,1\n", "f:3:1", "even spacing"},
		{"servegen family", traffic, "0,1,1,Pareto,1,1\n600,1,1,Gamma,1,1\n", "f:1:7", "Pareto"},
		{"query failed", traffic, `{"status":"error","error":"boom"}`, "f:1", "boom"},
		{"two series", traffic, `{"status":"success","data":{"resultType":"matrix","result":[{},{}]}}`, "f:1", "2 series"},
		{"share", gpuPods, pods + "a,1,1,0,500\n", "f:2:9", "does not go with 0 GPUs"},
		{"header", gpuPods, "name,cpu\n", "f:1:1", "expected"},
		{"log", spot, "[2031-03-04T00:00:00Z] Something else\n", "f:1:24", "not known"},
		{"remove", nodes, "1,remove,n1\n", "f:1:3", "makes no sense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.read(c.text)
			if _, ok := errors.AsType[*FormatError](err); !ok {
				t.Fatalf("error %v is not a FormatError", err)
			}
			if got := err.Error(); !strings.HasPrefix(got, c.at+":") || !strings.Contains(got, c.say) {
				t.Errorf("error %q; want it at %s and to say %q", got, c.at, c.say)
			}
		})
	}
}

func FuzzReadTraffic(f *testing.F) {
	for _, seed := range []string{"timestamp,requests\n2031-03-04T00:00:00Z,5\n2031-03-04T00:05:00Z,\n", "0,1,1,Gamma,1,1\n600,1,1,Gamma,1,1\n", "{}", "TIMESTAMP,ContextTokens,GeneratedTokens\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readTraffic("f", strings.NewReader(text))
		if err != nil {
			return
		}
		if (got.Series == nil) == (got.Requests == nil) {
			t.Fatalf("series %v and requests %v", got.Series, got.Requests)
		}
		if got.Series != nil {
			for i, c := range got.Series.Counts {
				if c < 0 || math.IsInf(c, 0) {
					t.Fatalf("count %d is %v", i, c)
				}
			}
		}
	})
}
