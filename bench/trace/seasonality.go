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

// Kind is that of the series' seasonality.
func (s *Series) Kind() string { return KindOf(s.Seasonality()) }

// KindOf is seasonal from a seasonality of 0.8 on, noisy from 0.4 on, and unseasonal below and where it is unknown.
func KindOf(seasonality float64) string {
	switch {
	case seasonality >= 0.8:
		return Seasonal
	case seasonality >= 0.4:
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
	return DayOrWeek(rate, int(24*time.Hour/step))
}

// DayOrWeek is the correlation of values with those a day or a week of steps before, the larger.
func DayOrWeek(v []float64, day int) float64 {
	best := correlation(v, day)
	if week := correlation(v, 7*day); week > best {
		return week
	}
	return best
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
