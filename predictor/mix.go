package predictor

import "math"

// Expert names one of the forecasts that are mixed.
type Expert int

// The experts in the order of Outlook.Experts and Outlook.Weights.
const (
	LastValue Expert = iota
	Yesterday
	LastWeek
	Smoothing
	AnalogScaled
	AnalogSoft
	AnalogFull
	SiblingProfile
	expertCount
)

var expertNames = [expertCount]string{
	"last value", "yesterday", "last week", "seasonal smoothing",
	"analog days", "analog days, soft", "analog days, full", "sibling profile",
}

// String returns the operator's name of the expert.
func (e Expert) String() string {
	if e < 0 || e >= expertCount {
		return "unknown"
	}
	return expertNames[e]
}

// mix weights the experts of one horizon by how they did lately: an
// exponentially weighted average over linearised absolute errors whose step
// size follows from the spread of the regrets (de Rooij et al., "Follow the
// leader if you can, hedge if you must", 2014, for the idea of a scale-free rate).
type mix struct {
	regret [expertCount]float64
	square [expertCount]float64
}

// learn takes an outcome y of the forecast u that was mixed from experts.
// mean scales the regrets; forget is the factor per slot.
func (m *mix) learn(y, u float64, experts *[expertCount]float64, mean, forget float64) {
	g := 0.5
	if y > u {
		g = -0.5
	}
	for k, e := range experts {
		r := 0.0
		if !math.IsNaN(e) && mean > 0 {
			r = g * (u - e) / mean
		}
		m.regret[k] = forget*m.regret[k] + r
		m.square[k] = forget*m.square[k] + r*r
	}
}

// weights of the experts that have a forecast now; they sum to 1. ok is false
// if none has.
func (m *mix) weights(experts *[expertCount]float64) (w [expertCount]float64, ok bool) {
	total := 0.0
	for k, e := range experts {
		if math.IsNaN(e) {
			continue
		}
		x := m.regret[k] / math.Sqrt(m.square[k]+1e-6)
		w[k] = math.Exp(min(max(x, -30), 30))
		total += w[k]
	}
	if total == 0 {
		return w, false
	}
	for k := range w {
		w[k] /= total
	}
	return w, true
}

// combine is the weighted mean of the experts; NaN if none has a forecast.
func (m *mix) combine(experts *[expertCount]float64) (float64, [expertCount]float64) {
	w, ok := m.weights(experts)
	if !ok {
		return missing, w
	}
	p := 0.0
	for k, e := range experts {
		if w[k] > 0 {
			p += w[k] * e
		}
	}
	return p, w
}
