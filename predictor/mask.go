package predictor

import (
	"math"
	"sort"
)

const (
	maskSteps     = 50.0 // codes per unit of log ratio
	maskWidth     = 8 * 1.4826
	maskSmallest  = 0.02 // of the median deviation
	maskRun       = 3 * 3600
	maskWeeks     = 4
	maskDays      = 6
	maskRecurring = 2 // weeks or days in which the slot was odd too: a job, not an accident
	maskAnalogs   = 3 // fewer past days say nothing about what is usual
)

// outliers recognises slots far off what the same clock time usually has, so
// that a one-off is not repeated as yesterday, last week or an analog.
type outliers struct {
	ratios []code // log ratio to the usual, last 7 days, by slot
	count  [codes]uint16
	n      int
	odd    bitset // by slot, as long as the history
	run    int64  // odd slots in a row up to the newest
}

func newOutliers(perDay int64) outliers {
	return outliers{ratios: make([]code, 7*perDay), odd: newBitset(historyDays * perDay)}
}

// learn judges the newest slot of h and masks it, or lifts the mask of a run
// that has become too long for an accident.
func (o *outliers) learn(h *history, c *clock, priors *[analogDays]float64) {
	slot := h.newest
	i := ring(slot, len(o.ratios))
	if old := o.ratios[i]; old != 0 {
		o.count[old]--
		o.n--
	}
	o.ratios[i] = 0
	o.odd.set(h.index(slot), false)
	y := h.at(slot)
	base, days := usualAt(h, c, priors, slot)
	if math.IsNaN(y) || days < maskAnalogs {
		o.run = 0
		return
	}
	r := deviation(y, base, h.mean())
	median, width := o.usualRange()
	isOdd := o.n >= int(h.perDay) && math.Abs(r-median) > width
	v := ratioCode(r)
	o.ratios[i] = v
	o.count[v]++
	o.n++
	if !isOdd {
		o.run = 0
		return
	}
	o.odd.set(h.index(slot), true)
	o.mark(h, c, slot)
}

func (o *outliers) mark(h *history, c *clock, slot int64) {
	o.run++
	longest := max(1, maskRun/c.step)
	if o.run > longest {
		for s := slot - longest; o.run == longest+1 && s < slot; s++ {
			h.masked.set(h.index(s), false)
		}
		return
	}
	if !o.recurs(h, c, slot) {
		h.masked.set(h.index(slot), true)
	}
}

// recurs says that the clock time of slot was odd before: in two of the last
// four weeks, as a weekly job is, or on two of the last six days, as the edge of
// a daily peak is that comes a little earlier or later.
func (o *outliers) recurs(h *history, c *clock, slot int64) bool {
	weeks, days := 0, 0
	for w := 1; w <= maskWeeks; w++ {
		if past := c.shift(slot, 7*w); h.holds(past) && o.odd.get(h.index(past)) {
			weeks++
		}
	}
	for d := 1; d <= maskDays; d++ {
		if past := c.shift(slot, d); h.holds(past) && o.odd.get(h.index(past)) {
			days++
		}
	}
	return weeks >= maskRecurring || days >= maskRecurring
}

func deviation(y, base, mean float64) float64 {
	k := 0.05*base + 0.02*mean
	if base+k <= 0 || y+k <= 0 {
		return 0
	}
	return math.Log((y + k) / (base + k))
}

func ratioCode(r float64) code {
	return code(min(max(math.Round(r*maskSteps)+128, 1), codes-1))
}

// usualRange is the median of the ratios of 7 days and the distance from it
// that makes a slot odd.
func (o *outliers) usualRange() (median, width float64) {
	if o.n == 0 {
		return 0, math.Inf(1)
	}
	half, seen, middle := (o.n+1)/2, 0, 0
	for c := 1; c < codes; c++ {
		if seen += int(o.count[c]); seen >= half {
			middle = c
			break
		}
	}
	seen = int(o.count[middle])
	away := 0
	for seen < half {
		away++
		if middle-away > 0 {
			seen += int(o.count[middle-away])
		}
		if middle+away < codes {
			seen += int(o.count[middle+away])
		}
	}
	return float64(middle-128) / maskSteps, maskWidth * max(float64(away)/maskSteps, maskSmallest)
}

// usualAt is the weighted median of what past days had at a slot's clock time.
func usualAt(h *history, c *clock, priors *[analogDays]float64, slot int64) (float64, int) {
	var values, weights [analogDays]float64
	n := 0
	for d := range priors {
		if v := h.at(c.shift(slot, d+1)); !math.IsNaN(v) {
			values[n], weights[n] = v, priors[d]
			n++
		}
	}
	return WeightedMedian(values[:n], weights[:n]), n
}

// WeightedMedian is the first value, in ascending order, whose cumulative
// weight exceeds half of the total; at exactly half the mean with the next.
// NaN without values. Both slices are reordered.
func WeightedMedian(values, weights []float64) float64 {
	if len(values) == 0 {
		return missing
	}
	sort.Sort(&byValue{values, weights})
	total := 0.0
	for _, w := range weights {
		total += w
	}
	sum := 0.0
	for i, w := range weights {
		sum += w
		if i+1 < len(values) && math.Abs(sum-total/2) <= 1e-12*total {
			return (values[i] + values[i+1]) / 2
		}
		if sum > total/2 {
			return values[i]
		}
	}
	return values[len(values)-1]
}

type byValue struct{ values, weights []float64 }

func (b *byValue) Len() int           { return len(b.values) }
func (b *byValue) Less(i, j int) bool { return b.values[i] < b.values[j] }
func (b *byValue) Swap(i, j int) {
	b.values[i], b.values[j] = b.values[j], b.values[i]
	b.weights[i], b.weights[j] = b.weights[j], b.weights[i]
}
