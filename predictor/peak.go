package predictor

import (
	"math"
	"slices"
)

// usualShare is the share of the last 28 days whose need [Plan].UsualPeak covers.
const usualShare = 0.995

// peak remembers the usual peak as of a slot: it changes with a new slot only.
type peak struct {
	slot  int64
	known bool
	rate  float64 // 0: unknown
}

// usualPeak is the need that was not exceeded in 99.5 % of the known slots of the last 28 days, 0 with less than a day of
// them. A load far above it is more likely a forecast gone wrong than a peak to come.
func (s *Service) usualPeak() int {
	h := &s.history
	if !s.peak.known || s.peak.slot != h.newest {
		s.peak = peak{slot: h.newest, known: true}
		if rate, slots := h.exceeded(1-usualShare, analogDays*h.perDay); slots >= h.perDay {
			s.peak.rate = rate
		}
	}
	if s.peak.rate <= 0 {
		return 0
	}
	return Replicas(s.peak.rate, s.settings.PerReplica)
}

// exceeded returns the rate that was exceeded in at most a share of the known slots among the newest ones, and how many
// of those are known.
func (h *history) exceeded(share float64, newest int64) (rate float64, known int64) {
	from := max(h.newest-newest+1, h.first)
	for slot := from; slot <= h.newest; slot++ {
		if !math.IsNaN(h.at(slot)) {
			known++
		}
	}
	// The largest rates, ascending: the first of them is the one that is asked for.
	largest := make([]float64, 0, int(share*float64(known))+2)
	keep := int(share*float64(known)+1e-9) + 1
	for slot := from; slot <= h.newest; slot++ {
		y := h.at(slot)
		if math.IsNaN(y) || (len(largest) == keep && y <= largest[0]) {
			continue
		}
		if len(largest) == keep {
			largest = slices.Delete(largest, 0, 1)
		}
		at, _ := slices.BinarySearch(largest, y)
		largest = slices.Insert(largest, at, y)
	}
	if len(largest) == 0 {
		return missing, known
	}
	return largest[0], known
}
