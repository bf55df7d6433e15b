package engine

import (
	"fmt"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// Line is one service of the board, for lists.
type Line struct {
	// ID is what Resolve returns, or namespace/name for a configured service that no trigger refers to.
	ID string
	// ScaledObject is empty for a configured service.
	Namespace, ScaledObject string
	// Decision is nil before the first evaluation.
	Decision *scaler.Decision
}

// Target returns the last decision for a service. It fails with [ErrNoData] before the first evaluation and when the
// loop has stopped for so long that the decision is no longer safe to repeat. A decision may itself be without an
// answer, see [scaler.Decision].Unavailable.
func (e *Engine) Target(id string) (scaler.Decision, error) {
	s, ok := e.services.get(id)
	if !ok {
		return scaler.Decision{}, fmt.Errorf("%w: %s is not known any more; resolve it again", ErrUnknownService, id)
	}
	now := e.clock()
	s.touch(now)
	line := s.entry.Load()
	if line == nil {
		return scaler.Decision{}, fmt.Errorf("%w: %s has not been evaluated yet", ErrNoData, id)
	}
	if e.outOfTouch(now) {
		return scaler.Decision{}, fmt.Errorf("%w: another instance computes, and its board does not arrive", ErrNoData)
	}
	if age := now.Sub(line.decision.Time); line.expired(now) {
		return scaler.Decision{}, fmt.Errorf("%w: the last evaluation of %s is %v old", ErrNoData, id, age.Round(time.Second))
	}
	return line.decision, nil
}

// Changed returns a channel that is closed when the answer of a service next changes. Read it before the target, so
// that no change is missed. For a service that is not known it is never closed.
func (e *Engine) Changed(id string) <-chan struct{} {
	s, ok := e.services.get(id)
	if !ok {
		return nil
	}
	return s.changed()
}

// Board lists all services in the order of their ids. Decisions must not be changed.
func (e *Engine) Board() []Line {
	var lines []Line
	for _, s := range e.services.list() {
		lines = append(lines, lineOf(s))
	}
	return lines
}

func lineOf(s *service) Line {
	line := Line{ID: s.id}
	if s.trigger != nil {
		line.Namespace, line.ScaledObject = s.trigger.Namespace, s.trigger.ScaledObject
	} else {
		line.Namespace = namespaceOf(s.id)
	}
	if entry := s.entry.Load(); entry != nil {
		line.Decision = &entry.decision
	}
	return line
}
