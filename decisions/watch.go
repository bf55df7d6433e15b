package decisions

import (
	"context"
	"sync"
)

// watcherBuffer is how far a watcher may fall behind before it loses the oldest records.
const watcherBuffer = 256

// newQueue is a ring bounded by size too: a watcher that stands still holds what the log has long dropped.
func newQueue() *ring { return newRing(watcherBuffer) }

// Watcher receives records as they are added. It must be closed.
type Watcher struct {
	log    *Log
	filter Filter

	mu      sync.Mutex
	waiting *ring
	dropped uint64
	ended   bool
	// wake has room for one signal: the reader looks at everything that waits.
	wake chan struct{}
}

// Watch starts a watcher for the records that match, whatever Filter.Before and Limit say.
func (l *Log) Watch(f Filter) *Watcher {
	f.Before, f.Limit = "", 0
	w := &Watcher{log: l, filter: f, waiting: newQueue(), wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		w.ended = true
		return w
	}
	l.watchers[w] = struct{}{}
	return w
}

// offer hands a record over without waiting and returns how many were lost for it.
func (w *Watcher) offer(r Record) (lost uint64) {
	if !w.filter.Match(r) {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lost = w.waiting.add(r)
	w.dropped += lost
	w.signal()
	return lost
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.signal()
}

// Next waits for the next record. It also returns how many records were lost since the one before. The error is the
// context's, or [ErrClosed] when the log was closed and everything was read.
func (w *Watcher) Next(ctx context.Context) (r Record, dropped uint64, err error) {
	for {
		if r, dropped, ok, ended := w.take(); ok {
			return r, dropped, nil
		} else if ended {
			return Record{}, 0, ErrClosed
		}
		select {
		case <-ctx.Done():
			return Record{}, 0, ctx.Err()
		case <-w.wake:
		}
	}
}

func (w *Watcher) take() (r Record, dropped uint64, ok, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.count == 0 {
		return Record{}, 0, false, w.ended
	}
	r, dropped = w.waiting.at(0), w.dropped
	w.waiting.drop()
	w.dropped = 0
	return r, dropped, true, w.ended
}

// Close ends the watcher.
func (w *Watcher) Close() {
	w.log.mu.Lock()
	delete(w.log.watchers, w)
	w.log.mu.Unlock()
	w.end()
}
