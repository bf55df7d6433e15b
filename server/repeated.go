package server

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// During an outage every call fails in the same way; after the first few, one line in a while says enough.
const (
	firstLines = 5
	lineEvery  = 10 * time.Second
)

// repeated thins out the lines about failures that repeat. Its keys are method and code, so their number is bounded by
// the protocols. The zero value is ready for use.
type repeated struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	sometimes rate.Sometimes
	left      int
}

// admit tells whether a line is due, and how many of its kind were left out since the last one.
func (r *repeated) admit(key string) (left int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.lines = map[string]*line{}
	}
	l := r.lines[key]
	if l == nil {
		l = &line{sometimes: rate.Sometimes{First: firstLines, Interval: lineEvery}}
		r.lines[key] = l
	}
	l.sometimes.Do(func() { due = true })
	if !due {
		l.left++
		return 0, false
	}
	left, l.left = l.left, 0
	return left, true
}
