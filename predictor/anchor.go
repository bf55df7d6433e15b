package predictor

import "math"

// Everything learnt fades, but a replay of the kept rates and a run that never
// stopped would still disagree on a few per cent of the orders, because the
// price follows single short steps. So a running service, too, derives its
// state anew from the last 35 days once a week: from then on both are equal.

// learnDays is how much history a state is derived from.
const learnDays = 35

// anchored says that the state is to be derived anew before slot is learnt.
func (s *Service) anchored(slot int64) bool {
	h := &s.history
	return h.filled && ring(slot-s.settings.anchorSlot(), int(7*h.perDay)) == 0 && h.first < slot-learnDays*h.perDay
}

// anchor replays the 35 days before slot. What the operator's switch and the
// record of prewarmed replicas hold is no forecast and stays.
func (s *Service) anchor(slot int64) {
	fresh, err := New(s.settings)
	if err != nil {
		return // the settings were valid before
	}
	fresh.sibling, fresh.steering.lead = s.sibling, s.steering.lead
	for at := slot - learnDays*s.history.perDay; at < slot; at++ {
		y := s.history.at(at)
		if !fresh.history.filled && math.IsNaN(y) {
			continue
		}
		fresh.advance(at, y)
	}
	if !fresh.history.filled {
		return
	}
	fresh.counted, fresh.turn, fresh.prewarms, fresh.banned, fresh.failed = s.counted, s.turn, s.prewarms, s.banned, s.failed
	*s = *fresh
}
