package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/scaler"
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

const (
	// longestOverride bounds an override that somebody forgets.
	longestOverride = 31 * 24 * time.Hour
	longestService  = 317 // a namespace of 63 and a name of 253
	mostReplicas    = 100_000
)

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
