package trace

import (
	"math"
	"math/rand/v2"
	"time"
)

// maxCV bounds the burstiness that is drawn: recordings hold intervals of a handful of requests whose sample
// coefficient of variation is in the hundreds and says nothing about the next ones (judgement).
const maxCV = 8

// Arrivals draws the moments of single requests from a series: inside an interval a renewal process with the recorded
// distribution of inter-arrival times, with the recorded rate as its mean. The same seed gives the same moments.
// An interval that was not recorded takes its rate from its neighbours.
type Arrivals struct {
	counts []float64
	bursts []Burst
	step   float64
	rng    *rand.Rand
	slot   int
	// at is the position inside the slot, as a share of it, and next the work left to the next arrival, in units of
	// mean inter-arrival times.
	at, next float64
	shape    map[float64]float64 // of the Weibull distribution, by coefficient of variation
}

// NewArrivals starts at the beginning of the series.
func NewArrivals(s *Series, seed uint64) *Arrivals {
	a := &Arrivals{
		counts: s.Filled(), bursts: s.Bursts, step: s.Step.Seconds(),
		rng: rand.New(rand.NewPCG(seed, 0x61727269)), shape: map[float64]float64{},
	}
	a.next = a.draw()
	return a
}

// Next is the next arrival in seconds from the start of the series; false at its end.
func (a *Arrivals) Next() (float64, bool) {
	for a.slot < len(a.counts) {
		count := a.counts[a.slot]
		left := (1 - a.at) * count
		if a.next < left {
			a.at += a.next / count
			at := (float64(a.slot) + a.at) * a.step
			a.next = a.draw()
			return at, true
		}
		a.next -= left
		a.slot++
		a.at = 0
	}
	return 0, false
}

// draw is one inter-arrival time with mean 1, from the distribution of the present slot.
func (a *Arrivals) draw() float64 {
	var b Burst
	if a.slot < len(a.bursts) {
		b = a.bursts[a.slot]
	}
	cv := min(b.CV, maxCV)
	switch {
	case b.Family == Gamma && cv > 0:
		shape := 1 / (cv * cv)
		return gammaDraw(a.rng, shape) / shape
	case b.Family == Weibull && cv > 0:
		k, ok := a.shape[cv]
		if !ok {
			k = weibullShape(cv)
			a.shape[cv] = k
		}
		return math.Pow(a.rng.ExpFloat64(), 1/k) / math.Gamma(1+1/k)
	default:
		return a.rng.ExpFloat64()
	}
}

// gammaDraw follows Marsaglia and Tsang (2000), with their power correction for shapes below 1.
func gammaDraw(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		u := 1 - rng.Float64()
		return gammaDraw(rng, shape+1) * math.Pow(u, 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - rng.Float64()
		if math.Log(u) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// weibullShape finds the shape whose coefficient of variation is cv by bisection on its logarithm.
func weibullShape(cv float64) float64 {
	low, high := math.Log(0.15), math.Log(60.0)
	for range 60 {
		mid := (low + high) / 2
		k := math.Exp(mid)
		g := math.Gamma(1 + 1/k)
		if math.Sqrt(math.Gamma(1+2/k)/(g*g)-1) > cv {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp((low + high) / 2)
}

// Moments draws every arrival of a series as offsets from its start.
func (s *Series) Moments(seed uint64) []time.Duration {
	var out []time.Duration
	a := NewArrivals(s, seed)
	for {
		at, ok := a.Next()
		if !ok {
			return out
		}
		out = append(out, time.Duration(at*float64(time.Second)))
	}
}
