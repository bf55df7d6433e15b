package trace

import (
	"math"
	"time"
)

// Series is a request rate on a regular grid.
type Series struct {
	Name string
	// Start is the beginning of the first interval.
	Start time.Time
	Step  time.Duration
	// Counts holds the requests of each interval; NaN was not recorded.
	Counts []float64
	// Bursts describes the arrivals inside each interval; empty means a Poisson process throughout.
	Bursts []Burst
	// Synthetic series were drawn, not recorded.
	Synthetic bool
}

// Family names a distribution of inter-arrival times.
type Family string

// The families of inter-arrival times.
const (
	Exponential Family = "Exponential"
	Gamma       Family = "Gamma"
	Weibull     Family = "Weibull"
)

// Burst is the distribution of the inter-arrival times inside one interval. The zero value is a Poisson process.
type Burst struct {
	Family Family
	// CV is the coefficient of variation; a Poisson process has 1.
	CV float64
}

// End is the end of the last interval.
func (s *Series) End() time.Time { return s.Start.Add(time.Duration(len(s.Counts)) * s.Step) }

// MeanRate is the mean of the recorded intervals in requests per second; 0 if nothing was recorded.
func (s *Series) MeanRate() float64 {
	var sum float64
	n := 0
	for _, c := range s.Counts {
		if !math.IsNaN(c) {
			sum, n = sum+c, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n) / s.Step.Seconds()
}

// Scale multiplies every count and returns the series itself.
func (s *Series) Scale(factor float64) *Series {
	for i := range s.Counts {
		s.Counts[i] *= factor
	}
	return s
}

// Filled is the counts with every gap bridged by a straight line between its neighbours, so that a replayed world goes
// on while the recording was out. At either end the nearest value is held.
func (s *Series) Filled() []float64 {
	out := make([]float64, len(s.Counts))
	last := -1
	for i, c := range s.Counts {
		if math.IsNaN(c) {
			continue
		}
		out[i] = c
		for j := last + 1; j < i; j++ {
			if last < 0 {
				out[j] = c
				continue
			}
			share := float64(j-last) / float64(i-last)
			out[j] = s.Counts[last]*(1-share) + c*share
		}
		last = i
	}
	for j := last + 1; last >= 0 && j < len(out); j++ {
		out[j] = s.Counts[last]
	}
	return out
}

// Resample averages the rate over a coarser grid that starts at a multiple of step; the result is in requests per
// second. An interval of which less than 70 % was recorded is NaN.
func (s *Series) Resample(step time.Duration) (start time.Time, rate []float64) {
	start = s.Start.Truncate(step)
	n := int((s.End().Sub(start) + step - 1) / step)
	sum, seen := make([]float64, n), make([]float64, n)
	for i, c := range s.Counts {
		if math.IsNaN(c) {
			continue
		}
		from := s.Start.Add(time.Duration(i) * s.Step).Sub(start)
		for left := s.Step; left > 0; {
			slot := int(from / step)
			part := min(left, time.Duration(slot+1)*step-from)
			sum[slot] += c * part.Seconds() / s.Step.Seconds()
			seen[slot] += part.Seconds()
			from, left = from+part, left-part
		}
	}
	rate = make([]float64, n)
	for i := range rate {
		rate[i] = math.NaN()
		if seen[i] >= 0.7*step.Seconds() {
			rate[i] = sum[i] / seen[i]
		}
	}
	return start, rate
}
