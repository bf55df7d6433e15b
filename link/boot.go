package link

import (
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// keptBoots is how many boots of a pool are remembered, leastBoots from how many on they are believed.
	keptBoots  = 50
	leastBoots = 5
	// A node is late after the time within which lateShare of the recorded boots ended, and lateMargin of that more.
	lateShare  = 0.95
	lateMargin = 1.2
	// longestBoot is more than any provider waits for a machine; a longer record is about something else.
	longestBoot = time.Hour
)

// Boots are the recorded boot times by pool, from the order of a node until it joined, oldest first.
type Boots map[string][]time.Duration

// Learn returns the boots with one more. What was passed in is not changed.
func (b Boots) Learn(pool string, took time.Duration) Boots {
	if pool == "" || took <= 0 || took > longestBoot {
		return b
	}
	next := maps.Clone(b)
	if next == nil {
		next = Boots{}
	}
	kept := append(slices.Clone(next[pool]), took)
	next[pool] = kept[max(0, len(kept)-keptBoots):]
	return next
}

// Join takes over the record of each pool of which another one knows more boots. What was passed in is not changed.
func (b Boots) Join(other Boots) Boots {
	next := b
	for pool, known := range other {
		if pool == "" || len(known) <= len(next[pool]) || slices.ContainsFunc(known, func(d time.Duration) bool { return d <= 0 || d > longestBoot }) {
			continue
		}
		if next = maps.Clone(next); next == nil {
			next = Boots{}
		}
		next[pool] = slices.Clone(known[max(0, len(known)-keptBoots):])
	}
	return next
}

// Quantile is the boot time of a pool at rank ceil(q n), and false while fewer than five are recorded.
func (b Boots) Quantile(pool string, q float64) (time.Duration, bool) {
	if len(b[pool]) < leastBoots {
		return 0, false
	}
	return quantileOf(slices.Sorted(slices.Values(b[pool])), q), true
}

// LateAfter is the age from which a node of the pool is suspected not to come: a fifth more than the time within which
// 95 % of its boots ended. It is false while too few are recorded; then no node is late.
func (b Boots) LateAfter(pool string) (time.Duration, bool) {
	usual, ok := b.Quantile(pool, lateShare)
	return time.Duration(lateMargin * float64(usual)), ok
}

// Start is one recorded start of a replica.
type Start struct {
	// Took is the time from its creation until it was ready; Cold tells that a node was made for it.
	Took time.Duration
	Cold bool
}

// ColdStarts are the starts that a lead should be learnt from: an order must be in time although it may need a new
// node. With five or more cold ones these are they; else a warm start stands for a cold one with the boot time of the
// pool on top, the one within which 90 % of the boots ended. Where that is not known either, the starts are as they are.
func ColdStarts(starts []Start, boots Boots, pool string) []time.Duration {
	var cold, all []time.Duration
	boot, known := boots.Quantile(pool, 0.9)
	for _, s := range starts {
		if s.Cold {
			cold = append(cold, s.Took)
		} else if known {
			s.Took += boot
		}
		all = append(all, s.Took)
	}
	if len(cold) >= leastBoots {
		return cold
	}
	return all
}

// quantileOf is the value at rank ceil(q n) of sorted values; there is at least one.
func quantileOf[T any](sorted []T, q float64) T {
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
