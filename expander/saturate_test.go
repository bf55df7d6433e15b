package expander_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
)

// TestAbsurdQuantities asks for amounts around the largest number and offers such machines. Nothing turns around: the share
// of what is bought that nobody asked for is never above 1, whoever asks for more wastes no more, and the answer holds to
// the contract.
func TestAbsurdQuantities(t *testing.T) {
	absurd := rapid.SampledFrom([]int64{1, 2, 1 << 31, math.MaxInt64 / 3, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t)
		for i := range in.req.Groups {
			if rapid.Bool().Draw(t, "absurd group") {
				units := absurd.Draw(t, "offered")
				in.req.Groups[i].Allocatable.Extended = map[string]int64{"nvidia.com/gpu": units, "amd.com/gpu": absurd.Draw(t, "others")}
				in.req.Groups[i].Allocatable.MilliCPU, in.req.Groups[i].Allocatable.Memory = units, units
			}
		}
		for i := range in.req.Pods {
			if rapid.Bool().Draw(t, "absurd pod") {
				units := absurd.Draw(t, "asked")
				in.req.Pods[i].Requests.Extended = map[string]int64{"nvidia.com/gpu": units, "amd.com/gpu": absurd.Draw(t, "asked of others")}
				in.req.Pods[i].Requests.MilliCPU, in.req.Pods[i].Requests.Memory = units, units
			}
			if rapid.IntRange(0, 4).Draw(t, "claims") == 0 {
				in.req.Pods[i].Requests.Extended = nil
				in.req.Pods[i].Devices = map[string]int64{"gpu.nvidia.com": absurd.Draw(t, "claimed"), "other": absurd.Draw(t, "claimed of others")}
			}
		}
		before, _ := in.decide(expander.History{})
		checkShares(t, before)
		known := optionIDs(in.req)
		for _, id := range before.Answer {
			found := false
			for _, other := range known {
				found = found || id == other
			}
			if !found {
				t.Fatalf("answer %q to %v", id, known)
			}
		}
		// Everybody who asks for accelerators asks for the most there is.
		for i := range in.req.Pods {
			for name := range in.req.Pods[i].Requests.Extended {
				if in.req.Pods[i].Requests.Extended[name] > 0 {
					in.req.Pods[i].Requests.Extended[name] = math.MaxInt64
				}
			}
		}
		after, _ := in.decide(expander.History{})
		checkShares(t, after)
		for i, c := range after.Candidates {
			was := before.Candidates[i].Waste.GPU
			if was != nil && c.Waste.GPU != nil && *c.Waste.GPU > *was {
				t.Fatalf("%s wastes %v where more is asked for, and %v before", c.ID, *c.Waste.GPU, *was)
			}
		}
	})
}

func checkShares(t *rapid.T, d expander.Decision) {
	for _, c := range d.Candidates {
		for name, share := range map[string]*float64{"GPUs": c.Waste.GPU, "GPU memory": c.Waste.GPUMemory, "CPU": c.Waste.CPU, "memory": c.Waste.Memory} {
			if share != nil && (*share > 1 || math.IsNaN(*share) || math.IsInf(*share, 0)) {
				t.Fatalf("%s wastes %v of its %s", c.ID, *share, name)
			}
		}
	}
}
