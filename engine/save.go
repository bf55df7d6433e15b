package engine

import (
	"context"
	"encoding/json"
	"time"
)

// saveEvery is how often what was learnt is stored. A crash loses that much; the metric store gives it back.
const saveEvery = 5 * time.Minute

func (e *Engine) saveLoop(ctx context.Context) {
	if e.store == nil {
		return
	}
	for {
		if !sleepUntil(ctx, time.Now().Add(saveEvery)) {
			return
		}
		e.saveAll(false)
		if err := e.store.prune(time.Now()); err != nil {
			e.log.Warn("old records cannot be removed from the store", "error", err)
		}
	}
}

// Save stores what was learnt. [Engine.Run] does it by itself.
func (e *Engine) Save() { e.saveAll(true) }

// saveBatch bounds a transaction, and with it the memory it takes.
const saveBatch = 500

// saveAll stores what was learnt; the predictors only once an hour, except at the end.
func (e *Engine) saveAll(final bool) {
	if e.store == nil {
		return
	}
	now := time.Now()
	used := map[*forecast]bool{}
	all := map[string]saved{}
	flush := func() {
		err := e.store.save(all, now)
		e.metrics.saved("state", err)
		if err != nil {
			e.log.Error("what was learnt cannot be stored; a restart reads it from the metric store", "error", err)
		}
		clear(all)
	}
	for _, s := range e.services.list() {
		s.mu.Lock()
		state, valid := s.state, s.state.Valid
		used[s.forecast] = true
		if r := s.received.Load(); r != nil { // newer than the own one, which is of an earlier time as leader
			state, _ = e.receivedState(s, r)
			valid = state.Valid
		}
		s.mu.Unlock()
		if valid {
			all[s.id] = saved{state: &state}
		}
		if len(all) >= saveBatch {
			flush()
		}
	}
	e.forecasts.keep(used)
	for id, bytes := range e.forecasts.unsaved(now, final) {
		all[id] = saved{forecast: bytes}
		if len(all) >= saveBatch {
			flush()
		}
	}
	flush()
	e.saveLinks(now)
}

// saveLinks stores what was learnt of nodes.
func (e *Engine) saveLinks(now time.Time) {
	n, ok := e.computes(e.clock())
	if !ok {
		return
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = e.store.putShared(computesKey, text, now)
	}
	e.metrics.saved("state", err)
	if err != nil {
		e.log.Error("the boot times of node groups cannot be stored; a restart learns them again", "error", err)
	}
}

// restoreLinks takes up what an earlier process on this data directory has learnt of nodes.
func (e *Engine) restoreLinks() {
	var n computesNote
	if e.store.getShared(computesKey, func(text []byte, _ time.Time) error { return decodeNote(text, &n, &n.Version) }) {
		e.hearsay.computed = n
	}
}
