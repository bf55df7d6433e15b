package report

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/trace"
)

var machines = []trace.Machine{
	{Type: "g4dn.xlarge", MilliCPU: 4000, MemoryMi: 16384, GPUs: 1, GPUModel: "t4", AllocatableMilliCPU: 3900, AllocatableMemoryMi: 15000, HourlyCost: 0.5},
	{Type: "g4dn.2xlarge", MilliCPU: 8000, MemoryMi: 32768, GPUs: 1, GPUModel: "t4", AllocatableMilliCPU: 7900, AllocatableMemoryMi: 31000, HourlyCost: 0.75},
	{Type: "g4dn.4xlarge", MilliCPU: 16000, MemoryMi: 65536, GPUs: 1, GPUModel: "t4", AllocatableMilliCPU: 15900, AllocatableMemoryMi: 63000, HourlyCost: 1.2},
	{Type: "g4dn.8xlarge", MilliCPU: 32000, MemoryMi: 131072, GPUs: 1, GPUModel: "t4", AllocatableMilliCPU: 31900, AllocatableMemoryMi: 126000, HourlyCost: 2.2},
	{Type: "g4dn.12xlarge", MilliCPU: 48000, MemoryMi: 196608, GPUs: 4, GPUModel: "t4", AllocatableMilliCPU: 47900, AllocatableMemoryMi: 190000, HourlyCost: 3.9},
	{Type: "g4dn.metal", MilliCPU: 96000, MemoryMi: 393216, GPUs: 8, GPUModel: "t4", AllocatableMilliCPU: 95900, AllocatableMemoryMi: 380000, HourlyCost: 7.8},
}

func podList(n int) []trace.GPUPod {
	var out []trace.GPUPod
	for i := range n {
		p := trace.GPUPod{Name: fmt.Sprint("p", i), MilliCPU: int64(1+i%6) * 1000, MemoryMi: int64(2+i%5) * 1024, Timed: true, Created: time.Duration(i*i%977) * time.Minute}
		p.Deleted = p.Created + time.Duration(10+i*37%300)*time.Minute
		if i%3 > 0 {
			p.GPUs, p.MilliGPU = int64(1+i%2), 1000
		}
		out = append(out, p)
	}
	return out
}

// TestPlacement compares all expanders: nobody undercuts the bound, warmpool sends no CPU-only pods to GPU groups, and a
// second run gives the same bytes.
func TestPlacement(t *testing.T) {
	groups, err := policy.Groups("one-model", machines)
	if err != nil {
		t.Fatal(err)
	}
	var out [2]bytes.Buffer
	for i := range out {
		r, err := RunPlacement(t.Context(), podList(200), groups, PlacementOptions{Seed: 3, Replicates: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Expanders {
			if e.Cost < r.LowerBoundCost || e.IdleGPUShare < 0 || e.IdleGPUShare > 1 || e.Pending.Max < e.Pending.P50 || e.Pending.Max < 150 {
				t.Errorf("%+v with a bound of %v", e, r.LowerBoundCost)
			}
			if e.Expander == "warmpool" && e.CPUOnGPU > 0 {
				t.Errorf("warmpool grew a GPU group for CPU-only pods %v times", e.CPUOnGPU)
			}
			if e.Expander == baseline && e.ToLeastWaste != 1 {
				t.Errorf("least-waste costs %v of itself", e.ToLeastWaste)
			}
		}
		if err := WriteJSON(&out[i], r); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteText(&out[i]); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteHTML(&out[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
		t.Error("the same seed gave other bytes")
	}
	t.Logf("%.1500s", out[0].String())
}
