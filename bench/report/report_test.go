package report

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/trace"
)

func TestHoursAtEqualLateness(t *testing.T) {
	points := []FrontierPoint{{Late: 0.05, GPUHours: 100}, {Late: 0.02, GPUHours: 120}, {Late: 0.03, GPUHours: 130}, {Late: 0.005, GPUHours: 150}}
	f := newFrontier("p", points)
	// Between 120 hours at 2 % and 150 at 0.5 %: 1 % is two thirds of the way. The setting with 130 hours is dominated.
	if f.AtLateness[0] == nil || math.Abs(*f.AtLateness[0]-140) > 1e-9 {
		t.Errorf("at 1 %%: %v, want 140", f.AtLateness[0])
	}
	if f.AtLateness[1] != nil {
		t.Errorf("at 0.1 %%: %v, want never", *f.AtLateness[1])
	}
}

func pattern(days int) trace.Traffic {
	return trace.Traffic{Series: trace.Pattern{
		Name: "pattern", Start: time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC), Days: days, Step: 5 * time.Minute, Mean: 3, Daily: 0.6, PeakHour: 14, Noise: 0.1,
	}.Draw(1)}
}

// TestSameSeedSameBytes runs a comparison twice, in parallel, and compares every output.
func TestSameSeedSameBytes(t *testing.T) {
	o := TrafficOptions{Policies: []string{"hpa-gpu", "warmpool", "oracle"}, Seed: 5, Seeds: 2, Need: 2}
	var first, second [3]bytes.Buffer
	for _, out := range []*[3]bytes.Buffer{&first, &second} {
		r, err := RunTraffic(t.Context(), pattern(4), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&out[0], r); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteText(&out[1]); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteHTML(&out[2]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range first {
		if !bytes.Equal(first[i].Bytes(), second[i].Bytes()) || first[i].Len() == 0 {
			t.Errorf("output %d differs between two runs, or is empty:\n%.2000s\n%.2000s", i, first[i].String(), second[i].String())
		}
	}
}

func TestTooShortTrace(t *testing.T) {
	r := &trace.Requests{Name: "r", List: []trace.Request{{Output: 1}, {At: time.Minute, Output: 1}}}
	if _, err := RunTraffic(t.Context(), trace.Traffic{Requests: r}, TrafficOptions{}); err == nil {
		t.Error("a minute of traffic was accepted")
	}
}
