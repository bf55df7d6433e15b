package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

const (
	// backfillTimeout bounds the reading of one history: 35 days are five requests, or ten with ages.
	backfillTimeout = time.Minute
	// After a failure the next attempt waits, doubling from the first to the longest pause.
	firstPause   = 30 * time.Second
	longestPause = 10 * time.Minute
)

// backfillLoop makes the predictors that are wanted, one after the other, in the background: ticks never wait for it.
func (e *Engine) backfillLoop(ctx context.Context) {
	for {
		next := time.Now().Add(firstPause)
		e.Backfill(ctx)
		if ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-e.forecasts.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// Backfill makes the predictors that are wanted and may be tried now, and returns when they are made. [Engine.Run] does
// it by itself.
func (e *Engine) Backfill(ctx context.Context) {
	for _, f := range e.forecasts.due(e.clock()) {
		e.backfill(ctx, f)
		if ctx.Err() != nil {
			return
		}
	}
}

// due lists the forecasts that need a predictor and may try now.
func (f *forecasts) due(now time.Time) []*forecast {
	f.mu.Lock()
	defer f.mu.Unlock()
	var due []*forecast
	for _, one := range f.bySeries {
		if one.predictor == nil && one.perReplica > 0 && !now.Before(one.nextTryAt) {
			due = append(due, one)
		}
	}
	slices.SortFunc(due, func(a, b *forecast) int { return strings.Compare(a.series, b.series) })
	return due
}

// backfill makes one predictor: from the store and the slots since, or by replaying its whole history.
func (e *Engine) backfill(ctx context.Context, f *forecast) {
	e.forecasts.mu.Lock()
	perReplica := f.perReplica
	e.forecasts.mu.Unlock()
	made, newest, err := e.restore(f, perReplica)
	restored := err == nil && !newest.IsZero()
	if err == nil {
		newest, err = e.replay(ctx, f, made, newest)
	}
	e.metrics.backfills.WithLabelValues(result(err)).Inc()
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	if f.perReplica != perReplica {
		return // the size of a replica has changed meanwhile; the next round makes the right one
	}
	if err != nil && !restored {
		f.attempts++
		pause := min(firstPause<<min(f.attempts-1, 10), longestPause)
		f.nextTryAt = e.clock().Add(pause)
		e.log.Warn("the history for a forecast cannot be read; the service scales without one", "service", f.service,
			"error", err, "retry", pause)
		return
	}
	if err != nil {
		e.log.Warn("the newest history for a forecast cannot be read; what was stored is used", "service", f.service, "error", err)
	}
	f.predictor, f.newest, f.attempts = made, newest, 0
	e.forecasts.borrow(f)
	for _, done := range f.waiting {
		if done.start.After(newest) {
			f.observe(done)
		}
	}
	f.waiting = nil
	e.log.Info("forecast is ready", "service", f.service, "restored", restored)
}

// restore makes a predictor with what was stored, or an empty one. newest is the start of the last slot that it has
// seen, zero without one.
func (e *Engine) restore(f *forecast, perReplica float64) (made *predictor.Service, newest time.Time, err error) {
	made, err = predictor.New(settingsOf(f.service, f.lead, f.settings, perReplica))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("settings of the forecast: %w", err)
	}
	e.store.get(f.stored, forecastKey, func(value []byte, _ time.Time) error {
		if len(value) < 8 {
			return errors.New("cut off")
		}
		if err := made.UnmarshalBinary(value[8:]); err != nil {
			return err
		}
		newest = time.Unix(int64(binary.BigEndian.Uint64(value)), 0).UTC()
		return nil
	})
	return made, newest, nil
}

// replay lets a predictor see the slots after newest up to the present, and returns the start of the last one.
func (e *Engine) replay(ctx context.Context, f *forecast, made *predictor.Service, newest time.Time) (time.Time, error) {
	to := e.clock().UTC().Truncate(slotLength)
	from := to.Add(-historySpan)
	if next := newest.Add(slotLength); next.After(from) {
		from = next
	}
	if !from.Before(to) {
		return newest, nil
	}
	ctx, cancel := context.WithTimeout(ctx, backfillTimeout)
	defer cancel()
	rates, err := e.source.History(ctx, f.query, from, to, slotLength)
	if err != nil {
		return newest, err
	}
	if want := int(to.Sub(from) / slotLength); len(rates) != want {
		return newest, fmt.Errorf("%d slots of history, want %d", len(rates), want)
	}
	for i, rate := range rates {
		made.Observe(from.Add(time.Duration(i)*slotLength), rate, !math.IsNaN(rate))
	}
	return to.Add(-slotLength), nil
}
