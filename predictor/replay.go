package predictor

import (
	"math"
	"slices"
	"time"
)

// Sample is the mean rate of one interval; NaN is missing.
type Sample struct {
	Start time.Time
	Rate  float64
}

// Replay observes samples in order of time, whatever order they come in. A
// replay of five weeks nearly agrees with an unbroken run: what is learnt
// fades with half-lives of at most a week.
func (s *Service) Replay(samples []Sample) {
	ordered := slices.Clone(samples)
	slices.SortStableFunc(ordered, func(a, b Sample) int { return a.Start.Compare(b.Start) })
	for _, x := range ordered {
		s.Observe(x.Start, x.Rate, !math.IsNaN(x.Rate))
	}
}

// Samples are the known rates of the last 35 days, oldest first.
func (s *Service) Samples() []Sample {
	h := &s.history
	if !h.filled {
		return nil
	}
	var out []Sample
	for slot := max(h.first, h.newest-int64(len(h.values))+1); slot <= h.newest; slot++ {
		if y := h.at(slot); !math.IsNaN(y) {
			out = append(out, Sample{time.Unix(slot*s.step, 0).UTC(), y})
		}
	}
	return out
}

// Newest is the start of the newest interval that was observed; ok is false
// before the first.
func (s *Service) Newest() (start time.Time, ok bool) {
	return time.Unix(s.history.newest*s.step, 0).UTC(), s.history.filled
}

// Bytes is the memory that the service holds.
func (s *Service) Bytes() int {
	const pointers = 4096 // the fixed parts
	n := pointers + 4*len(s.history.values) + 8*len(s.history.masked) + 8*len(s.outliers.odd) + len(s.outliers.ratios)
	n += 4 * (len(s.seasonal.day) + len(s.seasonal.week))
	for i := range s.horizons {
		z := &s.horizons[i]
		n += len(z.spread.errors) + len(z.spread.scores) + 4*codes + 8*(4+2+int(expertCount))*z.ahead
	}
	n += 8 * len(s.steering.desired)
	n += len(s.ledger.plain) + len(s.ledger.booked)*4*(ledgerSettings+skillForecasts+1) + len(s.ledger.days)*(8*8+6*ledgerSettings)
	return n
}
