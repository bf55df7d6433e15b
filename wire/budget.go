package wire

import "sync/atomic"

// Budget bounds what all requests that are read at one time may hold together, in bytes. A nil one bounds nothing.
type Budget struct {
	limit int64
	held  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Held is how many bytes are taken now.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// Return gives back what a request held, [Stats.Held], once nobody uses it any more.
func (b *Budget) Return(bytes int64) {
	if b != nil {
		b.held.Add(-bytes)
	}
}

func (b *Budget) take(bytes int64) bool {
	if b == nil || b.held.Add(bytes) <= b.limit {
		return true
	}
	b.held.Add(-bytes)
	return false
}

// About what things take in memory besides their text, rounded up: an object with its empty parts, an option, a pod that is
// listed in an option, and a kept field, which may become an entry of a map or a term of an affinity.
const (
	objectSize = 512
	optionSize = 256
	entrySize  = 16
	fieldSize  = 160
)

// hold counts bytes that the request needs from now on.
func (d *decoder) hold(bytes int) error {
	if d.held += int64(bytes); d.held > int64(d.limits.Held) {
		return beyond("bytes to hold", d.limits.Held)
	}
	if !d.limits.Budget.take(int64(bytes)) {
		d.held -= int64(bytes)
		return beyond("bytes to hold for all requests together: try again", int(d.limits.Budget.limit))
	}
	return nil
}

// drop gives back bytes that are no longer needed.
func (d *decoder) drop(bytes int64) {
	d.held -= bytes
	d.limits.Budget.Return(bytes)
}
