package predictor

import (
	"math"
	"time"
)

// MaxQueryPoints is what Prometheus returns at most for a series in one range query.
const MaxQueryPoints = 11000

// Range is a range query from Start to End, both included and multiples of the step.
type Range struct {
	Start, End time.Time
	Points     int
}

// Ranges covers the span that ends with the last multiple of step up to now,
// oldest first, with at most MaxQueryPoints points each. Queries asked again
// within a step are equal, so that the store can answer them from its cache.
func Ranges(now time.Time, step, span time.Duration) []Range {
	s := int64(step / time.Second)
	if s < 1 || span < 0 {
		return nil
	}
	end := floorDiv(now.Unix(), s) * s
	total := int64(span/step) + 1
	var out []Range
	for at := end - (total-1)*s; at <= end; {
		points := min(MaxQueryPoints, (end-at)/s+1)
		last := at + (points-1)*s
		out = append(out, Range{time.Unix(at, 0).UTC(), time.Unix(last, 0).UTC(), int(points)})
		at = last + s
	}
	return out
}

// minSlotCoverage is the share of the expected samples that makes a slot valid.
const minSlotCoverage = 0.7

// Covered says whether a slot holds enough samples to stand for its rate.
func Covered(samples int, slot, scrapeInterval time.Duration) bool {
	if scrapeInterval <= 0 {
		return samples > 0
	}
	expected := float64(slot) / float64(scrapeInterval)
	return samples > 0 && float64(samples) >= minSlotCoverage*expected-1e-9
}

// Demand multiplies forecasts such as requests and tokens a request. Each is
// clamped at 0 first: two negative ones are no demand.
func Demand(factors ...float64) float64 {
	product := 1.0
	for _, f := range factors {
		product *= max(0, f)
	}
	if math.IsNaN(product) {
		return 0
	}
	return product
}
