package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NotesName is the name of the ConfigMap in which one half tells the other what only it sees.
const NotesName = "warmpool-link"

const (
	// mostNoteBytes keeps the ConfigMap below its limit of 1 MiB, mostNoteText what a reader unpacks.
	mostNoteBytes = 900 << 10
	mostNoteText  = 64 << 20
)

// Notes are texts by key in one ConfigMap, packed; of a key the last writer counts. They implement engine.Notes: nobody
// waits for the API server, [Notes.Run] does.
type Notes struct {
	clients *Clients
	log     *slog.Logger
	wake    chan struct{}

	mu sync.Mutex
	// object is the ConfigMap as it was last seen, nil while there is none; read is set after the first look.
	object *corev1.ConfigMap
	read   bool
	texts  map[string]note
	// revision counts the changes of texts.
	revision uint64
	// waiting is what is to be written, problem why that failed last.
	waiting map[string][]byte
	problem string
}

type note struct {
	packed, text []byte
	revision     uint64
}

// NewNotes uses the ConfigMap [NotesName] in the program's own namespace. log may be nil.
func NewNotes(clients *Clients, log *slog.Logger) *Notes {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Notes{clients: clients, log: log, wake: make(chan struct{}, 1), texts: map[string]note{}, waiting: map[string][]byte{}}
}

// Put takes a text to be written soon.
func (n *Notes) Put(key string, text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting[key] = text
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Get returns the stored text of a key, and a number that is another one when it is another text; nil and 0 without one.
func (n *Notes) Get(key string) (text []byte, revision uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.texts[key]
	return one.text, one.revision
}

// Run reads and writes until ctx ends, then writes what is left.
func (n *Notes) Run(ctx context.Context) {
	poll := time.NewTicker(historyPoll)
	defer poll.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	n.tell("read", n.look(ctx, metav1.GetOptions{ResourceVersion: "0"}))
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			n.write(last)
			return
		case <-poll.C:
			// The API server may answer from its own cache.
			n.tell("read", n.look(ctx, metav1.GetOptions{ResourceVersion: "0"}))
			n.write(ctx)
		case <-n.wake:
			n.write(ctx)
			pause.Reset(writeEvery)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		}
	}
}

func (n *Notes) look(ctx context.Context, o metav1.GetOptions) error {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := n.clients.Kubernetes.CoreV1().ConfigMaps(n.clients.Namespace).Get(asking, NotesName, o)
	switch {
	case apierrors.IsNotFound(err):
		n.take(nil)
	case err == nil:
		n.take(object)
	case ctx.Err() == nil:
		return err
	}
	return nil
}

// take takes in the ConfigMap as it is stored; nil is none. A text that cannot be unpacked is as good as none: whoever
// wrote it writes it again.
func (n *Notes) take(object *corev1.ConfigMap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.object, n.read = object, true
	var stored map[string][]byte
	if object != nil {
		stored = object.BinaryData
	}
	for key := range n.texts {
		if _, ok := stored[key]; !ok {
			delete(n.texts, key)
		}
	}
	for key, packed := range stored {
		if bytes.Equal(n.texts[key].packed, packed) {
			continue
		}
		n.revision++
		text, err := unpack(packed)
		if err != nil {
			n.log.Warn("a part of what the halves tell each other cannot be read; it is left out", "configmap", NotesName, "key", key, "error", err)
		}
		n.texts[key] = note{packed, text, n.revision}
	}
}

// write stores what is waiting. Whoever comes second takes in what the first one wrote, and writes its own keys.
func (n *Notes) write(ctx context.Context) {
	n.mu.Lock()
	waiting, possible := maps.Clone(n.waiting), n.read
	n.mu.Unlock()
	if len(waiting) == 0 || !possible {
		return
	}
	packed := make(map[string][]byte, len(waiting))
	for key, text := range waiting {
		packed[key] = pack(text)
	}
	var err error
	for range mostConflicts {
		if err = n.writeOnce(ctx, packed); err == nil {
			n.done(waiting)
			break
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
		if again := n.look(ctx, metav1.GetOptions{}); again != nil {
			err = again
			break
		}
	}
	n.tell("write", err)
}

func (n *Notes) writeOnce(ctx context.Context, packed map[string][]byte) error {
	n.mu.Lock()
	before := n.object
	n.mu.Unlock()
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: NotesName, Namespace: n.clients.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "warmpool"},
	}}
	if before != nil {
		next = before.DeepCopy()
	}
	if next.BinaryData == nil {
		next.BinaryData = map[string][]byte{}
	}
	changed, size := before == nil, 0
	for _, key := range slices.Sorted(maps.Keys(packed)) {
		changed = changed || !bytes.Equal(next.BinaryData[key], packed[key])
		next.BinaryData[key] = packed[key]
	}
	if !changed {
		return nil
	}
	for key, value := range next.BinaryData {
		size += len(key) + len(value)*4/3
	}
	if size > mostNoteBytes {
		return fmt.Errorf("it would take %d bytes, above the %d of a ConfigMap", size, mostNoteBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	configMaps := n.clients.Kubernetes.CoreV1().ConfigMaps(n.clients.Namespace)
	var err error
	if before == nil {
		next, err = configMaps.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next, err = configMaps.Update(ctx, next, metav1.UpdateOptions{}) // fails unless it is still the one that was read
	}
	if err != nil {
		return err
	}
	n.take(next)
	return nil
}

// done takes back what was waiting unless there is something newer.
func (n *Notes) done(written map[string][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, text := range written {
		if bytes.Equal(n.waiting[key], text) {
			delete(n.waiting, key)
		}
	}
}

// tell logs a problem once, and its end.
func (n *Notes) tell(what string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil && n.problem == what:
		n.problem = ""
		n.log.Info("the halves can tell each other again", "configmap", NotesName)
	case err != nil && n.problem == "":
		n.problem = what
		n.log.Warn("the halves cannot tell each other what they see; instances that serve one half do without the other's view",
			"configmap", n.clients.Namespace+"/"+NotesName, "doing", what, "error", err)
	}
}

// pack compresses a text, equal ones alike.
func pack(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text) // memory does not fail
	_ = w.Close()
	return out.Bytes()
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, mostNoteText+1))
	if err == nil && len(text) > mostNoteText {
		return nil, fmt.Errorf("it has more than %d bytes", mostNoteText)
	}
	return text, err
}
