package forecast

import "math"

// HoltWinters is additive smoothing of the square root with a daily season
// (Winters, "Forecasting sales by exponentially weighted moving averages", 1960).
type HoltWinters struct {
	past
	season []float64
	level  float64
	from   int // interval of the first value, -1 before it
}

// NewHoltWinters returns the forecast for a grid.
func NewHoltWinters(g Grid) *HoltWinters {
	return &HoltWinters{season: make([]float64, g.PerDay), from: -1}
}

// Observe takes the next value. During the first day the level moves slowly
// and the season is what remains.
func (f *HoltWinters) Observe(y float64) {
	f.past.Observe(y)
	if math.IsNaN(y) {
		return
	}
	t := len(f.values) - 1
	i, z := t%len(f.season), math.Sqrt(y)
	if f.from < 0 {
		f.from, f.level = t, z
	}
	if t-f.from < len(f.season) {
		f.level += 0.02 * (z - f.level)
		f.season[i] = z - f.level
		return
	}
	f.level += 0.3 * (z - f.season[i] - f.level)
	f.season[i] += 0.2 * (z - f.level - f.season[i])
}

// Forecast returns level and season of the target, squared.
func (f *HoltWinters) Forecast(ahead int) float64 {
	t := len(f.values) - 1
	if f.from < 0 || t-f.from < len(f.season) {
		return f.last
	}
	z := max(0, f.level+f.season[(t+ahead)%len(f.season)])
	return z * z
}

// Kalman is the local linear trend model: a level that drifts by a slope that
// drifts itself (Harvey, "Forecasting, structural time series models and the
// Kalman filter", 1989).
type Kalman struct {
	past
	LevelNoise, SlopeNoise, Noise float64 // variances, in units of the first value

	level, slope  float64
	p00, p01, p11 float64
	started       bool
}

// NewKalman returns the filter with variances 1 and 0.1 for the states and 10
// for the observation.
func NewKalman() *Kalman { return &Kalman{LevelNoise: 1, SlopeNoise: 0.1, Noise: 10} }

// Observe runs one step of prediction and, unless y is missing, one of correction.
func (f *Kalman) Observe(y float64) {
	f.past.Observe(y)
	if !f.started {
		if !math.IsNaN(y) {
			f.started, f.level = true, y
			f.p00, f.p11 = f.Noise, f.Noise
		}
		return
	}
	f.level += f.slope
	f.p00 += 2*f.p01 + f.p11 + f.LevelNoise
	f.p01 += f.p11
	f.p11 += f.SlopeNoise
	if math.IsNaN(y) {
		return
	}
	e, s := y-f.level, f.p00+f.Noise
	k0, k1 := f.p00/s, f.p01/s
	f.level += k0 * e
	f.slope += k1 * e
	f.p11 -= k1 * f.p01
	f.p01 -= k0 * f.p01
	f.p00 -= k0 * f.p00
}

// Forecast follows the slope, at least 0.
func (f *Kalman) Forecast(ahead int) float64 {
	return max(0, f.level+float64(ahead)*f.slope)
}
