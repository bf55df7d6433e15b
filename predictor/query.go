package predictor

import "time"

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
	if step <= 0 || span < 0 {
		return nil
	}
	end := time.Unix(0, floorDiv(now.UnixNano(), int64(step))*int64(step)).UTC()
	var out []Range
	for left := int64(span/step) + 1; left > 0; {
		points := min(MaxQueryPoints, left)
		out = append(out, Range{end.Add(-time.Duration(left-1) * step), end.Add(-time.Duration(left-points) * step), int(points)})
		left -= points
	}
	return out
}

// minSlotCoverage is the share of the expected samples that makes a slot valid.
const minSlotCoverage = 0.7

// Covered says whether a slot holds enough samples to stand for its rate: 70 % of those that an interval between them
// leaves room for. A rate over gaps reads low.
func Covered(samples int, slot, scrapeInterval time.Duration) bool {
	if scrapeInterval <= 0 {
		return samples > 0
	}
	expected := float64(slot) / float64(scrapeInterval)
	return samples > 0 && float64(samples) >= minSlotCoverage*expected-1e-9
}
