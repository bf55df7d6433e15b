package engine

import (
	"errors"
	"testing"
	"time"
)

// pairOf are two instances on one metric store; the first computes.
func pairOf(t *testing.T, demand func(time.Time) float64) (a, b *suspendable) {
	t.Helper()
	a, b = newSuspendable(t, windowYAML(1, ""), demand), newSuspendable(t, windowYAML(1, ""), demand)
	a.Lead(1)
	b.Follow("a")
	return a, b
}

// pass lets one instance tick and the other one follow, each if it is awake.
func pass(t *testing.T, leader, follower *suspendable, from, to time.Duration, awake bool) {
	t.Helper()
	for after := from; after <= to; after += gapStep {
		leader.run(t, after, after)
		if awake {
			follower.now = leader.now
			follower.Tick(t.Context(), follower.now)
			handOver(t, leader.Engine, follower.Engine)
		}
	}
}

// TestLeaderSuspended: the other instance takes over meanwhile. The one that wakes up serves what that one computes, and goes on
// from it when it leads again, whatever it remembers of its own time.
func TestLeaderSuspended(t *testing.T) {
	const m = time.Minute
	demand := demandSteps(map[time.Duration]float64{0: 9, 10 * m: 20, 38 * m: 2})
	for _, blind := range []bool{false, true} {
		a, b := pairOf(t, demand)
		pass(t, a, b, 0, 4*m, true)
		a.blind, b.blind = blind, blind
		b.Lead(2)
		b.run(t, 4*m+3*gapStep, 40*m)
		wantTarget(t, b.Engine, b.id, 20)
		a.now = b.now
		if _, err := a.Target(a.id); !errors.Is(err, ErrNoData) {
			t.Errorf("it wakes up, and nobody has told it anything: %v, want no answer", err)
		}
		a.Follow("b")
		handOver(t, b.Engine, a.Engine)
		wantTarget(t, a.Engine, a.id, 20)
		a.Lead(3)
		b.Follow("a")
		pass(t, a, b, 40*m+gapStep, 42*m, true)
		wantTarget(t, a.Engine, a.id, 20)
		wantTarget(t, b.Engine, b.id, 20)
		pass(t, a, b, 42*m+gapStep, 46*m, true)
		wantTarget(t, a.Engine, a.id, 2)
	}
}

// TestFollowerSuspended: it has no answer after it wakes up until the leader's board comes, and then that.
func TestFollowerSuspended(t *testing.T) {
	const m = time.Minute
	a, b := pairOf(t, demandSteps(map[time.Duration]float64{0: 9, 10 * m: 2}))
	pass(t, a, b, 0, 4*m, true)
	pass(t, a, b, 4*m+gapStep, 40*m, false)
	b.now = a.now
	b.Tick(t.Context(), b.now)
	if _, err := b.Target(b.id); !errors.Is(err, ErrNoData) {
		t.Errorf("it wakes up: %v, want no answer", err)
	}
	handOver(t, a.Engine, b.Engine)
	wantTarget(t, b.Engine, b.id, 2)
}

// TestFollowerWakesUpAsLeader: the leader has died while it was suspended. The last board that it got starts a window.
func TestFollowerWakesUpAsLeader(t *testing.T) {
	const m = time.Minute
	for _, blind := range []bool{false, true} {
		a, b := pairOf(t, demandSteps(map[time.Duration]float64{0: 9, 5 * m: 2}))
		pass(t, a, b, 0, 4*m, true)
		b.blind = blind
		b.Lead(2)
		b.run(t, 40*m, 44*m)
		wantTarget(t, b.Engine, b.id, 9)
		b.run(t, 44*m+gapStep, 45*m+gapStep)
		wantTarget(t, b.Engine, b.id, 2)
	}
}

// TestPassed: the longer one of two clocks counts, and one that was set back is no way to the past.
func TestPassed(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		from, to time.Time
		want     time.Duration
	}{
		{now, now.Add(time.Minute), time.Minute},
		{now.Round(0), now.Add(time.Hour).Round(0), time.Hour},
		{now, now, 0},
	} {
		if got := passed(c.from, c.to); got != c.want {
			t.Errorf("passed %v, want %v", got, c.want)
		}
	}
}
