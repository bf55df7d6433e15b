package predictor

const (
	missAfter = 15 * 60 // seconds after the target at which a prewarm is judged
	missBelow = 0.5     // of the load that was forecast
	missKept  = 8
)

// prewarms judges the forecasts that called for more replicas than the traffic
// of the moment: did the load come?
type prewarms struct {
	open    bool
	target  int64   // slot
	covered float64 // rate that was forecast
	peak    float64 // largest rate since the target

	hits, missed int64
	misses       [missKept]int64 // slots of the newest misses
}

// learn takes the rate of a slot, NaN if missing.
func (p *prewarms) learn(slot, step int64, y float64) {
	if !p.open || slot < p.target {
		return
	}
	if y > p.peak {
		p.peak = y
	}
	if (slot+1-p.target)*step < missAfter {
		return
	}
	p.open = false
	if p.peak >= missBelow*p.covered {
		p.hits++
		return
	}
	p.misses[ring(p.missed, missKept)] = slot
	p.missed++
}

// start notes a forecast that needs more replicas than there are traffic for.
func (p *prewarms) start(target int64, rate float64) {
	if !p.open {
		p.open, p.target, p.covered, p.peak = true, target, rate, 0
	}
}

// since counts the misses from a slot on.
func (p *prewarms) since(slot int64) int {
	n := 0
	for k := int64(0); k < min(p.missed, missKept); k++ {
		if p.misses[k] >= slot {
			n++
		}
	}
	return n
}
