package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
)

// HistoryName is the name of the ConfigMap in which the instances share what the expander has learnt.
const HistoryName = "warmpool-failure-memory"

const (
	historyKey = "history.json"
	// damagedKey holds what could not be read, for people to look at.
	damagedKey = "damaged"

	// historyPoll is how often the ConfigMap is looked at, writeEvery the least time between two writes.
	historyPoll = 5 * time.Second
	writeEvery  = time.Second
	// flushTimeout bounds the last write at the end.
	flushTimeout = 3 * time.Second
	// mostConflicts is how often one write is tried again because another instance was faster.
	mostConflicts = 10
	// mostHistoryBytes and mostDamagedBytes keep the ConfigMap below its limit of 1 MiB.
	mostHistoryBytes = 700 << 10
	mostDamagedBytes = 200 << 10
)

// History keeps what the expander has learnt in one ConfigMap that all instances write to. It implements
// engine.HistoryStore and engine.SharedHistory: nobody waits for the API server, [History.Run] does.
type History struct {
	clients *Clients
	log     *slog.Logger
	wake    chan struct{}

	mu sync.Mutex
	// stored is what the ConfigMap was last seen to hold; object is nil while there is none.
	stored expander.History
	object *corev1.ConfigMap
	read   bool
	// news is set when others have written something that was not told yet.
	news bool
	// revision counts the changes of stored.
	revision uint64
	// damaged is why the content could not be read, until it was told.
	damaged error
	// newer is set while a later version of the program has written it: then it is left alone.
	newer bool
	// waiting is what is to be written, failure why the last write failed.
	waiting *expander.History
	failure error
}

// NewHistory uses the ConfigMap [HistoryName] in the program's own namespace. log may be nil.
func NewHistory(clients *Clients, log *slog.Logger) *History {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &History{clients: clients, log: log, wake: make(chan struct{}, 1)}
}

var errNotRead = errors.New("the ConfigMap " + HistoryName + " has not been read yet")

// damagedError is an error about content that cannot be read, see engine.IsCorrupt.
type damagedError struct{ cause error }

func (e damagedError) Error() string {
	return "the content of the ConfigMap " + HistoryName + " cannot be read and is kept under its key " + damagedKey + ": " + e.cause.Error()
}
func (e damagedError) Unwrap() error { return e.cause }

// Corrupt tells the engine that the content is lost, not out of reach.
func (damagedError) Corrupt() bool { return true }

// Load returns what was read last; it fails until there was an answer, and once with an error that tells of damaged
// content.
func (h *History) Load(context.Context) (expander.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.read {
		if h.failure != nil {
			return expander.History{}, fmt.Errorf("%w: %w", errNotRead, h.failure)
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

// Save takes a history to be written soon. The error is that of the last attempt to write, which is repeated.
func (h *History) Save(_ context.Context, history expander.History) (expander.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = &history
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return history, h.failure
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
func (h *History) Run(ctx context.Context) {
	poll := time.NewTicker(historyPoll)
	defer poll.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	h.look(ctx)
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			h.write(last)
			return
		case <-poll.C:
			h.look(ctx)
			h.write(ctx)
		case <-h.wake:
			h.write(ctx)
			pause.Reset(writeEvery)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		}
	}
}

// look reads the ConfigMap. The API server may answer from its own cache.
func (h *History) look(ctx context.Context) {
	if err := h.get(ctx, metav1.GetOptions{ResourceVersion: "0"}); err != nil && ctx.Err() == nil {
		h.fail(fmt.Errorf("read ConfigMap %s/%s: %w", h.clients.Namespace, HistoryName, err))
	}
}

func (h *History) get(ctx context.Context, o metav1.GetOptions) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := h.clients.Kubernetes.CoreV1().ConfigMaps(h.clients.Namespace).Get(ctx, HistoryName, o)
	if apierrors.IsNotFound(err) {
		object, err = nil, nil
	}
	if err != nil {
		return err
	}
	h.take(object)
	return nil
}

// take takes in the ConfigMap as it is stored; nil is none.
func (h *History) take(object *corev1.ConfigMap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.object != nil && object != nil && h.object.ResourceVersion == object.ResourceVersion
	if h.read && (known || (h.object == nil && object == nil)) {
		return
	}
	h.object, h.newer, h.news = object, false, h.read
	h.read = true
	h.revision++
	if object == nil {
		h.stored = expander.History{}
		return
	}
	stored, err := decodeHistory(object.Data[historyKey])
	switch {
	case errors.Is(err, errNewer):
		h.newer, h.stored = true, expander.History{}
		h.log.Warn("what the expander has learnt was written by a later version; it is left alone", "error", err)
	case err != nil:
		h.damaged, h.stored = err, expander.History{}
		h.object = object.DeepCopy()
		h.object.Data[damagedKey] = bounded(object.Data[historyKey], mostDamagedBytes)
		h.log.Error("what the expander had learnt cannot be read; it is kept aside", "configmap", HistoryName, "key", damagedKey, "error", err)
	default:
		h.stored = stored
	}
}

var errNewer = errors.New("it has a later version than this program knows")

// decodeHistory reads the content; none at all is an empty history.
func decodeHistory(text string) (expander.History, error) {
	var history expander.History
	if text == "" {
		return history, nil
	}
	if err := json.Unmarshal([]byte(text), &history); err != nil {
		return expander.History{}, err
	}
	if history.Version > expander.HistoryVersion {
		return expander.History{}, fmt.Errorf("%w: %d", errNewer, history.Version)
	}
	return history, nil
}

// write stores what is waiting, joined with what others have stored. Whoever comes second joins again.
func (h *History) write(ctx context.Context) {
	h.mu.Lock()
	waiting, possible := h.waiting, h.read && !h.newer
	h.mu.Unlock()
	if waiting == nil || !possible {
		return
	}
	var err error
	for range mostConflicts {
		if err = h.writeOnce(ctx, *waiting); err == nil {
			h.done(waiting)
			return
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
		if again := h.get(ctx, metav1.GetOptions{}); again != nil {
			err = again
			break
		}
	}
	h.fail(fmt.Errorf("write ConfigMap %s/%s: %w", h.clients.Namespace, HistoryName, err))
}

func (h *History) writeOnce(ctx context.Context, waiting expander.History) error {
	h.mu.Lock()
	before, joined := h.object, expander.MergeHistory(h.stored, waiting)
	h.mu.Unlock()
	text, joined, err := encodeHistory(joined, mostHistoryBytes)
	if err != nil {
		return err
	}
	if before != nil && before.Data[historyKey] == text {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	maps := h.clients.Kubernetes.CoreV1().ConfigMaps(h.clients.Namespace)
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: HistoryName, Namespace: h.clients.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "warmpool"},
	}}
	if before != nil {
		next = before.DeepCopy()
	}
	if next.Data == nil {
		next.Data = map[string]string{}
	}
	next.Data[historyKey] = text
	if before == nil {
		next, err = maps.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next, err = maps.Update(ctx, next, metav1.UpdateOptions{}) // fails unless it is still the one that was read
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.object, h.stored = next, joined
	h.revision++
	return nil
}

// done takes back what was waiting unless there is something newer.
func (h *History) done(written *expander.History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == written {
		h.waiting = nil
	}
	if h.failure != nil {
		h.log.Info("what the expander has learnt is shared again", "configmap", HistoryName)
	}
	h.failure = nil
}

func (h *History) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure == nil {
		h.log.Warn("what the expander has learnt cannot be shared for now; memory serves", "error", err)
	}
	h.failure = err
}

// encodeHistory writes a history in at most limit bytes. The older failures of each group go first, then the oldest
// pods, the oldest choices, and the groups whose news are oldest: what is left is worth more.
func encodeHistory(history expander.History, limit int) (string, expander.History, error) {
	const mostFailures, fewFailures = 16, 4
	for failures := mostFailures / 2; ; {
		text, err := json.Marshal(history)
		if err != nil || len(text) <= limit {
			return string(text), history, err
		}
		switch {
		case len(history.Groups) > 0 && failures >= fewFailures:
			history.Groups = lastFailures(history.Groups, failures)
			failures /= 2
		case len(history.Pods) > 0:
			history.Pods = newest(history.Pods, len(history.Pods)/2, func(p expander.PodHistory) time.Time { return p.LastSeen })
		case len(history.Choices) > 0:
			history.Choices = history.Choices[(len(history.Choices)+1)/2:]
		case len(history.Groups) > 0:
			history.Groups = newest(history.Groups, len(history.Groups)/2, func(g expander.GroupHistory) time.Time {
				if n := len(g.Failures); n > 0 {
					return later(g.Failures[n-1].At, g.DeliveredAt)
				}
				return g.DeliveredAt
			})
		default:
			return "", history, fmt.Errorf("the history takes %d bytes, above the %d of a ConfigMap", len(text), limit)
		}
	}
}

// lastFailures keeps the newest failures of each group.
func lastFailures(groups map[string]expander.GroupHistory, most int) map[string]expander.GroupHistory {
	kept := make(map[string]expander.GroupHistory, len(groups))
	for id, g := range groups {
		g.Failures = g.Failures[max(0, len(g.Failures)-most):]
		kept[id] = g
	}
	return kept
}

func newest[V any](all map[string]V, keep int, at func(V) time.Time) map[string]V {
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if order := at(all[b]).Compare(at(all[a])); order != 0 {
			return order
		}
		if a < b {
			return -1
		}
		return 1
	})
	kept := make(map[string]V, keep)
	for _, key := range keys[:keep] {
		kept[key] = all[key]
	}
	return kept
}

func bounded(text string, limit int) string { return text[:min(len(text), limit)] }

// What other instances have answered, for the stall watch. A nil History knows nothing.

func (h *History) lastAsked(uid string) time.Time {
	if h == nil {
		return time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stored.Pods[uid].LastSeen
}

func (h *History) lastCall() (at time.Time) {
	if h == nil {
		return at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.stored.Pods {
		at = later(at, p.LastSeen)
	}
	return at
}

func (h *History) lastChoice() (at time.Time) {
	if h == nil {
		return at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.stored.Choices {
		at = later(at, h.stored.Choices[i].At)
	}
	return at
}
