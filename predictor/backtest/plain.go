package backtest

import (
	"math"
	"sort"
)

// plainBound is a forecast's quantile from its own recent errors, in units of
// sqrt(p c1) + 0.1 c1, with no regard to the time of day: the usual headroom.
type plainBound struct {
	unit   float64
	recent []float64 // by step, NaN where there was no outcome
	sorted []float64
}

func newPlainBound(unit float64, window int) *plainBound {
	b := &plainBound{unit: unit, recent: make([]float64, window)}
	for i := range b.recent {
		b.recent[i] = math.NaN()
	}
	return b
}

func (b *plainBound) spread(p float64) float64 {
	return math.Sqrt(max(p, 0)*b.unit) + 0.1*b.unit
}

// learn takes the outcome y of the forecast p; step counts up by one a call.
func (b *plainBound) learn(step int, y, p float64) {
	i := step % len(b.recent)
	if old := b.recent[i]; !math.IsNaN(old) {
		at := sort.SearchFloat64s(b.sorted, old)
		b.sorted = append(b.sorted[:at], b.sorted[at+1:]...)
	}
	s := (y - p) / b.spread(p)
	b.recent[i] = s
	if math.IsNaN(s) {
		return
	}
	at := sort.SearchFloat64s(b.sorted, s)
	b.sorted = append(b.sorted, 0)
	copy(b.sorted[at+1:], b.sorted[at:])
	b.sorted[at] = s
}

// score at quantile q: rank ceil((n+1) q), at most n; 0 without scores.
func (b *plainBound) score(q float64) float64 {
	n := len(b.sorted)
	if n == 0 {
		return 0
	}
	rank := int(math.Ceil(float64(n+1)*q - 1e-9))
	return b.sorted[min(max(rank, 1), n)-1]
}

// sweep returns the bound of p at every quantile and stretch.
func (b *plainBound) sweep(p float64, out []float64) []float64 {
	spread := b.spread(p)
	for _, q := range Quantiles {
		out = append(out, p+b.score(q)*spread)
	}
	largest := max(b.score(Quantiles[len(Quantiles)-1]), 0.5)
	for _, f := range Stretches {
		out = append(out, p+f*largest*spread)
	}
	return out
}
