package predictor

import "math"

const (
	historyDays = learnDays + 7 // kept: enough to derive the state of a week ago again
	analogDays  = 28            // read
)

// missing marks a slot without a valid value. It is never zero.
var missing = math.NaN()

// history is a ring of one value a slot, addressed by slot number.
type history struct {
	values []float32 // NaN where missing
	masked bitset    // one-off outliers: not to be repeated
	first  int64     // first slot ever observed
	newest int64
	filled bool

	perDay, window int64 // slots a day, slots in 30 minutes
	sum            float64
	count          int64 // of the last 7 days
	last           float64
	lastSlot       int64 // newest slot with a value
}

func newHistory(step int64) history {
	perDay := daySeconds / step
	size := historyDays * perDay
	h := history{
		values: make([]float32, size), masked: newBitset(size),
		perDay: perDay, window: max(1, 1800/step), last: missing,
	}
	h.clear()
	return h
}

func (h *history) clear() {
	for i := range h.values {
		h.values[i] = float32(missing)
	}
}

func (h *history) index(slot int64) int64 {
	n := int64(len(h.values))
	return (slot%n + n) % n
}

func (h *history) holds(slot int64) bool {
	return h.filled && slot <= h.newest && slot > h.newest-int64(len(h.values)) && slot >= h.first
}

// at returns the value of a slot, NaN if it is missing, too old or not yet known.
func (h *history) at(slot int64) float64 {
	if !h.holds(slot) {
		return missing
	}
	return float64(h.values[h.index(slot)])
}

// usual is at without one-off outliers.
func (h *history) usual(slot int64) float64 {
	if !h.holds(slot) || h.masked.get(h.index(slot)) {
		return missing
	}
	return float64(h.values[h.index(slot)])
}

// push appends the next slot. Slots follow one another without a hole.
func (h *history) push(slot int64, y float64) {
	if !h.filled {
		h.filled, h.first, h.newest = true, slot, slot-1
	}
	old := h.at(slot - 7*h.perDay)
	h.newest = slot
	i := h.index(slot)
	h.values[i] = float32(y)
	h.masked.set(i, false)
	y = float64(h.values[i])
	if !math.IsNaN(y) {
		h.last, h.lastSlot = y, slot
	}
	if slot%h.perDay == 0 { // a fresh sum a day keeps rounding from piling up
		h.resum()
		return
	}
	if !math.IsNaN(old) {
		h.sum -= old
		h.count--
	}
	if !math.IsNaN(y) {
		h.sum += y
		h.count++
	}
}

func (h *history) resum() {
	h.sum, h.count = 0, 0
	for s := h.newest - 7*h.perDay + 1; s <= h.newest; s++ {
		if y := h.at(s); !math.IsNaN(y) {
			h.sum += y
			h.count++
		}
	}
}

// mean of the last 7 days; 0 without any value.
func (h *history) mean() float64 {
	if h.count == 0 {
		return 0
	}
	return max(0, h.sum/float64(h.count))
}

// level is the mean of the 30 minutes that end with slot, NaN if all are missing.
func (h *history) level(slot int64) float64 {
	sum, n := 0.0, 0
	for s := slot - h.window + 1; s <= slot; s++ {
		if y := h.at(s); !math.IsNaN(y) {
			sum += y
			n++
		}
	}
	if n == 0 {
		return missing
	}
	return sum / float64(n)
}

// around is the mean of slot and its two neighbours, as far as they are known
// and usual; NaN if slot itself is not. On grids of half an hour and more the
// neighbours are too far away to say anything about the slot.
func (h *history) around(slot int64) float64 {
	y := h.usual(slot)
	if math.IsNaN(y) || h.window == 1 {
		return y
	}
	sum, n := y, 1.0
	for _, s := range [2]int64{slot - 1, slot + 1} {
		if z := h.usual(s); !math.IsNaN(z) {
			sum += z
			n++
		}
	}
	return sum / n
}

// present counts the known slots among the newest n.
func (h *history) present(n int64) int64 {
	count := int64(0)
	for s := h.newest - n + 1; s <= h.newest; s++ {
		if !math.IsNaN(h.at(s)) {
			count++
		}
	}
	return count
}

// bitset is a fixed set of small numbers.
type bitset []uint64

func newBitset(n int64) bitset { return make(bitset, (n+63)/64) }

func (b bitset) get(i int64) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) set(i int64, on bool) {
	if on {
		b[i/64] |= 1 << (i % 64)
	} else {
		b[i/64] &^= 1 << (i % 64)
	}
}
