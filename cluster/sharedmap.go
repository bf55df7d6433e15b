package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// sharedPoll is how often a shared ConfigMap is looked at, writeEvery the least time between two writes.
	sharedPoll = 5 * time.Second
	writeEvery = time.Second
	// flushTimeout bounds the last write at the end.
	flushTimeout = 3 * time.Second
	// mostConflicts is how often one write is tried because another instance was faster.
	mostConflicts = 10
)

// sharedContent is what a [sharedMap] keeps. Its methods are called by [sharedMap.run] alone.
type sharedContent interface {
	// take takes in the ConfigMap as it is stored, which must not be changed; nil is none.
	take(stored *corev1.ConfigMap)
	// merge puts what is waiting into a copy of what was taken last, and is called again when another instance was faster.
	// written is called once that is what is stored. The error is [errNothingWaits] when there is nothing to write.
	merge(into *corev1.ConfigMap) (written func(), err error)
	// tell logs that a problem began, or with nil that there is none any more.
	tell(problem error)
}

var errNothingWaits = errors.New("nothing is waiting to be written")

// sharedMap is a ConfigMap in the program's own namespace that several instances read and write. Nobody waits for the
// API server, [sharedMap.run] does: it tells the content what is stored and asks it what is to be. No write overwrites
// what its content has not seen.
type sharedMap struct {
	clients *Clients
	name    string
	content sharedContent
	wake    chan struct{}

	// object is the ConfigMap as it was last seen, nil while there is none; read is set after the first answer. They
	// belong to run.
	object *corev1.ConfigMap
	read   bool

	mu sync.Mutex
	// reading and writing are why the last attempt failed.
	reading, writing error
}

// newSharedMap shares content in the ConfigMap name.
func newSharedMap(clients *Clients, name string, content sharedContent) *sharedMap {
	return &sharedMap{clients: clients, name: name, content: content, wake: make(chan struct{}, 1)}
}

// soon asks for a write without waiting for it.
func (m *sharedMap) soon() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// failure is why the content is not shared at present.
func (m *sharedMap) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writing != nil {
		return m.writing
	}
	return m.reading
}

// run reads and writes until ctx ends, then writes what is left.
func (m *sharedMap) run(ctx context.Context) {
	poll := time.NewTicker(sharedPoll)
	defer poll.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	m.look(ctx)
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			m.write(last)
			return
		case <-poll.C:
			m.look(ctx)
			m.write(ctx)
		case <-m.wake:
			m.write(ctx)
			pause.Reset(writeEvery)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		}
	}
}

// look reads the ConfigMap. The API server may answer from its own cache.
func (m *sharedMap) look(ctx context.Context) {
	err := m.get(ctx, metav1.GetOptions{ResourceVersion: "0"})
	if ctx.Err() == nil {
		m.outcome(&m.reading, "read", err)
	}
}

// get takes in what is stored; that there is no ConfigMap is an answer too.
func (m *sharedMap) get(ctx context.Context, o metav1.GetOptions) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := m.clients.Kubernetes.CoreV1().ConfigMaps(m.clients.Namespace).Get(ctx, m.name, o)
	if apierrors.IsNotFound(err) {
		object, err = nil, nil
	}
	if err != nil {
		return err
	}
	m.object, m.read = object, true
	m.content.take(object)
	return nil
}

// write stores what is waiting, once it is known what is there. Whoever comes second merges again.
func (m *sharedMap) write(ctx context.Context) {
	if !m.read {
		return
	}
	err := m.writeOnce(ctx)
	for tries := 1; tries < mostConflicts && outrun(err); tries++ {
		if err = m.get(ctx, metav1.GetOptions{}); err == nil {
			err = m.writeOnce(ctx)
		}
	}
	if !errors.Is(err, errNothingWaits) {
		m.outcome(&m.writing, "write", err)
	}
}

// outrun tells whether the ConfigMap is no longer the one that was read.
func outrun(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (m *sharedMap) writeOnce(ctx context.Context) error {
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: m.name, Namespace: m.clients.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "warmpool"},
	}}
	if m.object != nil {
		next = m.object.DeepCopy()
	}
	written, err := m.content.merge(next)
	if err != nil {
		return err
	}
	if m.object == nil || !sameContent(m.object, next) {
		if err := m.put(ctx, next); err != nil {
			return err
		}
	}
	written()
	return nil
}

func (m *sharedMap) put(ctx context.Context, next *corev1.ConfigMap) (err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	configMaps := m.clients.Kubernetes.CoreV1().ConfigMaps(m.clients.Namespace)
	if m.object == nil {
		next, err = configMaps.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next, err = configMaps.Update(ctx, next, metav1.UpdateOptions{}) // fails unless it is still the one that was read
	}
	if err != nil {
		return err
	}
	m.object = next
	return nil
}

func sameContent(a, b *corev1.ConfigMap) bool {
	return maps.Equal(a.Data, b.Data) && maps.EqualFunc(a.BinaryData, b.BinaryData, bytes.Equal)
}

// outcome keeps why the last attempt to read or to write failed. Only the first problem is told, and the end of the last.
func (m *sharedMap) outcome(of *error, doing string, err error) {
	if err != nil {
		err = fmt.Errorf("%s ConfigMap %s/%s: %w", doing, m.clients.Namespace, m.name, err)
	}
	m.mu.Lock()
	before := m.reading != nil || m.writing != nil
	*of = err
	now := m.reading != nil || m.writing != nil
	m.mu.Unlock()
	if now != before {
		m.content.tell(err)
	}
}
