package engine

import (
	"context"
	"sync"
	"time"
)

// Run ticks until ctx ends, then saves what was learnt. The first tick comes at once, as of the last instant of the
// wall clock that every instance ticks at.
func (e *Engine) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { e.tickLoop(ctx) })
	group.Go(func() { e.activationLoop(ctx) })
	group.Go(func() { e.backfillLoop(ctx) })
	group.Go(func() { e.noticeLoop(ctx) })
	group.Go(func() { e.saveLoop(ctx) })
	group.Wait()
	e.saveAll(true)
	return nil
}

func (e *Engine) tickLoop(ctx context.Context) {
	for at := time.Now().Truncate(e.config.Load().EvaluationInterval); ; {
		interval := e.config.Load().EvaluationInterval
		tick, cancel := context.WithTimeout(ctx, interval-interval/10)
		e.Tick(tick, at)
		cancel()
		next, skipped := nextTick(at, time.Now(), interval)
		if skipped > 0 && ctx.Err() == nil {
			e.metrics.skipped.Add(float64(skipped))
			e.log.Warn("evaluation took longer than its interval", "skipped", skipped, "interval", interval)
		}
		if !sleepUntil(ctx, next) {
			return
		}
		if interval := e.config.Load().EvaluationInterval; time.Since(next) > missedFor*interval && e.lockstep.sharing.Load() &&
			!sleepUntil(ctx, time.Now().Add(settleLease)) {
			return
		}
		at = next
	}
}

// settleLease is what an instance waits that wakes up late, as after a suspension: whoever competes for the Lease was
// suspended too, and has to find out whether another instance computes by now.
const settleLease = 3 * time.Second

// nextTick is the instant after one of at, and how many went by meanwhile. It is never more than two intervals away: a
// clock that was set back must not stop the ticks until it has come to where it was.
func nextTick(at, now time.Time, interval time.Duration) (next time.Time, skipped int) {
	next = at.Truncate(interval).Add(interval)
	late := now.Sub(next)
	switch {
	case late >= interval:
		skipped = int(late / interval)
		next = next.Add(time.Duration(skipped) * interval)
	case late < -2*interval:
		next = now.Truncate(interval).Add(interval)
	}
	return next, skipped
}

// shortestActivation bounds the time an activation may read, so that a short interval does not cut off its own source.
const shortestActivation = 2 * time.Second

func (e *Engine) activationLoop(ctx context.Context) {
	for {
		c := e.config.Load()
		interval := c.ActivationInterval
		if interval <= 0 {
			interval = c.EvaluationInterval
		}
		at := time.Now().Truncate(interval).Add(interval)
		if !sleepUntil(ctx, at) {
			return
		}
		if at.Equal(at.Truncate(c.EvaluationInterval)) {
			continue // the tick looks at everything
		}
		reading, cancel := context.WithTimeout(ctx, max(interval, shortestActivation))
		e.Activate(reading, at)
		cancel()
	}
}

// sleepUntil returns false when ctx ended first.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
