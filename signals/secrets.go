package signals

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// secrets are the values that requests carry. A server, or a proxy before it, may repeat them in an error or a warning, and
// both go into logs and decisions.
type secrets struct {
	mu    sync.Mutex
	known []string
}

const (
	// shortestSecret keeps tenant names such as "1" from blotting out every digit.
	shortestSecret = 6
	// keptSecrets is how many are remembered: tokens are replaced on disk about every hour.
	keptSecrets = 32
)

func (s *secrets) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) < shortestSecret || slices.Contains(s.known, v) {
			continue
		}
		if s.known = append(s.known, v); len(s.known) > keptSecrets {
			s.known = s.known[1:]
		}
	}
}

// hide replaces every secret in a text.
func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.known {
		text = strings.ReplaceAll(text, v, "***")
	}
	return text
}

// clean hides secrets in what an error says. It has to come before a text is cut, because a part of a secret is one too.
func (s *secrets) clean(e *Error) *Error {
	e.detail = s.hide(e.detail)
	if e.cause != nil {
		if text := e.cause.Error(); s.hide(text) != text {
			e.cause = errors.New(s.hide(text))
		}
	}
	return e
}
