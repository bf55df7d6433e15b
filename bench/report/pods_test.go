package report

import (
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
)

// TestPodVariants makes pods with everything that a comparison can change.
func TestPodVariants(t *testing.T) {
	groups, err := policy.Groups("one-model", machines)
	if err != nil {
		t.Fatal(err)
	}
	timed := podList(60)
	bare := make([]trace.GPUPod, 0, 61)
	for _, p := range timed {
		p.Timed, p.Created, p.Deleted = false, 0, 0
		bare = append(bare, p)
	}
	bare = append(bare, trace.GPUPod{Name: "stranger", MilliCPU: 1000, MemoryMi: 1024, GPUs: 1, MilliGPU: 1000})
	o := PlacementOptions{Seed: 5, Pressure: 1}
	o.Times, o.Hourly, o.Typed, o.Bare = timed, true, 1, true
	specs := podSpecs(bare, groups, o, 0)
	for i, s := range specs {
		if s.Created.Sub(placementStart)%time.Hour != 0 {
			t.Errorf("%s is created at %s, which is no full hour", s.UID, s.Created)
		}
		gpus := s.Requests.Extended[sim.GPU]
		if gpus > 0 && (s.Requests.MilliCPU != 0 || s.Requests.Memory != 0 || s.NodeSelector[policy.AcceleratorLabel] != "t4") {
			t.Errorf("%s: %+v with selector %v", s.UID, s.Requests, s.NodeSelector)
		}
		if gpus == 0 && (s.Requests.MilliCPU == 0 || s.NodeSelector != nil) {
			t.Errorf("the CPU-only pod %s was changed too", s.UID)
		}
		if i < len(timed) {
			if want := timed[i].Deleted - timed[i].Created; s.Run != want {
				t.Errorf("%s runs %s, want the %s of its namesake", s.UID, s.Run, want)
			}
		}
	}
}

func TestBelievedPrices(t *testing.T) {
	groups, err := policy.Groups("one-model", machines)
	if err != nil {
		t.Fatal(err)
	}
	wrong := Variant{PriceError: 0.2}.believed(groups, 3)
	different := false
	for i := range groups {
		ratio := wrong[i].HourlyCost / groups[i].HourlyCost
		if ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%s is believed to cost %v of its price", groups[i].ID, ratio)
		}
		different = different || ratio != 1
	}
	if !different {
		t.Error("no price is wrong")
	}
	if same := (Variant{}).believed(groups, 3); same[0].HourlyCost != groups[0].HourlyCost {
		t.Error("prices are wrong without being asked for")
	}
}
