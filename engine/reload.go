package engine

import (
	"errors"

	"github.com/warmpool/warmpool/config"
)

// Reload puts a configuration into force. Each service takes it up at its next evaluation, with everything it has
// learnt; a trigger that no longer resolves is refused until a later configuration knows it again. Calls meanwhile get
// the last answer. A configuration that could not be loaded is never passed here: report that to [Engine.ReloadFailed].
func (e *Engine) Reload(c *config.Config) error {
	if c == nil {
		return errors.New("engine: no configuration to reload")
	}
	// Compiled before the lock is taken: many triggers take a second, and nothing new is known or evaluated meanwhile.
	ready := map[*service]recompiled{}
	for _, s := range e.services.list() {
		if s.trigger != nil {
			ready[s] = recompile(c, s)
		}
	}
	e.membership.Lock()
	defer e.membership.Unlock()
	e.config.Store(c)
	e.reloadFailing.Store(false)
	e.adopt(c)
	for _, s := range e.services.list() {
		if s.trigger == nil {
			continue
		}
		next, ok := ready[s]
		if !ok { // it came since
			next = recompile(c, s)
		}
		if next.err != nil {
			s.broken.Store(&next.err)
			e.log.Warn("a trigger no longer resolves", "service", s.id, "error", next.err)
			continue
		}
		s.next.Store(next.service)
		s.broken.Store(nil)
	}
	e.metrics.loaded(c)
	return nil
}

// recompiled is a trigger under a configuration, or why it no longer resolves.
type recompiled struct {
	service *config.Service
	err     error
}

func recompile(c *config.Config, s *service) recompiled {
	compiled, err := compile(c, *s.trigger)
	return recompiled{compiled, err}
}

// ReloadFailed counts a configuration that could not be loaded; the one in force stays.
func (e *Engine) ReloadFailed() {
	e.reloadFailing.Store(true)
	e.metrics.reloadFailed()
}

// adopt makes the configured services those of c. The caller holds membership.
func (e *Engine) adopt(c *config.Config) {
	known := map[string]bool{}
	for i := range c.Services {
		compiled := &c.Services[i]
		if compiled.Policy.Namespace == "" {
			continue // its queries need the namespace of a trigger
		}
		id := compiled.Policy.Namespace + "/" + compiled.Policy.Name
		known[id] = true
		if s, ok := e.services.get(id); ok {
			s.next.Store(compiled)
			continue
		}
		s := newService(id, compiled)
		s.forecast = e.forecasts.of(compiled)
		e.services.add(s)
	}
	for _, s := range e.services.list() {
		if s.trigger == nil && !known[s.id] {
			e.services.remove(s)
		}
	}
}

// inherit lets a new trigger start with what the configured service of the same name has learnt, and with its answer
// if the policy is the same. The caller holds membership; s is not known to others yet.
func (e *Engine) inherit(s *service) {
	s.forecast = e.forecasts.of(s.compiled)
	from, ok := e.services.get(s.configured())
	if !ok || from.trigger != nil || !from.mu.TryLock() {
		return
	}
	defer from.mu.Unlock()
	line := from.entry.Load()
	if line == nil || e.clock().Sub(line.decision.Time) > 2*e.config.Load().EvaluationInterval {
		return // it has not been evaluated lately; its state would be an old one
	}
	s.state, s.rebuilt, s.evaluated = from.state, from.rebuilt, from.evaluated
	if from.compiled.Policy.Hash == s.compiled.Policy.Hash {
		s.entry.Store(line)
	}
}
