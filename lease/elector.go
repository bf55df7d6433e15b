package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Options of an elector.
type Options struct {
	Client          coordination.LeasesGetter
	Namespace, Name string
	// Self names this instance and where others reach its board.
	Self Identity
	// Duration is how long a holder that is silent keeps the Lease, 15 s by default; RenewDeadline how long this instance
	// leads without having renewed it, 10 s; RetryPeriod the time between two tries, 2 s.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Leader is who computes.
type Leader struct {
	// Identity is zero when nobody holds the Lease, as far as this instance knows.
	Identity
	// Self is set when it is this instance.
	Self bool
	// Term counts how often the Lease has changed hands.
	Term uint64
}

// Elector competes for a Lease.
type Elector struct {
	o       Options
	changed chan struct{}

	mu sync.Mutex
	// holder and term are those of the record last seen, and fresh when it was first seen as it is now.
	holder string
	term   uint64
	stamp  metav1.Time
	fresh  time.Time
	// renewed is when the last renewal that succeeded was begun; zero when this instance does not hold the Lease.
	renewed time.Time
}

// New makes an elector; nothing is sent before [Elector.Run].
func New(o Options) (*Elector, error) {
	o.Duration = cmp.Or(o.Duration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, 2*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.Self.check(); err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	if o.Client == nil || o.Namespace == "" || o.Name == "" {
		return nil, errors.New("lease: a client, a namespace and a name are required")
	}
	e := &Elector{o: o, changed: make(chan struct{}, 1)}
	_, err := leaderelection.NewLeaderElector(e.config())
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	return e, nil
}

func (e *Elector) config() leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Name: e.o.Name,
		Lock: &observed{elector: e, Interface: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.o.Namespace, Name: e.o.Name}, Client: e.o.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.o.Self.String()},
		}},
		LeaseDuration: e.o.Duration, RenewDeadline: e.o.RenewDeadline, RetryPeriod: e.o.RetryPeriod,
		ReleaseOnCancel: true,
		// Who leads is read from the records: these come late when a request hangs.
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	}
}

// Run competes until the context ends, and calls change with every new leader, one call at a time, first with nobody. At
// the end it reports nobody before it gives the Lease up, so that this instance has stopped when another one starts.
func (e *Elector) Run(ctx context.Context, change func(Leader)) error {
	inner, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.FromSlogHandler(e.o.Log.Handler())))
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		for inner.Err() == nil {
			elector, err := leaderelection.NewLeaderElector(e.config())
			if err != nil {
				e.o.Log.Error("the lease cannot be competed for", "error", err) // New has checked it
				return
			}
			elector.Run(inner)
		}
	})
	last := Leader{}
	change(last)
	tick := time.NewTicker(e.o.RetryPeriod / 4)
	defer tick.Stop()
	for ctx.Err() == nil {
		if now := e.Leader(); now != last {
			last = now
			e.o.Log.Info("leader", "name", now.Name, "address", now.Address, "self", now.Self, "term", now.Term)
			change(now)
		}
		select {
		case <-ctx.Done():
		case <-e.changed:
		case <-tick.C:
		}
	}
	if last != (Leader{}) {
		change(Leader{})
	}
	cancel()
	group.Wait()
	return nil
}

// Leader tells who holds the Lease now.
func (e *Elector) Leader() Leader {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	switch {
	case !e.renewed.IsZero() && now.Sub(e.renewed) < e.o.RenewDeadline:
		return Leader{Identity: e.o.Self, Self: true, Term: e.term}
	case e.holder == "" || e.holder == e.o.Self.String() || now.Sub(e.fresh) >= e.o.Duration:
		return Leader{}
	}
	return Leader{Identity: ParseIdentity(e.holder), Term: e.term}
}

// saw takes a record that the API server has, or now has.
func (e *Elector) saw(r *resourcelock.LeaderElectionRecord) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.HolderIdentity != e.holder || !r.RenewTime.Equal(&e.stamp) {
		e.fresh = time.Now()
	}
	e.holder, e.stamp, e.term = r.HolderIdentity, r.RenewTime, uint64(max(0, r.LeaderTransitions))
	if e.holder != e.o.Self.String() {
		e.renewed = time.Time{}
	}
	e.notify()
}

// wrote takes a record of this instance that the API server has accepted.
func (e *Elector) wrote(r *resourcelock.LeaderElectionRecord, begun time.Time) {
	e.saw(r)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.HolderIdentity == e.o.Self.String() {
		e.renewed = begun
	}
}

func (e *Elector) notify() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// observed is a lock whose records the elector sees. No request takes longer than half of the renew deadline: one that
// hangs must leave time for another one, and must not keep a candidate from trying again.
type observed struct {
	resourcelock.Interface
	elector *Elector
}

func (o *observed) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, o.elector.o.RenewDeadline/2)
}

func (o *observed) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := o.bound(ctx)
	defer cancel()
	r, raw, err := o.Interface.Get(ctx)
	if err == nil {
		o.elector.saw(r)
	}
	return r, raw, err
}

func (o *observed) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	ctx, cancel := o.bound(ctx)
	defer cancel()
	begun := time.Now()
	err := o.Interface.Create(ctx, r)
	if err == nil {
		o.elector.wrote(&r, begun)
	}
	return err
}

func (o *observed) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	ctx, cancel := o.bound(ctx)
	defer cancel()
	begun := time.Now()
	err := o.Interface.Update(ctx, r)
	if err == nil {
		o.elector.wrote(&r, begun)
	}
	return err
}
