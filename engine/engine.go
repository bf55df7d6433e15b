package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// Source reads signals. Package signals implements it.
type Source interface {
	// Read asks the queries of many services as of one time and reports each query exactly once, by the indices of
	// service and query: its valid samples, oldest first, and an error if the newest one is not valid. Reports do not
	// overlap. It returns when all are reported, at the latest at the deadline of ctx.
	Read(ctx context.Context, at time.Time, services [][]config.Query,
		report func(service, query int, samples []scaler.Sample, err error))
	// Rewind reports what Read would have reported at each multiple of step between two times.
	Rewind(ctx context.Context, from, to time.Time, step time.Duration, services [][]config.Query,
		report func(service, query int, samples []scaler.Sample, err error))
	// History returns the mean of a query over each slot between two multiples of slot, NaN where too little is known.
	History(ctx context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error)
}

// HistoriesSource is a [Source] that reads the histories of many queries with few requests.
type HistoriesSource interface {
	// Histories reports for each query exactly once, by its index, what History would have returned.
	Histories(ctx context.Context, queries []config.Query, from, to time.Time, slot time.Duration,
		report func(query int, means []float64, err error))
}

// Cluster is what is known of the cluster. Its methods answer from memory.
type Cluster interface {
	// ExpanderView returns what the choice of a node group depends on beyond the request.
	ExpanderView(now time.Time) expander.View
	// Pods returns the pods of the target of a scaled object.
	Pods(namespace, scaledObject string) scaler.Pods
}

// A RequestObserver is a [Cluster] that learns from requests: which node templates there are, which pods were asked
// for, and when. It returns the request with what it knows of the pods' claims, and must not wait for anything.
type RequestObserver interface {
	ObserveRequest(policy *expander.Policy, request expander.Request, now time.Time) expander.Request
}

// A ReplicaReader is a [Cluster] that knows the replicas of scale targets as their autoscaler does.
type ReplicaReader interface {
	// Replicas returns the present replicas of the target and the tolerance of its autoscaler; negative is unknown.
	Replicas(namespace, scaledObject string) (current int, tolerance float64)
}

// Options of an engine.
type Options struct {
	Config *config.Config
	// Source may be nil: then no signal is ever read, as with an unreachable metric store.
	Source Source
	// Cluster may be nil: then nothing is known of nodes and pods.
	Cluster Cluster
	// History keeps what the expander learnt; nil keeps it in memory.
	History HistoryStore
	// Notes carry between instances what only one half sees; nil is a single instance.
	Notes Notes
	// Store keeps what the scaler and the predictor learnt; nil keeps it in memory.
	Store *Store
	// Decisions records; nil does not.
	Decisions *decisions.Log
	// Operations keeps what operators ordered; nil keeps it in memory.
	Operations *OperationsFile
	Limits     Limits
	// Clock tells the time, time.Now by default. A replay in virtual time sets it, calls [Engine.Tick] and
	// [Engine.Backfill] itself and never [Engine.Run].
	Clock func() time.Time
	// Log and Metrics may be nil.
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Limits bound what callers who are not authenticated can make the engine remember.
type Limits struct {
	// Triggers is how many are known at one time, 20,000 by default; NamespaceTriggers how many of one namespace, half
	// of that by default.
	Triggers, NamespaceTriggers int
	// TriggerBytes is how many bytes of metadata they may have together, 64 MiB by default; one namespace may have half of
	// them.
	TriggerBytes int
	// ForgetAfter is how long after the last call a trigger is forgotten, 1 h by default.
	ForgetAfter time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Triggers <= 0 {
		l.Triggers = 20_000
	}
	if l.NamespaceTriggers <= 0 {
		l.NamespaceTriggers = max(1, l.Triggers/2)
	}
	if l.TriggerBytes <= 0 {
		l.TriggerBytes = 64 << 20
	}
	if l.ForgetAfter <= 0 {
		l.ForgetAfter = time.Hour
	}
	return l
}

// Engine is safe for concurrent use.
type Engine struct {
	source    Source
	cluster   Cluster
	store     *Store
	decisions *decisions.Log
	limits    Limits
	log       *slog.Logger
	metrics   *metrics
	clock     func() time.Time
	// realTime is set where clock is that of the machine.
	realTime bool

	config atomic.Pointer[config.Config]
	// lastTick is when the last whole tick was for, in Unix nanoseconds; 0 before the first.
	lastTick atomic.Int64

	services  services
	forecasts forecasts
	placement placement
	// situations are those of choices, evaluations those of replica targets: many targets must not drive out a choice.
	situations, evaluations situations
	lockstep                lockstep
	links                   links
	hearsay                 hearsay
	operations              operations
	// failOpen counts requests that kept every option because of a fault; reloadFailing is set from a configuration
	// that could not be loaded to the next one that could.
	failOpen atomic.Int64
	// slowPast is set while the past could not be read in the time that it was given.
	slowPast      atomic.Bool
	reloadFailing atomic.Bool
	// membership serialises what adds, removes or recompiles services.
	membership sync.Mutex
	// listened is when it was last looked for triggers that nobody asks for; guarded by membership.
	listened time.Time
}

// New makes an engine. Nothing runs until [Engine.Run] or [Engine.Tick] is called, but calls are answered: without
// data, as they should be.
func New(o Options) (*Engine, error) {
	if o.Config == nil {
		return nil, errors.New("engine: no configuration")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	realTime := o.Clock == nil
	if realTime {
		o.Clock = time.Now
	}
	if o.Source == nil {
		o.Source = noSource{}
	}
	e := &Engine{
		source: o.Source, cluster: o.Cluster, store: o.Store, decisions: o.Decisions,
		limits: o.Limits.withDefaults(), log: o.Log, clock: o.Clock, realTime: realTime,
	}
	e.services.init()
	e.forecasts.init()
	e.placement.init(o.History)
	e.hearsay.notes = o.Notes
	e.restoreLinks()
	e.lockstep.news = make(chan struct{}, 1)
	if err := e.operations.init(o.Operations, e.log); err != nil {
		return nil, err
	}
	e.metrics = newMetrics(o.Metrics, e)
	if o.Metrics != nil {
		o.Metrics.MustRegister(instancesCollector{e})
	}
	e.config.Store(o.Config)
	e.membership.Lock()
	defer e.membership.Unlock()
	e.adopt(o.Config)
	e.metrics.loaded(o.Config)
	return e, nil
}

// noSource is a metric store that cannot be reached.
type noSource struct{}

var errNoSource = errors.New("no metric store is configured; set prometheus.url")

func (noSource) Read(_ context.Context, _ time.Time, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	for s, queries := range services {
		for q := range queries {
			report(s, q, nil, errNoSource)
		}
	}
}

func (n noSource) Rewind(ctx context.Context, _, to time.Time, _ time.Duration, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	n.Read(ctx, to, services, report)
}

func (noSource) History(context.Context, config.Query, time.Time, time.Time, time.Duration) ([]float64, error) {
	return nil, errNoSource
}
