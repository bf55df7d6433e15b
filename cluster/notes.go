package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
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
	shared *sharedMap
	log    *slog.Logger

	mu    sync.Mutex
	texts map[string]note
	// revision counts the changes of texts.
	revision uint64
	// waiting is what is to be written.
	waiting map[string][]byte
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
	n := &Notes{log: log, texts: map[string]note{}, waiting: map[string][]byte{}}
	n.shared = newSharedMap(clients, NotesName, n)
	return n
}

// Put takes a text to be written soon.
func (n *Notes) Put(key string, text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting[key] = text
	n.shared.soon()
}

// Get returns the stored text of a key, and a number that is another one when it is another text; nil and 0 without one.
func (n *Notes) Get(key string) (text []byte, revision uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.texts[key]
	return one.text, one.revision
}

// Run reads and writes until ctx ends, then writes what is left.
func (n *Notes) Run(ctx context.Context) { n.shared.run(ctx) }

// take takes in every text. One that cannot be unpacked is as good as none: whoever wrote it writes it again.
func (n *Notes) take(stored *corev1.ConfigMap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all map[string][]byte
	if stored != nil {
		all = stored.BinaryData
	}
	maps.DeleteFunc(n.texts, func(key string, _ note) bool {
		_, ok := all[key]
		return !ok
	})
	for key, packed := range all {
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

// merge replaces the texts of the keys that are waiting and leaves the others.
func (n *Notes) merge(into *corev1.ConfigMap) (written func(), err error) {
	n.mu.Lock()
	waiting := maps.Clone(n.waiting)
	n.mu.Unlock()
	if len(waiting) == 0 {
		return nil, errNothingWaits
	}
	if into.BinaryData == nil {
		into.BinaryData = map[string][]byte{}
	}
	for key, text := range waiting {
		into.BinaryData[key] = pack(text)
	}
	size := 0
	for key, value := range into.BinaryData {
		size += len(key) + len(value)*4/3
	}
	if size > mostNoteBytes {
		return nil, fmt.Errorf("it would take %d bytes, above the %d of a ConfigMap", size, mostNoteBytes)
	}
	return func() {
		n.take(into)
		n.done(waiting)
	}, nil
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

func (n *Notes) tell(problem error) {
	if problem == nil {
		n.log.Info("the halves can tell each other again", "configmap", NotesName)
		return
	}
	n.log.Warn("the halves cannot tell each other what they see; instances that serve one half do without the other's view", "error", problem)
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
