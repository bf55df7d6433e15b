package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/warmpool/warmpool/config"
)

// Trigger is one trigger of a scaled object, as KEDA sends it with every call.
type Trigger struct {
	Namespace, ScaledObject string
	Metadata                map[string]string
}

// connectionKeys are in the metadata for KEDA itself; they do not make another trigger.
var connectionKeys = []string{"scalerAddress", "enableTLS", "unsafeSsl"}

// key identifies a trigger by everything that can make a difference. Only a hash of the metadata is in it, because it
// may be shown.
func (t Trigger) key() string {
	names := make([]string, 0, 16)
	for name := range t.Metadata {
		if !slices.Contains(connectionKeys, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	text := make([]byte, 0, 512)
	for _, name := range names {
		text = appendSized(appendSized(text, name), t.Metadata[name])
	}
	hash := sha256.Sum256(text)
	return t.Namespace + "/" + t.ScaledObject + "/" + hex.EncodeToString(hash[:6])
}

// size is about the bytes that a trigger takes by itself.
func (t *Trigger) size() int { return len(t.Namespace) + len(t.ScaledObject) + textSize(t.Metadata) }

// checkNames refuses what cannot be the name of a Kubernetes object: namespace and object become parts of ids, of
// queries and of messages. The names themselves are not repeated.
func (t Trigger) checkNames() error {
	if !objectName(t.Namespace, 63) {
		return fmt.Errorf("%w: the namespace of the scaled object is not a Kubernetes name", ErrInvalidTrigger)
	}
	if !objectName(t.ScaledObject, 253) {
		return fmt.Errorf("%w: the name of the scaled object is not a Kubernetes name", ErrInvalidTrigger)
	}
	return nil
}

// objectName tells whether a name has the characters of a DNS name, of which the API server makes sure for real objects.
func objectName(name string, longest int) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= longest
}

// appendSized adds the length before the text, so that no two maps give the same bytes.
func appendSized(to []byte, text string) []byte {
	to = strconv.AppendInt(to, int64(len(text)), 10)
	return append(append(to, ':'), text...)
}

// Resolve returns the id of the trigger's service, from configuration and metadata alone. Its last element, after the
// last slash, is the service's name. A trigger that was not known is remembered and evaluated within the activation
// interval.
func (e *Engine) Resolve(t Trigger) (string, error) {
	if s, ok := e.services.quick.get(&t); ok {
		return e.resolved(s)
	}
	if err := t.checkNames(); err != nil {
		return "", err
	}
	key := t.key()
	if s, ok := e.services.trigger(key); ok {
		return e.resolved(s)
	}
	// Compiled outside the lock: metadata of strangers must not hold up the others, nor thousands of triggers each other
	// when all of them come at once, after a start.
	c := e.config.Load()
	compiled, err := compile(c, t)
	if err != nil {
		return "", err
	}
	s, err := e.join(t, key, c, compiled)
	if err != nil {
		return "", err
	}
	return s.id, nil
}

// join makes a trigger known that was compiled with a configuration.
func (e *Engine) join(t Trigger, key string, with *config.Config, compiled *config.Service) (s *service, err error) {
	fresh := false
	defer func() {
		if fresh {
			e.log.Info("new trigger", "service", s.id)
			e.lockstep.asked()
		}
	}()
	e.membership.Lock()
	defer e.membership.Unlock()
	if s, ok := e.services.trigger(key); ok {
		return s, nil
	}
	if now := e.config.Load(); now != with { // it was reloaded meanwhile
		if compiled, err = compile(now, t); err != nil {
			return nil, err
		}
	}
	if err := e.services.room(t.Namespace, t.size(), e.limits); err != nil {
		return nil, err
	}
	s = newService(key+"/"+compiled.Policy.Name, compiled)
	s.trigger, s.key = &Trigger{t.Namespace, t.ScaledObject, maps.Clone(t.Metadata)}, key
	s.touch(e.clock())
	e.inherit(s)
	e.services.add(s)
	fresh = true
	return s, nil
}

// resolved answers for a trigger that is known.
func (e *Engine) resolved(s *service) (string, error) {
	s.touch(e.clock())
	if broken := s.broken.Load(); broken != nil && !e.served(s) {
		return "", *broken
	}
	return s.id, nil
}

func compile(c *config.Config, t Trigger) (*config.Service, error) {
	s, err := c.ServiceFromMetadata(t.Namespace, t.ScaledObject, t.Metadata)
	switch {
	case err == nil:
		return compact(s), nil
	case errors.Is(err, config.ErrUnknownService):
		return nil, fmt.Errorf("%w: %w", ErrUnknownService, err)
	default:
		return nil, fmt.Errorf("%w: %w", ErrInvalidTrigger, err)
	}
}

// compact keeps of a compiled trigger what an evaluation needs, and equal parts once: with 10,000 triggers the rest is
// most of the memory, which the garbage collector walks through again and again.
func compact(s config.Service) *config.Service {
	s.Queries = slices.Clone(s.Queries)
	for i := range s.Queries {
		q := &s.Queries[i]
		q.Alone = ""
		if first := &s.Queries[0]; maps.Equal(first.Match, q.Match) {
			q.Match = first.Match
		}
	}
	if s.Forecast.Rate == nil {
		s.Forecast = config.ForecastSettings{Mode: s.Forecast.Mode}
	}
	return &s
}
