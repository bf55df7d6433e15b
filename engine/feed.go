package engine

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// feed tells subscribers which lines of the board are new.
type feed struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
	// count spares every evaluation of a single instance the lock.
	count atomic.Int32
}

// changed notes a new entry of a service for all subscribers.
func (f *feed) changed(s *service) {
	if f.count.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub := range f.subs {
		sub.pending[s] = struct{}{}
		sub.notify()
	}
}

// poke wakes all subscribers: overrides or freezes are other ones, or a tick is over.
func (f *feed) poke() {
	if f.count.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub := range f.subs {
		sub.notify()
	}
}

// end ends all subscriptions: this instance no longer computes.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub := range f.subs {
		sub.over = true
		sub.notify()
	}
}

// Subscription follows the board of this instance.
type Subscription struct {
	engine *Engine
	wake   chan struct{}
	// pending and over are guarded by the feed.
	pending map[*service]struct{}
	over    bool
}

func (s *Subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Subscribe follows the board, from all that is on it. It fails with [ErrNotLeading] if this instance does not compute.
// The subscription must be closed.
func (e *Engine) Subscribe() (*Subscription, error) {
	s := &Subscription{engine: e, wake: make(chan struct{}, 1), pending: map[*service]struct{}{}}
	f := &e.lockstep.feed
	f.mu.Lock()
	if f.subs == nil {
		f.subs = map[*Subscription]struct{}{}
	}
	f.subs[s] = struct{}{}
	f.count.Store(int32(len(f.subs)))
	for _, one := range e.services.list() {
		s.pending[one] = struct{}{}
	}
	s.notify()
	f.mu.Unlock()
	if !e.Leading() { // looked at after joining: from here on the end is told
		s.Close()
		return nil, ErrNotLeading
	}
	return s, nil
}

// Close ends a subscription.
func (s *Subscription) Close() {
	f := &s.engine.lockstep.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
	f.count.Store(int32(len(f.subs)))
}

// Next waits until there is something new, at most for a time, and returns it, in the order of the ids. The update is
// without entries when nothing came. It fails with [ErrNotLeading] when this instance stops to compute.
func (s *Subscription) Next(ctx context.Context, atMost time.Duration) (Update, error) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Update{}, ctx.Err()
	case <-timer.C:
	case <-s.wake:
	}
	e := s.engine
	f := &e.lockstep.feed
	tick := e.LastTick() // before what is new: a tick is told of only with or after all of its entries
	f.mu.Lock()
	pending, over := s.pending, s.over
	s.pending = map[*service]struct{}{}
	f.mu.Unlock()
	if over {
		return Update{}, ErrNotLeading
	}
	u := Update{ConfigHash: e.config.Load().Hash, Tick: tick, Sent: e.clock()}
	e.lockstep.mu.RLock()
	u.Term = e.lockstep.term
	e.lockstep.mu.RUnlock()
	for _, one := range slices.SortedFunc(maps.Keys(pending), func(a, b *service) int { return strings.Compare(a.id, b.id) }) {
		if p, ok := e.published(one); ok {
			u.Entries = append(u.Entries, p)
		}
	}
	return u, nil
}

// published is a service as others get it; not ok before it was evaluated.
func (e *Engine) published(s *service) (p Published, ok bool) {
	line, now := s.entry.Load(), e.clock()
	if line == nil || line.expired(now) {
		return p, false
	}
	p = Published{ID: s.id, Trigger: s.trigger, Decision: line.decision, Keep: line.keep}
	if !line.until.IsZero() { // of the leader before this one
		p.Keep = line.until.Sub(now) + max(0, now.Sub(line.decision.Time))
	}
	if line.state != nil {
		text, err := json.Marshal(line.state)
		if err != nil {
			e.log.Error("the state of a service cannot be encoded; a new leader rebuilds it", "service", s.id, "error", err)
			return p, true
		}
		p.State = text
	}
	return p, true
}
