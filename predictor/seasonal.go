package predictor

import "math"

// seasonal is the double-seasonal exponential smoothing of the square root of
// the rate: a level, a season over the day and one over the week, all by local
// clock. (Taylor, "Short-term electricity demand forecasting using double
// seasonal exponential smoothing", 2003, with an AR(1) term for the last error.)
type seasonal struct {
	level   float64
	err     float64 // last one-step error, 0 after a missing slot
	day     []float32
	week    []float32
	started bool
	first   int64 // slot of the first value
}

const (
	levelGain       = 0.3
	seasonGain      = 0.1
	seasonGainEarly = 0.2  // first week
	levelGainEarly  = 0.02 // first day
	errorDecay      = 0.8
)

func newSeasonal(perDay int64) seasonal {
	return seasonal{day: make([]float32, perDay), week: make([]float32, 7*perDay)}
}

// learn takes the value of a slot, NaN if missing. weekSlot counts from Monday 00:00.
func (s *seasonal) learn(slot, daySlot, weekSlot int64, y float64) {
	if math.IsNaN(y) {
		s.err = 0
		return
	}
	z := math.Sqrt(y)
	if !s.started {
		s.started, s.first, s.level = true, slot, z
	}
	perDay := int64(len(s.day))
	if slot-s.first < perDay {
		s.level += levelGainEarly * (z - s.level)
		s.day[daySlot] = float32(z - s.level)
		return
	}
	s.step(z, daySlot, weekSlot, slot-s.first < 7*perDay)
}

func (s *seasonal) step(z float64, daySlot, weekSlot int64, firstWeek bool) {
	e := z - (s.level + float64(s.day[daySlot]) + float64(s.week[weekSlot]))
	s.err = e
	s.level += levelGain * e
	if firstWeek {
		s.day[daySlot] += float32(seasonGainEarly * e)
		return
	}
	s.day[daySlot] += float32(seasonGain * e)
	s.week[weekSlot] += float32(seasonGain * e)
}

// forecast for a slot `ahead` slots after the newest; NaN within the first day.
func (s *seasonal) forecast(newest int64, ahead int, daySlot, weekSlot int64) float64 {
	if !s.started || newest-s.first < int64(len(s.day)) {
		return missing
	}
	z := s.level + float64(s.day[daySlot]) + float64(s.week[weekSlot]) + math.Pow(errorDecay, float64(ahead))*s.err
	z = max(0, z)
	return z * z
}
