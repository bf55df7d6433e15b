// Package forecast holds the rival forecasts that the predictor is measured
// against, each written from its published rule. All of them see one value
// after the other and answer with a rate, never below zero.
//
// They say how much traffic comes; what is ordered from that is the same for
// all of them and not decided here.
package forecast

import "math"

// Grid describes what the rivals need to know of time.
type Grid struct {
	PerDay int // intervals a day
	// First is the interval of its day that the first value belongs to.
	First int
	// Weekend tells days apart, counted from the first value's day; nil means
	// that all are alike.
	Weekend func(day int) bool
}

func (g Grid) weekend(day int) bool { return g.Weekend != nil && g.Weekend(day) }

// window is the number of intervals in half an hour.
func (g Grid) window() int { return max(1, g.PerDay/48) }

// past is what a rival has seen, NaN where nothing was recorded.
type past struct {
	values []float64
	last   float64
}

func (p *past) Observe(y float64) {
	p.values = append(p.values, y)
	if !math.IsNaN(y) {
		p.last = y
	}
}

// at returns the value of interval i, NaN outside of what is known.
func (p *past) at(i int) float64 {
	if i < 0 || i >= len(p.values) {
		return math.NaN()
	}
	return p.values[i]
}

// mean of the known values from i to j inclusive, NaN if there are none.
func (p *past) mean(i, j int) float64 {
	sum, n := 0.0, 0
	for k := i; k <= j; k++ {
		if y := p.at(k); !math.IsNaN(y) {
			sum += y
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// or returns v, or the newest known value where v is missing.
func (p *past) or(v float64) float64 {
	if math.IsNaN(v) {
		return p.last
	}
	return max(0, v)
}
