package engine

import (
	"testing"
	"time"
)

// The next tick is at a multiple of the interval and at most two intervals away, whatever the clock does.
func TestNextTick(t *testing.T) {
	const interval = 15 * time.Second
	at := time.Date(2026, 3, 29, 0, 59, 45, 0, time.UTC)
	for _, tc := range []struct {
		name       string
		now        time.Duration // since at
		next       time.Duration
		wasSkipped int
	}{
		{"in time", 2 * time.Second, interval, 0},
		{"a little late", interval + time.Second, interval, 0},
		{"two late", 3*interval + time.Second, 3 * interval, 2},
		{"an hour ahead", time.Hour, time.Hour, 239},
		{"before it", -time.Second, interval, 0},
		{"one interval back", -interval, interval, 0},
		{"more than one interval back", -interval - time.Second, -interval, 0},
		{"an hour back", -time.Hour, -time.Hour + interval, 0},
		{"an hour and a bit back", -time.Hour - time.Second, -time.Hour, 0},
	} {
		next, skipped := nextTick(at, at.Add(tc.now), interval)
		if !next.Equal(at.Add(tc.next)) || skipped != tc.wasSkipped {
			t.Errorf("%s: next %v after, %d skipped; want %v, %d", tc.name, next.Sub(at), skipped, tc.next, tc.wasSkipped)
		}
	}
}
