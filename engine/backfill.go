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

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor"
)

const (
	// backfillTimeout bounds the reading and replaying of one batch of histories: 35 days are five requests, or ten with
	// ages, and a replay takes about half a second.
	backfillTimeout = 5 * time.Minute
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
	for _, batch := range batches(e.forecasts.due(e.clock())) {
		e.backfill(ctx, batch...)
		if ctx.Err() != nil {
			return
		}
	}
}

// largestBatch is how many histories are asked for together, and how many predictors are held that are not finished.
const largestBatch = 50

// batches puts forecasts together whose histories are rows of one answer.
func batches(due []*forecast) [][]*forecast {
	var out [][]*forecast
	open := map[string]int{}
	for _, f := range due {
		key := f.query.Expr + "\x00" + f.query.AgeExpr
		b, ok := open[key]
		if !ok || len(out[b]) == largestBatch {
			b = len(out)
			open[key], out = b, append(out, nil)
		}
		out[b] = append(out[b], f)
	}
	return out
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

// filling is a predictor in the making.
type filling struct {
	*forecast
	size     float64
	made     *predictor.Service
	newest   time.Time // start of the last slot it has seen; zero if none
	restored bool
}

// backfill makes the predictors of forecasts whose histories are read together: from the store and the slots since, or
// by replaying the whole history.
func (e *Engine) backfill(ctx context.Context, batch ...*forecast) {
	var fresh, known []*filling
	for _, f := range batch {
		e.forecasts.mu.Lock()
		one := &filling{forecast: f, size: f.perReplica}
		e.forecasts.mu.Unlock()
		var err error
		if one.made, one.newest, err = e.restore(f, one.size); err != nil {
			e.filled(one, err)
			continue
		}
		if one.restored = !one.newest.IsZero(); one.restored {
			known = append(known, one)
		} else {
			fresh = append(fresh, one)
		}
	}
	e.replay(ctx, known)
	e.replay(ctx, fresh)
}

// filled takes a predictor into use, or notes when to try again.
func (e *Engine) filled(f *filling, err error) {
	e.metrics.backfills.WithLabelValues(result(err)).Inc()
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	if f.perReplica != f.size {
		return // the size of a replica has changed meanwhile; the next round makes the right one
	}
	if err != nil && !f.restored {
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
	f.predictor, f.forecast.newest, f.attempts = f.made, f.newest, 0
	e.forecasts.borrow(f.forecast)
	for _, done := range f.waiting {
		if done.start.After(f.newest) {
			f.observe(done)
		}
	}
	f.waiting = nil
	e.log.Info("forecast is ready", "service", f.service, "restored", f.restored)
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

// replay lets predictors see the slots after the last one they have seen up to the present, each as soon as its history
// is there.
func (e *Engine) replay(ctx context.Context, batch []*filling) {
	if len(batch) == 0 {
		return
	}
	to := e.clock().UTC().Truncate(slotLength)
	from := to
	queries := make([]config.Query, len(batch))
	for i, f := range batch {
		queries[i] = f.query
		if next := f.newest.Add(slotLength); next.Before(from) {
			from = next
		}
	}
	if oldest := to.Add(-historySpan); from.Before(oldest) {
		from = oldest
	}
	if !from.Before(to) {
		for _, f := range batch {
			e.filled(f, nil)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, backfillTimeout)
	defer cancel()
	e.histories(ctx, queries, from, to, func(i int, rates []float64, err error) {
		f := batch[i]
		if want := int(to.Sub(from) / slotLength); err == nil && len(rates) != want {
			err = fmt.Errorf("%d slots of history, want %d", len(rates), want)
		}
		if err == nil {
			f.see(from, rates)
		}
		e.filled(f, err)
	})
}

// see replays the slots that are new.
func (f *filling) see(from time.Time, rates []float64) {
	for i, rate := range rates {
		if at := from.Add(time.Duration(i) * slotLength); at.After(f.newest) {
			f.made.Observe(at, rate, !math.IsNaN(rate))
			f.newest = at
		}
	}
}

// histories asks for all at once where the source can.
func (e *Engine) histories(ctx context.Context, queries []config.Query, from, to time.Time, report func(int, []float64, error)) {
	if h, ok := e.source.(HistoriesSource); ok && len(queries) > 1 {
		h.Histories(ctx, queries, from, to, slotLength, report)
		return
	}
	for i, q := range queries {
		rates, err := e.source.History(ctx, q, from, to, slotLength)
		report(i, rates, err)
	}
}
