package engine

import (
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// Situation is everything that one choice of a node group depended on but the configuration. Given to
// [expander.Select] with the same policy it gives the same decision; with another policy it answers "what if".
type Situation struct {
	At      time.Time        `json:"at"`
	Request expander.Request `json:"request"`
	View    expander.View    `json:"view"`
	History expander.History `json:"history"`
}

const (
	// keptSituations is how many choices can be replayed, and keptPods how many pods, options and templates they hold
	// together: a request of a large cluster takes the place of many small ones.
	keptSituations = 256
	keptPods       = 20_000
)

// situations are the newest ones by the id of their decision. The parts are immutable.
type situations struct {
	mu     sync.Mutex
	ids    []string
	byID   map[string]Situation
	weight int
}

func weightOf(s *Situation) int {
	return 1 + len(s.Request.Pods) + len(s.Request.Options) + len(s.Request.Groups)
}

func (k *situations) add(id string, s Situation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]Situation{}
	}
	k.ids = append(k.ids, id)
	k.byID[id] = s
	k.weight += weightOf(&s)
	for len(k.ids) > 1 && (len(k.ids) > keptSituations || k.weight > keptPods) {
		old := k.byID[k.ids[0]]
		k.weight -= weightOf(&old)
		delete(k.byID, k.ids[0])
		k.ids = k.ids[1:]
	}
}

// Situation returns what a recorded choice of a node group depended on, by the id of its record. Only the newest ones
// are kept.
func (e *Engine) Situation(id string) (Situation, bool) {
	e.situations.mu.Lock()
	defer e.situations.mu.Unlock()
	s, ok := e.situations.byID[id]
	return s, ok
}
