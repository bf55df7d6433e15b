package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/scaler"
)

// The halves that can be frozen.
const (
	HalfExpander = "expander"
	HalfScaler   = "scaler"
)

// Override is a change of a service's limits for a while that an operator ordered at run time. An entry of the
// configuration file that is in force wins: of a limit that both give, the file's counts.
type Override struct {
	ID string `json:"id"`
	// Service is NAME, for services of that name in every namespace, or NAMESPACE/NAME.
	Service string `json:"service"`
	// Min and Max are replicas; nil leaves that limit as it is.
	Min    *int      `json:"min,omitempty"`
	Max    *int      `json:"max,omitempty"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
	// Who ordered it, as far as the server knows, and At when it was last changed.
	Who string    `json:"who"`
	At  time.Time `json:"at"`
	// Cleared overrides no longer count. They are kept until their end, so that no other instance brings them back.
	Cleared bool `json:"cleared,omitempty"`
}

// Freeze is the switch of one half: the expander keeps every option, the scaler holds every target. A freeze in the
// configuration file holds whatever this says.
type Freeze struct {
	Half   string    `json:"half"`
	On     bool      `json:"on"`
	Reason string    `json:"reason"`
	Who    string    `json:"who"`
	At     time.Time `json:"at"`
}

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
	// longestOverride bounds an override that somebody forgets.
	longestOverride = 31 * 24 * time.Hour
	longestReason   = 500
	longestService  = 317 // a namespace of 63 and a name of 253
	mostReplicas    = 100_000
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

// SetOverride orders an override from From, now if zero, to To. Of overrides of one service that overlap, the one that
// was ordered last counts. It fails with [ErrInvalidOperation], or because the order cannot be stored; then nothing has
// changed.
func (e *Engine) SetOverride(o Override) (Override, error) {
	now := e.clock().UTC()
	if o.From.IsZero() {
		o.From = now
	}
	if err := o.check(now); err != nil {
		return o, err
	}
	err := e.operations.change(now, func(all *Operations) error {
		if len(all.Overrides) >= mostOverrides {
			return fmt.Errorf("%w: %d overrides are known; clear some", ErrInvalidOperation, len(all.Overrides))
		}
		o.At, o.Cleared = now, false
		o.ID = newID(all.Overrides, now)
		all.merge(Operations{Overrides: []Override{o}})
		return nil
	})
	if err != nil {
		return o, err
	}
	e.operated(overrideRecord(o, "set"))
	return o, nil
}

// newID sorts by the time of making; ids of instances that make one in the same nanosecond do not matter in practice,
// and then the later of the two wins.
func newID(known []Override, now time.Time) string {
	for n := uint64(max(0, now.UnixNano())); ; n++ {
		id := fmt.Sprintf("%016x", n)
		if !slices.ContainsFunc(known, func(o Override) bool { return o.ID == id }) {
			return id
		}
	}
}

func (o *Override) check(now time.Time) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	namespace, name, both := strings.Cut(o.Service, "/")
	if o.Service == "" || both && (namespace == "" || name == "" || strings.Contains(name, "/")) {
		wrong("service must be NAME or NAMESPACE/NAME")
	}
	if len(o.Service) > longestService {
		wrong("service is longer than %d bytes", longestService)
	}
	if o.Min == nil && o.Max == nil {
		wrong("it changes nothing: give min, max or both")
	}
	for _, limit := range []struct {
		name  string
		value *int
	}{{"min", o.Min}, {"max", o.Max}} {
		if limit.value != nil && (*limit.value < 0 || *limit.value > mostReplicas) {
			wrong("%s is %d: it must be from 0 to %d", limit.name, *limit.value, mostReplicas)
		}
	}
	if o.Min != nil && o.Max != nil && *o.Min > *o.Max {
		wrong("min is above max (%d > %d)", *o.Min, *o.Max)
	}
	errs = append(errs, o.checkEnd(now), checkReason(o.Reason))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidOperation, err)
	}
	return nil
}

func (o *Override) checkEnd(now time.Time) error {
	switch {
	case o.To.IsZero():
		return errors.New("to is required: an override ends by itself")
	case !o.To.After(now):
		return errors.New("to is over: it must be after now")
	case !o.To.After(o.From):
		return errors.New("to must be after from")
	case o.To.Sub(now) > longestOverride:
		return fmt.Errorf("to is more than %v ahead: change the limits of the service in the configuration instead", longestOverride)
	}
	return nil
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

// ClearOverride ends an override by its id.
func (e *Engine) ClearOverride(id, who, reason string) (Override, error) {
	now := e.clock().UTC()
	var cleared Override
	err := e.operations.change(now, func(all *Operations) error {
		i := slices.IndexFunc(all.Overrides, func(o Override) bool { return o.ID == id && !o.Cleared && now.Before(o.To) })
		if i < 0 {
			return fmt.Errorf("%w %q: the list shows those that are in force or to come", ErrUnknownOverride, id)
		}
		o := &all.Overrides[i]
		o.Cleared, o.Who, o.At = true, who, later(now, o.At)
		if reason != "" {
			o.Reason = reason
		}
		cleared = *o
		return nil
	})
	if err != nil {
		return cleared, err
	}
	e.operated(overrideRecord(cleared, "cleared"))
	return cleared, nil
}

// SetFreeze switches the freeze of a half on or off.
func (e *Engine) SetFreeze(f Freeze) (Freeze, error) {
	now := e.clock().UTC()
	if f.Half != HalfExpander && f.Half != HalfScaler {
		return f, fmt.Errorf("%w: half %q must be expander or scaler", ErrInvalidOperation, f.Half)
	}
	if err := checkReason(f.Reason); err != nil {
		return f, fmt.Errorf("%w: %w", ErrInvalidOperation, err)
	}
	err := e.operations.change(now, func(all *Operations) error {
		f.At = now
		if i := slices.IndexFunc(all.Freezes, func(o Freeze) bool { return o.Half == f.Half }); i >= 0 {
			f.At = later(now, all.Freezes[i].At)
		}
		all.merge(Operations{Freezes: []Freeze{f}})
		return nil
	})
	if err != nil {
		return f, err
	}
	e.operated(freezeRecord(f))
	return f, nil
}

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

func overrideRecord(o Override, what string) decisions.Operation {
	limit := func(n *int) string {
		if n == nil {
			return "as it is"
		}
		return fmt.Sprint(*n)
	}
	return decisions.Operation{
		Time: o.At, Action: "override-" + what, Subject: o.Service, Who: o.Who, Reason: o.Reason, ID: o.ID,
		Detail: fmt.Sprintf("min %s, max %s, %s to %s", limit(o.Min), limit(o.Max), o.From.UTC().Format(time.RFC3339), o.To.UTC().Format(time.RFC3339)),
	}
}

func freezeRecord(f Freeze) decisions.Operation {
	action := "freeze-off"
	if f.On {
		action = "freeze-on"
	}
	return decisions.Operation{Time: f.At, Action: action, Subject: f.Half, Who: f.Who, Reason: f.Reason}
}

// overrideAt joins the override of the configuration file and the last one that was ordered at run time. Each limit is
// the file's if it gives one.
func (e *Engine) overrideAt(s *service, now time.Time) *scaler.Override {
	file := s.compiled.OverrideAt(now)
	var ordered *Override
	all := e.operations.current.Load()
	for i := range all.Overrides {
		o := &all.Overrides[i]
		if o.Cleared || now.Before(o.From) || !now.Before(o.To) || !o.concerns(s.compiled.Policy.Namespace, s.compiled.Policy.Name) {
			continue
		}
		if ordered == nil || cmp.Or(o.At.Compare(ordered.At), strings.Compare(o.ID, ordered.ID)) > 0 {
			ordered = o
		}
	}
	switch {
	case ordered == nil:
		return file
	case file == nil:
		return &scaler.Override{Min: ordered.Min, Max: ordered.Max, From: ordered.From, To: ordered.To, Reason: ordered.Reason}
	}
	joined := *file
	if joined.Min == nil {
		joined.Min = ordered.Min
	}
	if joined.Max == nil {
		joined.Max = ordered.Max
	}
	if joined.Min != nil && joined.Max != nil && *joined.Min > *joined.Max {
		return file // what was ordered contradicts the file
	}
	joined.From, joined.To = latest(file.From, ordered.From), earliest(file.To, ordered.To)
	joined.Reason = file.Reason + "; " + ordered.Reason
	return &joined
}

func (o *Override) concerns(namespace, name string) bool {
	rest, ok := strings.CutSuffix(o.Service, name)
	return ok && (rest == "" || rest == namespace+"/")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// frozen tells whether a half is frozen, by the configuration file or by an operator, and why.
func (e *Engine) frozen(half string) (on bool, reason string) {
	file := e.config.Load().Freeze
	if half == HalfExpander && file.Expander || half == HalfScaler && file.Scaler {
		on, reason = true, file.Reason
	}
	for _, f := range e.operations.current.Load().Freezes {
		if f.Half == half && f.On {
			on = true
			if reason == "" {
				reason = f.Reason
			}
		}
	}
	return on, reason
}
