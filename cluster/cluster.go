package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"

	"github.com/warmpool/warmpool/expander"
)

// Options of a Cluster.
type Options struct {
	Clients *Clients
	// AutoscalerNamespace is where the Cluster Autoscaler keeps its status, kube-system by default.
	AutoscalerNamespace string
	// StatusName is the name of its status ConfigMap, cluster-autoscaler-status by default.
	StatusName string
	// History, if set, tells of the requests that other instances have answered.
	History *History
	// WatchStalls turns the stall watch on. Without a Cluster Autoscaler that calls, silence means nothing.
	WatchStalls bool
	// StallAfter is how long pods may wait in silence, two minutes by default.
	StallAfter time.Duration
	// WithoutTargets leaves scaled objects, autoscalers and events about nodes unread, which only the scaler asks for;
	// WithoutClaims leaves resource claims unread, which only the expander does.
	WithoutTargets, WithoutClaims bool
	// WriteCosts lets deletion costs be written on pods; without it [Cluster.WriteCosts] does nothing.
	WriteCosts bool
	// Log and Metrics may be nil.
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

const (
	defaultNamespace  = "kube-system"
	defaultStatusName = "cluster-autoscaler-status"
	defaultStallAfter = 2 * time.Minute
	// refreshEvery bounds the age of a view while objects change.
	refreshEvery = time.Second
	// staleAfter is how old a view, or the Cluster Autoscaler's status in it, may be to count as known.
	staleAfter = 5 * time.Minute
)

// Cluster is a view of a cluster. It is safe for concurrent use.
type Cluster struct {
	options Options
	log     *slog.Logger
	metrics *metrics

	nodes, pods, status, events *source
	nodeEvents                  *source
	scaledObjects, autoscalers  *source
	claims, claimTemplates      *source
	sources                     []*source
	// seeded is set once the starts before the first look have been taken in.
	seeded   atomic.Bool
	changed  atomic.Bool
	current  atomic.Pointer[snapshot]
	rebuild  sync.Mutex
	demand   demand
	starts   startRecords
	reclaims reclaimRecords
	stalls   stallWatch
	notices  noticeRecords
	costs    costWriter
}

// New makes a view of the cluster that clients lead to. Nothing is read until [Cluster.Run].
func New(o Options) (*Cluster, error) {
	if o.Clients == nil || o.Clients.Kubernetes == nil {
		return nil, errors.New("cluster: no client")
	}
	if o.AutoscalerNamespace == "" {
		o.AutoscalerNamespace = defaultNamespace
	}
	if o.StatusName == "" {
		o.StatusName = defaultStatusName
	}
	if o.StallAfter <= 0 {
		o.StallAfter = defaultStallAfter
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{options: o, log: o.Log}
	c.starts.init()
	c.reclaims.init()
	c.stalls.init()
	c.notices.init()
	c.costs.init()
	c.listSources()
	if err := c.handle(); err != nil {
		return nil, err
	}
	c.current.Store(&snapshot{})
	c.metrics = newMetrics(o.Metrics, c)
	return c, nil
}

// Run watches the cluster until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, s := range c.sources {
		group.Go(func() { s.informer.RunWithContext(ctx) })
	}
	group.Go(func() { c.refreshLoop(ctx) })
	group.Go(func() { c.watchLoop(ctx) })
	group.Go(func() { c.writeCosts(ctx) })
	group.Wait()
}

// refreshLoop builds the view anew when something changed. It waits for nobody.
func (c *Cluster) refreshLoop(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if c.changed.Swap(false) {
				c.refresh(now)
			}
			c.seed()
		}
	}
}

// watchLoop counts what only time tells, and tells of it, which may take as long as the API server takes.
func (c *Cluster) watchLoop(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.reclaims.expose(c.current.Load().spotNodes, now)
			c.watchStalls(ctx, now)
		}
	}
}

// seed takes the pods that were ready before anybody looked for starts, once the nodes that they run on are known.
func (c *Cluster) seed() {
	if c.seeded.Load() || !c.Synced() || !c.pods.readable() {
		return
	}
	c.seeded.Store(true)
	c.eachPod(c.podAdded)
}

// handle connects what is more than a cache.
func (c *Cluster) handle() error {
	touch := func() { c.changed.Store(true) }
	for _, s := range c.sources {
		if _, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { touch() }, UpdateFunc: func(_, _ any) { touch() }, DeleteFunc: func(any) { touch() },
		}); err != nil {
			return err
		}
	}
	if _, err := c.pods.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if c.seeded.Load() {
				c.podAdded(o.(*pod))
			}
		},
		UpdateFunc: func(before, after any) { c.podChanged(before.(*pod), after.(*pod)) },
		DeleteFunc: func(gone any) { c.podGone(gone) },
	}); err != nil {
		return err
	}
	if err := errors.Join(c.watchNotices(), c.watchNodeEvents()); err != nil {
		return err
	}
	_, err := c.nodes.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) { c.nodeChanged(before.(*node), after.(*node)) },
		DeleteFunc: func(gone any) { c.nodeGone(gone) },
	})
	return err
}

// Synced tells whether nodes and pods have been read once, or cannot be.
func (c *Cluster) Synced() bool {
	for _, s := range []*source{c.nodes, c.pods} {
		if !s.informer.HasSynced() && !s.refused() {
			return false
		}
	}
	return true
}

// ObserveRequest takes in a request of the Cluster Autoscaler: its node templates tell which node belongs to which
// group. It returns the request with the devices that its pods claim, where they are known.
func (c *Cluster) ObserveRequest(policy *expander.Policy, request expander.Request, now time.Time) expander.Request {
	if c.demand.observe(policy, &request, now) {
		c.refresh(now)
	}
	return c.withDevices(request)
}

// ObserveGroups takes in the node templates that another instance was asked with.
func (c *Cluster) ObserveGroups(policy *expander.Policy, groups []expander.Group, now time.Time) {
	if c.demand.adopt(policy, groups) {
		c.refresh(now)
	}
}

// ExpanderView returns the last view. It is never older than a second while the connection stands.
func (c *Cluster) ExpanderView(now time.Time) expander.View {
	s := c.current.Load()
	view := s.view
	at, lost := c.asOf(now)
	view.At = at
	if (lost && now.Sub(at) > staleAfter) || !s.statusFresh(now) {
		view.Known = false
	}
	return view
}

// asOf is the time for which the view holds: now while the connection stands.
func (c *Cluster) asOf(now time.Time) (at time.Time, lost bool) {
	at = now
	for _, s := range []*source{c.nodes, c.pods, c.status} {
		if since := s.lost(); !since.IsZero() && since.Before(at) {
			at, lost = since, true
		}
	}
	return at, lost
}

// Age is how old the view is; 0 while the connection stands.
func (c *Cluster) Age(now time.Time) time.Duration {
	at, _ := c.asOf(now)
	return now.Sub(at)
}

func (c *Cluster) eachNode(yield func(*node)) {
	for _, o := range c.nodes.informer.GetStore().List() {
		yield(o.(*node))
	}
}

func (c *Cluster) eachPod(yield func(*pod)) {
	for _, o := range c.pods.informer.GetStore().List() {
		yield(o.(*pod))
	}
}

// tombstone unwraps what was deleted while nobody looked.
func tombstone[T any](gone any) (T, bool) {
	if last, ok := gone.(cache.DeletedFinalStateUnknown); ok {
		gone = last.Obj
	}
	object, ok := gone.(T)
	return object, ok
}
