package expander

import (
	"testing"
	"time"
)

// Two groups of the same price per card: a pod that claims eight GPUs as devices goes where eight cards are, once its
// claim is known, and its waste is counted in cards.
func TestKnownClaimsCount(t *testing.T) {
	const driver = "cloud.google.com/gke-gpu-dra-driver"
	group := func(id string, cards string) Group {
		return Group{
			ID: id, Labels: map[string]string{driver: "true", "nvidia.com/gpu.count": cards},
			Allocatable: Resources{MilliCPU: 96_000, Memory: 1 << 40},
		}
	}
	pod := Pod{UID: "a", Claims: 1, Requests: Resources{MilliCPU: 1000, Memory: 1 << 30}}
	request := Request{
		Pods: []Pod{pod}, Groups: []Group{group("eight", "8"), group("one", "1")},
		Options: []Option{{GroupID: "eight", NodeCount: 1, Pods: []int{0}}, {GroupID: "one", NodeCount: 1, Pods: []int{0}}},
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d, _ := Select(&Policy{Mode: Active, VetoSupported: true}, View{}, request, History{}, at)
	for _, c := range d.Candidates {
		if c.Waste.GPU != nil {
			t.Errorf("%s: GPU waste %v of a claim that is not known", c.ID, *c.Waste.GPU)
		}
	}
	for devices, want := range map[int64]map[string]float64{8: {"eight": 0}, 1: {"eight": 0.875, "one": 0}} {
		request.Pods[0].Devices = map[string]int64{"gpu.nvidia.com": devices}
		d, _ = Select(&Policy{Mode: Active, VetoSupported: true}, View{}, request, History{}, at)
		got := map[string]float64{}
		for _, c := range d.Candidates {
			if c.Rejected == "" && c.Waste.GPU != nil {
				got[c.ID] = *c.Waste.GPU
			}
		}
		for id, waste := range want {
			if g, ok := got[id]; !ok || g != waste {
				t.Errorf("%d devices on %s: GPU waste %v (%v), want %v", devices, id, g, ok, waste)
			}
		}
		if devices == 8 && len(got) != 1 {
			t.Errorf("8 devices on one card are not rejected: %v", got)
		}
	}
}
