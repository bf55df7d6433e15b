package forecast

import (
	"math"
	"sort"
)

// Last is the newest value: what a purely reactive autoscaler acts on.
type Last struct{ past }

// Forecast returns the newest known value.
func (f *Last) Forecast(int) float64 { return f.or(math.NaN()) }

// Seasonal repeats the value one period ago.
type Seasonal struct {
	past
	period int
}

// Daily is the seasonal naive forecast of one day.
func Daily(g Grid) *Seasonal { return &Seasonal{period: g.PerDay} }

// Weekly is the seasonal naive forecast of one week.
func Weekly(g Grid) *Seasonal { return &Seasonal{period: 7 * g.PerDay} }

// Forecast returns the value one period before the target.
func (f *Seasonal) Forecast(ahead int) float64 {
	return f.or(f.at(len(f.values) - 1 + ahead - f.period))
}

// WeekMaximum is the largest value within half an hour of the same time last week.
type WeekMaximum struct {
	past
	grid Grid
}

// NewWeekMaximum returns the forecast for a grid.
func NewWeekMaximum(g Grid) *WeekMaximum { return &WeekMaximum{grid: g} }

// Forecast returns last week's maximum around the target.
func (f *WeekMaximum) Forecast(ahead int) float64 {
	middle := len(f.values) - 1 + ahead - 7*f.grid.PerDay
	best := math.NaN()
	for i := middle - f.grid.window(); i <= middle+f.grid.window(); i++ {
		if y := f.at(i); !math.IsNaN(y) && !(y <= best) {
			best = y
		}
	}
	return f.or(best)
}

// Percentile is a high percentile of a moving window, as right-sizing
// recommenders use it.
type Percentile struct {
	past
	Window int     // intervals
	Share  float64 // 0 to 1
}

// NewPercentile takes the 90th percentile of the last hour.
func NewPercentile(g Grid) *Percentile { return &Percentile{Window: 2 * g.window(), Share: 0.9} }

// Forecast returns the percentile of the window, rank ceil(share n).
func (f *Percentile) Forecast(int) float64 {
	var known []float64
	for i := len(f.values) - f.Window; i < len(f.values); i++ {
		if y := f.at(i); !math.IsNaN(y) {
			known = append(known, y)
		}
	}
	if len(known) == 0 {
		return f.last
	}
	sort.Float64s(known)
	return known[max(0, int(math.Ceil(f.Share*float64(len(known))-1e-9))-1)]
}

// Linear extrapolates the least-squares line through the newest values.
type Linear struct {
	past
	Points int     // values on the line
	Cap    float64 // largest multiple of the newest value; 0 is no cap
}

// NewLinear looks at the last 15 to 20 minutes and never exceeds four times
// the newest value.
func NewLinear(g Grid) *Linear {
	return &Linear{Points: max(2, g.PerDay/96+1), Cap: 4}
}

// Forecast returns the line at the target, at least 0.
func (f *Linear) Forecast(ahead int) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := 0; i < f.Points; i++ {
		y := f.at(len(f.values) - 1 - i)
		if math.IsNaN(y) {
			continue
		}
		x := -float64(i)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return f.last
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	v := sy/n + slope*(float64(ahead)-sx/n)
	if f.Cap > 0 {
		v = min(v, f.Cap*f.last)
	}
	return max(0, v)
}
