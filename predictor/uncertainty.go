package predictor

import (
	"math"
	"time"
)

const (
	scoreDays       = 14
	globalHalfLife  = 5 * daySeconds
	startError      = 0.5
	slotPseudo      = 4 // pseudo-errors at the global mean in the error by clock time
	slotReach       = 20 * 60
	scaleFloor      = 0.02
	nominalCoverage = 0.9
	coverageGain    = 0.01
	lowestBound     = 0.5
	highestBound    = 0.998
)

var slotErrorDays = [8]int{1, 2, 3, 4, 5, 6, 7, 14}

// ScaleWeights say how the parts of the error scale are added up.
type ScaleWeights struct {
	Recent, Slot, Global float64
	RecentHalfLife       time.Duration
}

// DefaultScaleWeights are those of the mix of experts.
func DefaultScaleWeights() ScaleWeights {
	return ScaleWeights{Recent: 0.3, Slot: 0.3, Global: 0.6, RecentHalfLife: time.Hour}
}

// Uncertainty learns how far the forecasts of one horizon miss: lately, at this
// clock time, and on the whole; and how the misses are distributed once these
// are divided out.
type Uncertainty struct {
	clock   *clock
	horizon int64
	weights ScaleWeights
	unit    float64 // c1

	recentGain, globalGain float64
	recent, global         float64
	bound                  float64 // the quantile that covers 90 % (adaptive conformal inference)

	errors  []code // by target slot
	scores  []code // by target slot, the last 14 days
	count   [codes]uint16
	greater [codes]uint16 // derived from count
	n       int
	newest  int64 // newest slot learnt
	started bool
	pending []issued // by target slot
}

// issued is a forecast whose outcome is not known yet.
type issued struct {
	value, scale, upper float64
	scored              bool
}

// NewUncertainty learns for forecasts made horizon slots ahead on a grid of
// step. perReplica, in units of the forecast, is the load of one replica.
func NewUncertainty(cal Calendar, step time.Duration, horizon int, perReplica float64, w ScaleWeights) *Uncertainty {
	return newUncertainty(newClock(cal, int64(step/time.Second)), horizon, perReplica, w)
}

func newUncertainty(c *clock, horizon int, perReplica float64, w ScaleWeights) *Uncertainty {
	perDay := daySeconds / c.step
	return &Uncertainty{
		clock: c, horizon: int64(horizon), weights: w, unit: perReplica,
		recentGain: 1 - math.Exp2(-float64(c.step)/w.RecentHalfLife.Seconds()),
		globalGain: 1 - math.Exp2(-float64(c.step)/globalHalfLife),
		recent:     startError, global: startError, bound: nominalCoverage,
		errors:  make([]code, scoreDays*perDay+perDay/8),
		scores:  make([]code, scoreDays*perDay),
		pending: make([]issued, horizon),
	}
}

// spread is the standard deviation a Poisson-like demand has in units of its
// replica: stable in variance and finite at zero.
func spread(p, perReplica float64) float64 {
	return math.Sqrt(max(p, 0)*perReplica) + 0.1*perReplica
}

// clipError bounds what a single error counts in a mean.
func clipError(r, global float64) float64 { return min(r, 10*global+0.5) }

// Learn takes the outcome of a slot, NaN if missing. Slots follow one another.
func (u *Uncertainty) Learn(slot int64, y float64) {
	u.newest, u.started = slot, true
	i := ring(slot, len(u.scores))
	if old := u.scores[i]; old != 0 {
		u.count[old]--
		u.n--
	}
	u.scores[i] = 0
	e := ring(slot, len(u.errors))
	u.errors[e] = 0
	p := &u.pending[ring(slot, len(u.pending))]
	if p.scored && !math.IsNaN(y) {
		u.errors[e] = u.learnError(math.Abs(y-p.value) / spread(p.value, u.unit))
		c := encodeScore((y - p.value) / p.scale)
		u.scores[i] = c
		u.count[c]++
		u.n++
		u.bound = adaptBound(u.bound, y > p.upper)
	}
	*p = issued{}
	u.accumulate()
}

func (u *Uncertainty) learnError(r float64) code {
	c := encodeError(r)
	r = clipError(r, u.global)
	u.recent += u.recentGain * (r - u.recent)
	u.global += u.globalGain * (r - u.global)
	return c
}

// adaptBound moves the reported quantile after an outcome (Gibbs and Candes,
// "Adaptive conformal inference under distribution shift", 2021).
func adaptBound(q float64, missed bool) float64 {
	step := nominalCoverage - 1
	if missed {
		step++
	}
	return min(max(q+coverageGain*step, lowestBound), highestBound)
}

func (u *Uncertainty) accumulate() {
	left := uint16(u.n)
	for c := 1; c < codes; c++ {
		left -= u.count[c]
		u.greater[c] = left
	}
}

// Issue makes a distribution of the forecast value for the slot horizon ahead
// of the newest. scored says whether its outcome is to be learnt from.
func (u *Uncertainty) Issue(value float64, scored bool) Outlook {
	target := u.newest + u.horizon
	o := Outlook{
		Horizon: int(u.horizon), Slot: target, Value: value,
		Recent: u.recent, Global: u.global, ClockTime: u.clockError(target),
		Tail: newTail(scoreOf[1:], u.greater[1:], u.n),
	}
	o.Scale = errorScale(value, u.unit, u.weights, o.Recent, o.ClockTime, o.Global)
	o.Upper = max(value, value+o.Tail.Quantile(u.bound)*o.Scale)
	if u.n == 0 {
		o.Upper = value + o.Scale
	}
	u.pending[ring(target, len(u.pending))] = issued{value: value, scale: o.Scale, upper: o.Upper, scored: scored}
	return o
}

func errorScale(p, perReplica float64, w ScaleWeights, recent, clockTime, global float64) float64 {
	return spread(p, perReplica) * (w.Recent*recent + w.Slot*clockTime + w.Global*global + scaleFloor)
}

// clockError is the mean error around the target's clock time on past days.
func (u *Uncertainty) clockError(target int64) float64 {
	reach := max(1, slotReach/u.clock.step)
	sum, n := 0.0, 0
	for _, days := range slotErrorDays {
		middle := u.clock.shift(target, days)
		for s := middle - reach; s <= middle+reach; s++ {
			if s > u.newest || s <= u.newest-int64(len(u.errors)) {
				continue
			}
			if c := u.errors[ring(s, len(u.errors))]; c != 0 {
				sum += clipError(errorOf[c], u.global)
				n++
			}
		}
	}
	return slotError(sum, n, u.global)
}

func slotError(sum float64, n int, global float64) float64 {
	return (sum + slotPseudo*global) / float64(n+slotPseudo)
}

func ring(slot int64, size int) int64 {
	n := int64(size)
	return (slot%n + n) % n
}
