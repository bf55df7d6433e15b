package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/expander"
)

// HistoryName is the name of the ConfigMap in which the instances share what the expander has learnt.
const HistoryName = "warmpool-failure-memory"

const (
	historyKey = "history.json"
	// damagedKey holds what could not be read, for people to look at.
	damagedKey = "damaged"
)

// History keeps what the expander has learnt in one ConfigMap that all instances write to. It implements
// engine.HistoryStore and engine.SharedHistory: nobody waits for the API server, [History.Run] does.
type History struct {
	shared *sharedMap
	log    *slog.Logger

	mu sync.Mutex
	// stored is what the ConfigMap was last seen to hold, text how that is written there; read is set after the first look.
	stored expander.History
	text   string
	read   bool
	// news is set when others have written something that was not told yet.
	news bool
	// revision counts the changes of stored.
	revision uint64
	// damaged is why the content could not be read, until it was told; aside is that content, until it is kept aside.
	damaged error
	aside   string
	// newer is set while a later version of the program has written it: then it is left alone.
	newer bool
	// waiting is what is to be written.
	waiting *expander.History
}

// NewHistory uses the ConfigMap [HistoryName] in the program's own namespace. log may be nil.
func NewHistory(clients *Clients, log *slog.Logger) *History {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &History{log: log}
	h.shared = newSharedMap(clients, HistoryName, h)
	return h
}

var errNotRead = errors.New("the ConfigMap " + HistoryName + " has not been read yet")

// Load returns what was read last; it fails until there was an answer, and once with an error that tells of damaged
// content.
func (h *History) Load(context.Context) (expander.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.read {
		if err := h.shared.failure(); err != nil {
			return expander.History{}, fmt.Errorf("%w: %w", errNotRead, err)
		}
		return expander.History{}, errNotRead
	}
	if cause := h.damaged; cause != nil {
		h.damaged = nil
		return expander.History{}, damagedError{cause}
	}
	h.news = false
	return h.stored, nil
}

// Save takes a history to be written soon. The error is that of the last attempt to reach the
// ConfigMap, which is repeated.
func (h *History) Save(_ context.Context, history expander.History) (expander.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = &history
	h.shared.soon()
	return history, h.shared.failure()
}

// News returns what others have written since the last call.
func (h *History) News() (expander.History, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.news || !h.read {
		return expander.History{}, false
	}
	h.news = false
	return h.stored, true
}

// Peek returns what the ConfigMap was last seen to hold, and a number that is another one when it holds something else.
// It takes no news away from [History.News].
func (h *History) Peek() (history expander.History, revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stored, h.revision
}

// Run reads and writes until ctx ends, then writes what is left.
func (h *History) Run(ctx context.Context) { h.shared.run(ctx) }

// take reads the content; what this instance wrote itself is no news.
func (h *History) take(stored *corev1.ConfigMap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var text string
	if stored != nil {
		text = stored.Data[historyKey]
	}
	if h.read && text == h.text {
		return
	}
	h.text, h.news, h.read = text, h.read, true
	h.revision++
	h.aside, h.newer = "", false
	history, err := decodeHistory(text)
	h.stored = history
	switch {
	case errors.Is(err, errNewer):
		h.newer = true
		h.log.Warn("what the expander has learnt was written by a later version; it is left alone", "error", err)
	case err != nil:
		h.damaged, h.aside = err, bounded(text, mostDamagedBytes)
		h.log.Error("what the expander had learnt cannot be read; it is kept aside", "configmap", HistoryName, "key", damagedKey, "error", err)
	}
}

// merge joins what is waiting with what others have stored.
func (h *History) merge(into *corev1.ConfigMap) (written func(), err error) {
	h.mu.Lock()
	waiting, stored, aside, newer := h.waiting, h.stored, h.aside, h.newer
	h.mu.Unlock()
	if waiting == nil || newer {
		return nil, errNothingWaits
	}
	text, joined, err := encodeHistory(expander.MergeHistory(stored, *waiting), mostHistoryBytes)
	if err != nil {
		return nil, err
	}
	if into.Data == nil {
		into.Data = map[string]string{}
	}
	into.Data[historyKey] = text
	if aside != "" {
		into.Data[damagedKey] = aside
	}
	return func() { h.done(waiting, joined, text) }, nil
}

// done takes back what was waiting unless there is something newer.
func (h *History) done(written *expander.History, joined expander.History, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text != h.text {
		h.stored, h.text, h.aside = joined, text, ""
		h.revision++
	}
	if h.waiting == written {
		h.waiting = nil
	}
}

func (h *History) tell(problem error) {
	if problem == nil {
		h.log.Info("what the expander has learnt is shared again", "configmap", HistoryName)
		return
	}
	h.log.Warn("what the expander has learnt cannot be shared for now; memory serves", "error", problem)
}

// What other instances have answered, for the stall watch. A nil History knows nothing.

func (h *History) seen() (history expander.History) {
	if h != nil {
		history, _ = h.Peek()
	}
	return history
}

func (h *History) lastAsked(uid string) time.Time { return h.seen().Pods[uid].LastSeen }

func (h *History) lastCall() (at time.Time) {
	for _, p := range h.seen().Pods {
		at = later(at, p.LastSeen)
	}
	return at
}

func (h *History) lastChoice() (at time.Time) {
	for _, c := range h.seen().Choices {
		at = later(at, c.At)
	}
	return at
}
