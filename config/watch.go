package config

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher rereads a configuration file and keeps the last good one. It looks at the content, not at events of the file
// system: a mounted ConfigMap changes by swapping a symbolic link, and an editor may replace the file.
//
// A change is taken only when two looks in a row find the same content, so that a half-written file, which may well be
// valid, is never used. Create it with [NewWatcher].
type Watcher struct {
	path     string
	interval time.Duration
	changed  func(*Config) error
	current  atomic.Pointer[Config]

	mu     sync.Mutex
	status Status
	// applied is the content of the last attempt; pending is what the last look found instead.
	applied, pending fingerprint
}

// fingerprint is the content of the file and of the catalogue files that it names.
type fingerprint [sha256.Size]byte

// Status is how the last reload went.
type Status struct {
	// Hash is that of the configuration in use.
	Hash string
	// LastAttempt and LastSuccess are when a changed file was last read, and last taken.
	LastAttempt, LastSuccess time.Time
	// Err is why the file as it is now is not in use; nil when it is.
	Err error
	// Reloads counts the configurations taken since the start, the first one included; Failures the files refused.
	Reloads, Failures int
}

// NewWatcher loads the file at path and looks at it every interval once Run is called. changed, which may be nil, is
// called with every later configuration, one call at a time, and puts it into force; with an error it refuses it, and
// everything stays as it was.
func NewWatcher(path string, interval time.Duration, changed func(*Config) error) (*Watcher, error) {
	w := &Watcher{path: path, interval: interval, changed: changed}
	content, data, err := w.look()
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	w.take(c, content)
	return w, nil
}

// Current is the last good configuration.
func (w *Watcher) Current() *Config { return w.current.Load() }

// Status tells how the last reload went.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Run looks at the file until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.poll()
		}
	}
}

// Reload reads the file at once, such as on a signal, and gives the error if it is not taken.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	content, data, err := w.look()
	w.reload(content, data, err)
	return w.status.Err
}

// poll takes a change once it has been there for two looks.
func (w *Watcher) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	content, data, err := w.look()
	switch content {
	case w.applied:
		w.pending = content
	case w.pending:
		w.reload(content, data, err)
	default:
		w.pending = content
	}
}

// look reads the content; data is that of the configuration file itself, so that what is compiled is what was looked at.
// A file that cannot be read counts as content of its own, so that its loss is reported once.
func (w *Watcher) look() (content fingerprint, data []byte, err error) {
	h := sha256.New()
	add := func(path string) ([]byte, error) {
		data, err := readFile(path)
		fmt.Fprintf(h, "%s %d %t\x00", path, len(data), err == nil)
		h.Write(data)
		return data, err
	}
	data, err = add(w.path)
	if c := w.Current(); c != nil {
		for _, path := range c.Files {
			_, _ = add(path) // its loss shows in the hash; Parse reports why
		}
	}
	return fingerprint(h.Sum(nil)), data, err
}

// reload does everything that can fail before anything that is in use changes.
func (w *Watcher) reload(content fingerprint, data []byte, err error) {
	w.applied, w.pending = content, content
	w.status.LastAttempt = time.Now()
	var c *Config
	if err == nil {
		c, err = Parse(w.path, data)
	} else {
		err = fmt.Errorf("read configuration: %w", err)
	}
	if err == nil && c.Hash == w.Current().Hash {
		w.status.Err, w.status.LastSuccess = nil, w.status.LastAttempt
		return // other words for the same configuration
	}
	if err == nil && w.changed != nil {
		err = w.changed(c)
	}
	if err != nil {
		w.status.Err = err
		w.status.Failures++
		return
	}
	w.take(c, content)
}

func (w *Watcher) take(c *Config, content fingerprint) {
	now := time.Now()
	before := w.Current()
	w.applied, w.pending = content, content
	w.current.Store(c)
	w.status = Status{Hash: c.Hash, LastAttempt: now, LastSuccess: now, Reloads: w.status.Reloads + 1, Failures: w.status.Failures}
	if before == nil || !slices.Equal(before.Files, c.Files) {
		w.applied = fingerprint{} // other files belong to it now: look at all of them once more
	}
}
