package trace

import (
	"math"
	"time"
)

// The kinds of traffic, by [Series.Seasonality].
const (
	Seasonal   = "seasonal"
	Noisy      = "noisy"
	Unseasonal = "unseasonal"
)

// Kind is seasonal from a seasonality of 0.8 on, noisy from 0.4 on, and unseasonal below.
func (s *Series) Kind() string {
	switch r := s.Seasonality(); {
	case r >= 0.8:
		return Seasonal
	case r >= 0.4:
		return Noisy
	default:
		return Unseasonal
	}
}

// Seasonality is the correlation (Pearson, pairs with gaps left out) of means of ten minutes with those a day or a week
// before, the larger; NaN of less than a day of pairs.
func (s *Series) Seasonality() float64 {
	const step = 10 * time.Minute
	_, rate := s.Resample(step)
	day, week := correlation(rate, int(24*time.Hour/step)), correlation(rate, int(7*24*time.Hour/step))
	if week > day {
		return week
	}
	return day
}

func correlation(v []float64, lag int) float64 {
	var n, sx, sy, sxx, syy, sxy float64
	for i := lag; i < len(v); i++ {
		x, y := v[i-lag], v[i]
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		n++
		sx, sy = sx+x, sy+y
		sxx, syy, sxy = sxx+x*x, syy+y*y, sxy+x*y
	}
	if n < 144 {
		return math.NaN()
	}
	return (sxy - sx*sy/n) / math.Sqrt((sxx-sx*sx/n)*(syy-sy*sy/n))
}
