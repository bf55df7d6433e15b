package trace

import (
	"math"
	"slices"
	"testing"
	"time"
)

// flat is a series of one constant rate.
func flat(perInterval float64, n int, b Burst) *Series {
	s := &Series{Start: day, Step: 10 * time.Minute, Counts: make([]float64, n), Bursts: make([]Burst, n)}
	for i := range s.Counts {
		s.Counts[i], s.Bursts[i] = perInterval, b
	}
	return s
}

// TestArrivalsKeepRateAndBurstiness draws 200,000 arrivals and compares the first two moments of the gaps.
func TestArrivalsKeepRateAndBurstiness(t *testing.T) {
	for _, b := range []Burst{{}, {Gamma, 0.5}, {Gamma, 2}, {Weibull, 0.7}, {Weibull, 1.8}} {
		moments := flat(2000, 100, b).Moments(7)
		var sum, squares float64
		for i := 1; i < len(moments); i++ {
			gap := (moments[i] - moments[i-1]).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		n := float64(len(moments) - 1)
		mean := sum / n
		cv := math.Sqrt(squares/n-mean*mean) / mean
		wantCV := b.CV
		if wantCV == 0 {
			wantCV = 1
		}
		if math.Abs(mean/0.3-1) > 0.02 || math.Abs(cv/wantCV-1) > 0.03 {
			t.Errorf("%+v: mean gap %.4f s, cv %.3f; want 0.3 and %.3f", b, mean, cv, wantCV)
		}
		if !slices.IsSorted(moments) {
			t.Errorf("%+v: arrivals are out of order", b)
		}
	}
}

func TestArrivalsAreSeeded(t *testing.T) {
	s := flat(500, 20, Burst{Gamma, 1.5})
	if !slices.Equal(s.Moments(3), s.Moments(3)) {
		t.Error("the same seed gave other arrivals")
	}
	if slices.Equal(s.Moments(3), s.Moments(4)) {
		t.Error("two seeds gave the same arrivals")
	}
}

func TestArrivalsFollowTheShape(t *testing.T) {
	s := &Series{Start: day, Step: time.Hour, Counts: []float64{0, 20000, math.NaN(), 40000, 0}}
	perHour := make([]int, 5)
	for _, at := range s.Moments(1) {
		perHour[at/time.Hour]++
	}
	for i, want := range []int{0, 20000, 30000, 40000, 0} { // the gap is bridged
		if math.Abs(float64(perHour[i]-want)) > 700 {
			t.Errorf("hour %d has %d arrivals, want about %d", i, perHour[i], want)
		}
	}
}

func TestResample(t *testing.T) {
	s := &Series{Start: day.Add(2 * time.Minute), Step: 2 * time.Minute, Counts: []float64{120, 240, math.NaN(), 120, 120, 120}}
	start, rate := s.Resample(6 * time.Minute)
	same(t, start, day)
	// 02-06 is two thirds of the first slot: too little. 06-08 is missing: two thirds again. 12-14 is one third.
	same(t, rate, []float64{math.NaN(), math.NaN(), math.NaN()})
	s.Counts[2] = 480
	_, rate = s.Resample(6 * time.Minute)
	same(t, rate[1], (480.0+120+120)/360)
	_, rate = s.Resample(time.Minute)
	same(t, rate[:4], []float64{1, 1, 2, 2})
}

func TestPattern(t *testing.T) {
	p := Pattern{
		Name: "week", Start: time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC), // a Monday
		Days: 14, Step: 5 * time.Minute, Mean: 10, Daily: 0.5, PeakHour: 15,
		Weekend: 0.4, Holiday: 0.3, Holidays: []int{2}, ShiftDay: 7, Shift: 2,
	}
	s := p.Draw(1)
	if !s.Synthetic || len(s.Counts) != 14*288 {
		t.Fatalf("synthetic %v, %d intervals", s.Synthetic, len(s.Counts))
	}
	noon := func(day int) float64 { return s.Counts[day*288+15*12] / 300 }
	for day, want := range map[int]float64{0: 15, 2: 4.5, 5: 6, 6: 6, 7: 30, 12: 12} {
		if got := noon(day); math.Abs(got-want) > 1e-9 {
			t.Errorf("peak of day %d = %v, want %v", day, got, want)
		}
	}
	p.BurstsPerDay, p.BurstFactor, p.BurstLength, p.Noise = 3, 4, 20*time.Minute, 0.1
	bursty := p.Draw(1)
	raised := 0
	for i := range bursty.Counts {
		if bursty.Counts[i] > 2*s.Counts[i] {
			raised++
		}
	}
	if raised < 14*4 || raised > 14*24 {
		t.Errorf("%d intervals are in bursts; want about %d", raised, 14*3*4)
	}
	if !slices.Equal(bursty.Counts, p.Draw(1).Counts) || slices.Equal(bursty.Counts, p.Draw(2).Counts) {
		t.Error("the series does not follow from the seed alone")
	}
}
