package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warmpool/warmpool/decisions"
)

// Operations is what operators ordered at run time.
type Operations struct {
	// Overrides are in the order of their ids, which is that of their making, Freezes in that of their halves.
	Overrides []Override `json:"overrides"`
	Freezes   []Freeze   `json:"freezes"`
}

// Operations that cannot be carried out.
var (
	// ErrInvalidOperation is an order that makes no sense; the error names every mistake.
	ErrInvalidOperation = errors.New("invalid operation")
	// ErrUnknownOverride means that there is no such override in force or to come.
	ErrUnknownOverride = errors.New("unknown override")
)

const (
	// mostOverrides bounds what is remembered and sent to other instances.
	mostOverrides = 1000
	longestReason = 500
)

// operations are those in force. Readers take the pointer; writers hold mu, and nothing counts before it is stored.
type operations struct {
	mu      sync.Mutex
	file    *OperationsFile
	current atomic.Pointer[Operations]
}

func (o *operations) init(file *OperationsFile, log *slog.Logger) error {
	o.file = file
	stored, err := file.load(log)
	if err != nil {
		return err
	}
	o.current.Store(&stored)
	return nil
}

// Operations returns what operators ordered; it must not be changed. Overrides that are over or cleared are left out.
func (e *Engine) Operations() Operations {
	now, all := e.clock(), e.operations.current.Load()
	out := Operations{Overrides: []Override{}, Freezes: slices.Clone(all.Freezes)}
	for _, o := range all.Overrides {
		if !o.Cleared && now.Before(o.To) {
			out.Overrides = append(out.Overrides, o)
		}
	}
	return out
}

// Persistent tells whether a restart keeps what operators ordered.
func (e *Engine) Persistent() bool { return e.operations.file != nil }

// later is now, or just after a time that is not before now: the newer of two orders has to count, whatever the clocks.
func later(now, than time.Time) time.Time {
	if now.After(than) {
		return now
	}
	return than.Add(1)
}

// MergeOperations takes what another instance knows. Of two versions of an order the later one counts, so that it does
// not matter in which order instances meet.
func (e *Engine) MergeOperations(other Operations) error {
	now := e.clock()
	changed := false
	err := e.operations.change(now, func(all *Operations) error {
		other.prune(now)
		changed = all.merge(other)
		if !changed {
			return errUnchanged
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err == nil {
		e.lockstep.feed.poke()
	}
	return err
}

var errUnchanged = errors.New("nothing new")

// AllOperations is everything that other instances have to know, cleared overrides included. It must not be changed and
// is another pointer after every change.
func (e *Engine) AllOperations() *Operations { return e.operations.current.Load() }

// change applies an order to a copy, stores it, and lets it count.
func (o *operations) change(now time.Time, apply func(*Operations) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.current.Load()
	next := Operations{Overrides: slices.Clone(last.Overrides), Freezes: slices.Clone(last.Freezes)}
	next.prune(now)
	if err := apply(&next); err != nil {
		return err
	}
	if err := o.file.save(next); err != nil {
		return err
	}
	o.current.Store(&next)
	return nil
}

// prune drops the overrides that are over.
func (o *Operations) prune(now time.Time) {
	o.Overrides = slices.DeleteFunc(o.Overrides, func(one Override) bool { return !now.Before(one.To) })
}

// merge joins two sets of orders and tells whether anything is new.
func (o *Operations) merge(other Operations) (changed bool) {
	for _, one := range other.Overrides {
		i, found := slices.BinarySearchFunc(o.Overrides, one, func(a, b Override) int { return strings.Compare(a.ID, b.ID) })
		switch {
		case found && one.At.After(o.Overrides[i].At):
			o.Overrides[i], changed = one, true
		case !found && len(o.Overrides) < mostOverrides:
			o.Overrides, changed = slices.Insert(o.Overrides, i, one), true
		}
	}
	for _, one := range other.Freezes {
		i, found := slices.BinarySearchFunc(o.Freezes, one, func(a, b Freeze) int { return strings.Compare(a.Half, b.Half) })
		switch {
		case found && one.At.After(o.Freezes[i].At):
			o.Freezes[i], changed = one, true
		case !found:
			o.Freezes, changed = slices.Insert(o.Freezes, i, one), true
		}
	}
	return changed
}

// operated makes an order count at once: it is recorded and sent to other instances.
func (e *Engine) operated(r decisions.Operation) {
	e.log.Info("operation", "action", r.Action, "subject", r.Subject, "who", r.Who, "reason", r.Reason)
	if e.decisions != nil {
		e.decisions.AddOperation(r)
	}
	e.lockstep.feed.poke()
	e.lockstep.asked()
}

func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("reason is required")
	case len(reason) > longestReason:
		return fmt.Errorf("reason is longer than %d bytes", longestReason)
	}
	return nil
}
