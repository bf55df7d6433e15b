package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/warmpool/warmpool/decisions"
)

// The halves that can be frozen.
const (
	HalfExpander = "expander"
	HalfScaler   = "scaler"
)

// Freeze is the switch of one half: the expander keeps every option, the scaler holds every target. A freeze in the
// configuration file holds whatever this says.
type Freeze struct {
	Half   string    `json:"half"`
	On     bool      `json:"on"`
	Reason string    `json:"reason"`
	Who    string    `json:"who"`
	At     time.Time `json:"at"`
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

func freezeRecord(f Freeze) decisions.Operation {
	action := "freeze-off"
	if f.On {
		action = "freeze-on"
	}
	return decisions.Operation{Time: f.At, Action: action, Subject: f.Half, Who: f.Who, Reason: f.Reason}
}
