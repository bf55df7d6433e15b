package predictor

import "math"

// analogStyle is one way to mix the days most like today: how far a past day
// is scaled to today's level (theta) and how fast unlike days lose weight (tau).
type analogStyle struct{ theta, tau float64 }

var analogStyles = [3]analogStyle{{0.9, 0.2}, {0.4, 0.3}, {1, 0.2}}

const likenessWindows = 12 // half hours of look-back that are compared

// likeness compares the last six hours with the same clock time on past days.
// It depends on the newest slot only and serves every horizon.
type likeness struct {
	level float64             // today's, last 30 min; NaN if missing
	past  [analogDays]float64 // level at the same clock time d+1 days ago
	near  [analogDays][2]float64
}

// measure fills l for the newest slot of h.
func (l *likeness) measure(h *history, c *clock) {
	now, mean := h.newest, h.mean()
	var today [likenessWindows]float64
	for b := range today {
		today[b] = h.level(now - int64(b)*h.window)
	}
	l.level = today[0]
	for d := range l.past {
		origin := c.shift(now, d+1)
		if !h.holds(origin) {
			l.past[d] = missing
			continue
		}
		l.past[d] = h.level(origin)
		if math.IsNaN(l.past[d]) {
			continue
		}
		e := likenessOf(h, origin, today[:], l.past[d], mean)
		l.near[d] = [2]float64{math.Exp(-e / analogStyles[0].tau), math.Exp(-e / analogStyles[1].tau)}
	}
}

// likenessOf compares today's half hours with those that lead up to origin, of
// which the newest is known.
func likenessOf(h *history, origin int64, today []float64, newest, mean float64) float64 {
	var past [likenessWindows]float64
	past[0] = newest
	for b := 1; b < likenessWindows; b++ {
		past[b] = h.level(origin - int64(b)*h.window)
	}
	return rootMeanLogRatio(today, past[:], mean)
}

// rootMeanLogRatio is the root mean square of ln((a + 0.1 mean)/(b + 0.1 mean))
// over the pairs that are known; 0 if there is none.
func rootMeanLogRatio(as, bs []float64, mean float64) float64 {
	sum, n := 0.0, 0
	for i, a := range as {
		b := bs[i]
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		if mean > 0 {
			r := math.Log((a + 0.1*mean) / (b + 0.1*mean))
			sum += r * r
		}
		n++
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n))
}

// power is r to theta where the logarithm of r is at hand.
func power(r, ln, theta float64) float64 {
	if theta == 1 {
		return r
	}
	return math.Exp(theta * ln)
}

// levelRatio lies between 0.2 and 5; a today that is missing corrects nothing.
func levelRatio(v, past, today, mean float64) float64 {
	k := 0.05*v + 0.02*mean
	if math.IsNaN(today) || past+k <= 0 {
		return 1
	}
	return min(max((today+k)/(past+k), 0.2), 5)
}

// Analog is one past day as it entered the forecast.
type Analog struct {
	DaysAgo int
	Slot    int64   // slot number of the past target
	Value   float64 // mean around the slot, not scaled
	Ratio   float64 // today's level over that day's
	Weight  float64 // share among the analogs, 0 to 1
}

// analogs evaluates the three analog experts for target. out receives the days
// with their weights for the first style when it is not nil.
func (l *likeness) analogs(h *history, c *clock, priors *[analogDays]float64, target int64, out *[]Analog) [3]float64 {
	mean := h.mean()
	var sum, weight [3]float64
	for d := range l.past {
		if math.IsNaN(l.past[d]) {
			continue
		}
		slot := c.shift(target, d+1)
		v := h.around(slot)
		if math.IsNaN(v) {
			continue
		}
		r := levelRatio(v, l.past[d], l.level, mean)
		ln := math.Log(r)
		near := [3]float64{l.near[d][0], l.near[d][1], l.near[d][0]}
		for i, style := range analogStyles {
			w := priors[d] * near[i]
			sum[i] += w * v * power(r, ln, style.theta)
			weight[i] += w
		}
		if out != nil {
			*out = append(*out, Analog{DaysAgo: d + 1, Slot: slot, Value: v, Ratio: r, Weight: priors[d] * near[0]})
		}
	}
	var forecasts [3]float64
	for i := range forecasts {
		if weight[i] > 0 {
			forecasts[i] = sum[i] / weight[i]
			continue
		}
		forecasts[i] = h.recent()
	}
	return forecasts
}

// recent is the mean of the last 15 minutes, NaN if all are missing.
func (h *history) recent() float64 {
	n := max(1, h.window/2)
	sum, count := 0.0, 0
	for s := h.newest - n + 1; s <= h.newest; s++ {
		if y := h.at(s); !math.IsNaN(y) {
			sum += y
			count++
		}
	}
	if count == 0 {
		return missing
	}
	return sum / float64(count)
}
