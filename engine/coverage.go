package engine

import (
	"slices"
	"sync/atomic"

	"github.com/warmpool/warmpool/predictor"
)

// coverage counts how often the arrivals of a slot stayed within the 0.9 bound that was forecast one lead before. The
// bound is right when that is so for nine slots of ten: below that, orders are too small for the shortage that was asked
// for.
type coverage struct {
	// bounds are those of slots to come, by their start in Unix seconds; guarded like the forecast.
	bounds map[int64]float64
	// slots and within count since the start of the process.
	slots, within atomic.Uint64
}

// expect notes the bound of the last slot that an order of now serves, as it was when the slot first was the last. A
// plan that is not fit for use says nothing.
func (c *coverage) expect(p *predictor.Plan) {
	if p.Mode != predictor.Shadow && p.Mode != predictor.Active {
		return
	}
	for i := range slices.Backward(p.Slots) {
		if !p.Slots[i].Counts {
			continue
		}
		if c.bounds == nil {
			c.bounds = map[int64]float64{}
		}
		start := p.Slots[i].Start.Unix()
		if _, known := c.bounds[start]; !known {
			c.bounds[start] = p.Slots[i].Outlook.Upper
		}
		return
	}
}

// outcome counts a slot that is over.
func (c *coverage) outcome(done finished) {
	start := done.start.Unix()
	bound, expected := c.bounds[start]
	for slot := range c.bounds {
		if slot <= start {
			delete(c.bounds, slot)
		}
	}
	if !expected || !done.ok {
		return
	}
	c.slots.Add(1)
	if done.rate <= bound*(1+1e-6) { // traffic that repeats exactly lies on its bound
		c.within.Add(1)
	}
}
