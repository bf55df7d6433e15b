package predictor

import "math"

// experts evaluates every expert for target; NaN where one has no forecast.
func (s *Service) experts(target int64, ahead int, days *[]Analog) [expertCount]float64 {
	h := &s.history
	day, ofDay := s.clock.local(target)
	var out [expertCount]float64
	out[LastValue] = missing
	if h.newest-h.lastSlot < h.window {
		out[LastValue] = h.last
	}
	out[Yesterday] = h.usual(s.clock.shift(target, 1))
	out[LastWeek] = h.usual(s.clock.shift(target, 7))
	if math.IsNaN(out[LastWeek]) {
		out[LastWeek] = out[Yesterday]
	}
	out[Smoothing] = s.seasonal.forecast(h.newest, ahead, ofDay, weekday(day)*h.perDay+ofDay)
	analogs := s.likeness.analogs(h, s.clock, s.priorsOf(day), target, days)
	copy(out[AnalogScaled:], analogs[:])
	out[SiblingProfile] = s.borrowed(target)
	for k := range out {
		out[k] = s.vetted(Expert(k), out[k])
	}
	return out
}

// vetted leaves an expert that yields something impossible out for a day.
func (s *Service) vetted(k Expert, v float64) float64 {
	if s.failed != nil {
		v = s.failed(k, v)
	}
	if math.IsInf(v, 0) || v < 0 {
		s.banned[k] = s.history.newest + s.history.perDay
	}
	if s.history.newest < s.banned[k] {
		return missing
	}
	return v
}

// borrowed is the sibling's usual rate at the target over its usual rate now,
// times the own level.
func (s *Service) borrowed(target int64) float64 {
	if s.sibling == nil || math.IsNaN(s.likeness.level) {
		return missing
	}
	b := s.sibling
	then, n := b.profile(target)
	now, m := b.profile(s.history.newest)
	if n == 0 || m == 0 {
		return missing
	}
	k := 0.05 * b.history.mean()
	if now+k <= 0 {
		return missing
	}
	return s.likeness.level * min(max((then+k)/(now+k), 0.2), 5)
}

func (s *Service) profile(slot int64) (float64, int) {
	day, _ := s.clock.local(slot)
	priors := s.clock.priors(day)
	return usualAt(&s.history, s.clock, &priors, slot)
}
