package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// Notes carry between instances what only one of the halves sees: the Cluster Autoscaler asks one of them, another one
// computes the targets. Of a key the last writer counts. Neither method waits for a server.
type Notes interface {
	Put(key string, text []byte)
	// Get returns the stored text of a key, and a number that is another one when it is another text; nil and 0 without one.
	Get(key string) (text []byte, revision uint64)
}

// HistoryPeeker is a [SharedHistory] that can be looked at without taking in its news.
type HistoryPeeker interface {
	// Peek returns the stored history, and a number that is another one when it is another history.
	Peek() (history expander.History, revision uint64)
}

// A GroupObserver is a [Cluster] that learns from the node templates which another instance was asked with.
type GroupObserver interface {
	ObserveGroups(policy *expander.Policy, groups []expander.Group, now time.Time)
}

// The keys of the notes: what the instance tells that was asked by the Cluster Autoscaler, and the one that computes.
const (
	asksKey     = "asks"
	computesKey = "computes"
	// noteVersion is that of both; a later one is not read.
	noteVersion = 1
	// repeatAfter is how often a note whose age counts is written again, staleNote how old one may be to go on from,
	// restateAfter the least time between two lists of templates that differ in details.
	repeatAfter  = time.Minute
	staleNote    = 10 * time.Minute
	restateAfter = time.Minute
)

// asksNote is what the last request told about node groups.
type asksNote struct {
	Version int              `json:"version"`
	At      time.Time        `json:"at"`
	Groups  []expander.Group `json:"groups"`
}

// computesNote is what the evaluations have learnt and found.
type computesNote struct {
	Version int         `json:"version"`
	At      time.Time   `json:"at"`
	Late    []link.Late `json:"late,omitempty"`
	Boots   link.Boots  `json:"boots,omitempty"`
	// Services are what is remembered of those of which anything is.
	Services map[string]memory `json:"services,omitempty"`
}

// memory is what the rules remember of one service.
type memory struct {
	Suspects link.SuspectState `json:"suspects,omitzero"`
	Ceiling  link.CeilingState `json:"ceiling,omitzero"`
	Swap     link.SwapState    `json:"swap,omitzero"`
}

func (m *memory) empty() bool {
	return m.Suspects.Since.IsZero() && len(m.Suspects.Counted) == 0 && m.Ceiling.Since.IsZero() &&
		m.Swap.Since.IsZero() && m.Swap.Trial == "" && m.Swap.Paused.IsZero()
}

// hearsay is what other instances told, and what was told to them.
type hearsay struct {
	notes Notes
	mu    sync.Mutex
	// asked and computed are the newest notes, asks and computes their revisions.
	asks, computes uint64
	asked          asksNote
	computed       computesNote
	// joined is the own last request with what others know, made from what basis says.
	joined *placed
	basis  basis
	// told is the last request that was told of, at toldAt; toldComputes the last note that was written.
	told           *placed
	toldAt         time.Time
	toldIDs        string
	toldComputes   []byte
	toldComputesAt time.Time
}

// basis is what a joined request was made from.
type basis struct {
	own           *placed
	policy        *expander.Policy
	history, asks uint64
}

var errLaterNote = errors.New("a later version of the program wrote it")

func decodeNote(text []byte, into any, version *int) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	if *version > noteVersion {
		return fmt.Errorf("%w: version %d", errLaterNote, *version)
	}
	return nil
}

// lastPlaced is the outcome of the last request of any instance, as far as it is shared: its node groups, and the history that
// all of them have. It is the own one for a single instance.
func (e *Engine) lastPlaced() *placed {
	own := e.placement.last.Load()
	h := &e.hearsay
	h.mu.Lock()
	defer h.mu.Unlock()
	peeker, _ := e.placement.store.(HistoryPeeker)
	var shared expander.History
	var revision uint64
	if peeker != nil {
		shared, revision = peeker.Peek()
	}
	e.hearAsks()
	from := basis{own, e.config.Load().Expander, revision, h.asks}
	if h.joined != nil && h.basis == from {
		return h.joined
	}
	h.basis = from
	next := &placed{}
	if own != nil {
		*next = *own
	}
	if peeker != nil {
		next.history = expander.MergeHistory(next.history, shared)
	}
	if len(h.asked.Groups) > 0 && (own == nil || h.asked.At.After(own.decision.Time)) {
		next.groups = h.asked.Groups
		if own == nil {
			next.decision.Time = h.asked.At
		}
		if observer, ok := e.cluster.(GroupObserver); ok {
			observer.ObserveGroups(from.policy, next.groups, e.clock())
		}
	}
	h.joined = next
	return next
}

// hearAsks reads the note of the instance that was asked. The caller holds hearsay.mu.
func (e *Engine) hearAsks() {
	h := &e.hearsay
	if h.notes == nil {
		return
	}
	text, revision := h.notes.Get(asksKey)
	if revision == h.asks || len(text) == 0 {
		return
	}
	h.asks = revision
	var n asksNote
	if err := decodeNote(text, &n, &n.Version); err != nil {
		e.log.Warn("what another instance was asked cannot be read", "error", err)
		return
	}
	h.asked = n
}

// heard is the newest note of the instance that computes.
func (e *Engine) heard() computesNote {
	h := &e.hearsay
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notes == nil {
		return h.computed
	}
	text, revision := h.notes.Get(computesKey)
	if revision == h.computes || len(text) == 0 {
		return h.computed
	}
	h.computes = revision
	var n computesNote
	if err := decodeNote(text, &n, &n.Version); err != nil {
		e.log.Warn("what another instance has found cannot be read", "error", err)
		return h.computed
	}
	h.computed = n
	return n
}

// tellAsks tells the others of the node groups of the own last request, if they are other ones. Templates are made from
// one node or the other and differ in details from request to request: those alone are told of once a minute.
func (e *Engine) tellAsks(at time.Time) {
	h := &e.hearsay
	own := e.placement.last.Load()
	if h.notes == nil || own == nil || len(own.groups) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == own {
		return
	}
	groups := slices.Clone(own.groups)
	slices.SortFunc(groups, func(a, b expander.Group) int { return cmp.Compare(a.ID, b.ID) })
	named := make([]string, len(groups))
	for i := range groups {
		named[i] = groups[i].ID
	}
	ids := strings.Join(named, "\n")
	if ids == h.toldIDs && at.Sub(h.toldAt) < restateAfter {
		return
	}
	e.hearAsks()
	h.told, h.toldAt, h.toldIDs = own, at, ids
	before, _ := json.Marshal(h.asked.Groups)
	if now, err := json.Marshal(groups); err != nil || bytes.Equal(before, now) {
		return
	}
	text, err := json.Marshal(asksNote{noteVersion, own.decision.Time, groups})
	if err != nil {
		e.log.Error("the node groups cannot be told to other instances", "error", err)
		return
	}
	h.notes.Put(asksKey, text)
}

// tellComputes tells the others, and a later self, what the evaluations found: when it changed, and once a minute while
// there is something that must not get old. Only an instance that evaluates triggers has anything to tell.
func (e *Engine) tellComputes(at time.Time) {
	h := &e.hearsay
	if h.notes == nil || !e.Leading() {
		return
	}
	n, ok := e.computes(at)
	if !ok {
		return
	}
	text, err := json.Marshal(n)
	if err != nil {
		e.log.Error("what was found cannot be told to other instances", "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sameButForTime(n) && (len(n.Services) == 0 || at.Sub(h.toldComputesAt) < repeatAfter) {
		return
	}
	h.toldComputes, h.toldComputesAt = text, at
	h.notes.Put(computesKey, text)
}

// sameButForTime compares with what was told last.
func (h *hearsay) sameButForTime(n computesNote) bool {
	if h.toldComputes == nil {
		return false
	}
	n.At = h.toldComputesAt
	text, err := json.Marshal(n)
	return err == nil && bytes.Equal(text, h.toldComputes)
}

// computes is the note of this instance; false while it evaluates no service with replicas.
func (e *Engine) computes(at time.Time) (computesNote, bool) {
	l := &e.links
	l.mu.Lock()
	defer l.mu.Unlock()
	n := computesNote{Version: noteVersion, At: at, Boots: l.boots}
	linked := false
	for _, id := range slices.Sorted(maps.Keys(l.byID)) {
		one := l.byID[id]
		linked = linked || !one.at.IsZero()
		for _, late := range one.late {
			if !slices.ContainsFunc(n.Late, func(l link.Late) bool { return l.Attempt == late.Attempt }) {
				n.Late = append(n.Late, late)
			}
		}
		if m := one.memory; !m.empty() {
			if n.Services == nil {
				n.Services = map[string]memory{}
			}
			n.Services[id] = m
		}
	}
	return n, linked
}

// recollect gives a service that this instance has not evaluated, or not since it last began to compute, what the one
// before it remembered. The caller holds links.mu.
func (e *Engine) recollect(id string, one *linked, at time.Time) {
	e.lockstep.mu.RLock()
	epoch := e.lockstep.epoch
	e.lockstep.mu.RUnlock()
	if !one.at.IsZero() && one.epoch == epoch {
		return
	}
	again := !one.at.IsZero()
	one.epoch = epoch
	n := e.heard()
	if at.Sub(n.At) > staleNote {
		n.Services = nil
	}
	if m, ok := n.Services[id]; ok || again {
		one.memory = m
	}
}
