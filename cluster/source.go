package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// source is one informer and what is known of its connection.
type source struct {
	name     string
	log      *slog.Logger
	informer cache.SharedIndexInformer

	mu sync.Mutex
	// lostAt is when the connection was found to be lost; zero while it stands, or was never needed.
	lostAt time.Time
	// problem is the last error, told once; absent tells that it is one of permission or of an API that is not there.
	problem string
	absent  bool
}

// reader is how one kind of object is listed and watched.
type reader struct {
	list  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	// fields narrows it down by a field selector.
	fields string
}

// newSource makes an informer over objects that trim cuts down. client is asked what it can do; example is the kind
// of object that arrives.
func newSource(name string, client any, r reader, example runtime.Object, trim cache.TransformFunc, by cache.Indexers, log *slog.Logger) *source {
	s := &source{name: name, log: log}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = r.fields
			list, err := r.list(ctx, o)
			s.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = r.fields
			w, err := r.watch(ctx, o)
			s.note(ctx, err)
			return w, err
		},
	}
	s.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), example, 0, by)
	// Neither fails before the informer runs.
	_ = s.informer.SetTransform(trim)
	_ = s.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { s.note(ctx, err) })
	return s
}

// note takes in the outcome of a call. A watch that merely ended, as it does every few minutes, or whose start is too
// old to go on from, is followed by the next call, which tells more.
func (s *source) note(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if s.problem != "" {
			s.log.Info("the cluster can be read again", "what", s.name)
		}
		s.lostAt, s.problem, s.absent = time.Time{}, "", false
		return
	}
	if !isAnswer(err) && s.lostAt.IsZero() {
		s.lostAt = time.Now()
	}
	s.absent = isAnswer(err)
	if s.problem != "" {
		return
	}
	s.problem = err.Error()
	if s.absent {
		s.log.Info("a part of the cluster cannot be read; what it would tell stays unknown", "what", s.name, "reason", err)
	} else {
		s.log.Warn("the connection to the cluster is lost; the last view stays", "what", s.name, "error", err)
	}
}

// isAnswer tells a refusal, which will not go away by itself, from a failure.
func isAnswer(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (s *source) lost() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostAt
}

func (s *source) refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent
}

// readable tells whether the source has been read and may be.
func (s *source) readable() bool { return s != nil && s.informer.HasSynced() && !s.refused() }

// at is the object with a key of the store; the zero value if there is none.
func at[T any](s *source, key string) (T, bool) {
	var none T
	if s == nil {
		return none, false
	}
	o, ok, err := s.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return none, false
	}
	object, ok := o.(T)
	return object, ok
}
