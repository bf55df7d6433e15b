package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// Tick evaluates every service as of one instant, which should be a multiple of the evaluation interval. The deadline
// of ctx bounds the reading of signals. Services that are being evaluated by another tick are left out.
func (e *Engine) Tick(ctx context.Context, at time.Time) {
	started := time.Now()
	e.forget(at)
	e.tellAsks(at)
	if !e.Leading() {
		return
	}
	e.learnBoots(at)
	e.evaluate(ctx, at, e.due(func(*service) bool { return true }), true)
	e.tellComputes(at)
	e.lastTick.Store(at.UnixNano())
	e.lockstep.feed.poke()
	e.metrics.ticks.WithLabelValues("evaluation").Observe(time.Since(started).Seconds())
}

// Activate evaluates the services that have no entry yet and those at zero, for which a second matters.
func (e *Engine) Activate(ctx context.Context, at time.Time) {
	if !e.Leading() {
		return
	}
	started := time.Now()
	due := e.due(func(s *service) bool {
		line := s.entry.Load()
		return line == nil || mayBeAtZero(&line.decision)
	})
	if len(due) == 0 {
		return
	}
	e.evaluate(ctx, at, due, false)
	e.metrics.ticks.WithLabelValues("activation").Observe(time.Since(started).Seconds())
}

// mayBeAtZero tells whether a service is at zero as far as anybody knows: its target is, or it has no demand and no
// answer yet because nothing is known about its replicas. A service without sources is not: asking a dead metric store
// every second helps nobody.
func mayBeAtZero(d *scaler.Decision) bool {
	if d.Unavailable == "" {
		return d.Replicas == 0
	}
	return d.Need == 0 && len(d.Missing) == 0
}

// due lists the services to evaluate. A configured service that triggers refer to is evaluated as those.
func (e *Engine) due(wanted func(*service) bool) []*service {
	e.membership.Lock()
	defer e.membership.Unlock()
	var due []*service
	for _, s := range e.services.list() {
		if s.broken.Load() != nil || (s.trigger == nil && e.services.adopted[s.id] > 0) {
			continue
		}
		if wanted(s) {
			due = append(due, s)
		}
	}
	return due
}

// forget drops the triggers that nobody asked for lately. While the process was suspended nobody could.
func (e *Engine) forget(at time.Time) {
	e.membership.Lock()
	defer e.membership.Unlock()
	step := e.config.Load().EvaluationInterval
	if deaf := at.Sub(e.listened) - step; !e.listened.IsZero() && deaf > (missedFor-1)*step {
		for _, s := range e.services.list() {
			asked := s.asked.Load()
			s.asked.Store(max(asked, min(asked+int64(deaf/time.Second), at.Unix())))
		}
	}
	e.listened = at
	limit := at.Add(-e.limits.ForgetAfter).Unix()
	for _, s := range e.services.list() {
		if s.trigger != nil && s.asked.Load() < limit {
			e.services.remove(s)
			e.log.Info("forgot a trigger that nobody asked for", "service", s.id)
		}
	}
}

// batch is one reading of signals for some services, whose locks it holds.
type batch struct {
	at      time.Time
	reads   []reading
	queries [][]config.Query
}

// reading is what one service gets in a batch.
type reading struct {
	service *service
	inputs  scaler.Inputs
	// asked says what the queries are; arrivals is the outcome of the one for the predictor.
	asked    *asked
	arrivals arrivals
	// pods collects what the metric store knows of the pods; nil where it is not asked.
	pods *podReading
	// held services are evaluated for the record only: what they were before is not known yet.
	held bool
	// open counts the queries that are not reported yet.
	open int
}

// evaluate decides some services, or all of them. Where reading the past takes longer than an activation has, services
// whose past has to be read first wait for the whole tick, which has more time: attempts that are given up every second
// would take the processors from the one that can succeed.
func (e *Engine) evaluate(ctx context.Context, at time.Time, due []*service, whole bool) {
	b := &batch{at: at, reads: make([]reading, 0, len(due)), queries: make([][]config.Query, 0, len(due))}
	for _, s := range due {
		if !s.mu.TryLock() {
			continue
		}
		if !whole && !s.rebuilt && e.slowPast.Load() {
			s.mu.Unlock()
			continue
		}
		e.enter(b, s)
	}
	e.rebuild(ctx, b)
	rest := e.slices()
	finish := func(i int) {
		e.finish(b, i)
		rest()
	}
	for i := range b.reads {
		if b.reads[i].open == 0 {
			finish(i)
		}
	}
	e.source.Read(ctx, at, b.queries, func(i, query int, samples []scaler.Sample, err error) {
		r := &b.reads[i]
		e.take(r, query, samples, err)
		if r.open--; r.open == 0 {
			finish(i)
		}
	})
	for i := range b.reads {
		if b.reads[i].open > 0 {
			finish(i) // a source that broke its promise; missing is not zero
		}
	}
}

// enter adds a service to a batch. A new configuration takes effect here, between two evaluations.
func (e *Engine) enter(b *batch, s *service) {
	e.switchOver(s)
	e.takeOver(s, b.at)
	r := reading{service: s, inputs: scaler.Inputs{
		Signals: s.signals, CurrentReplicas: -1, HPATolerance: defaultTolerance,
	}}
	if e.cluster != nil && s.trigger != nil {
		e.guard("reading the pods", s, func() {
			r.inputs.Pods = e.cluster.Pods(s.trigger.Namespace, s.trigger.ScaledObject)
		})
		if r.inputs.Pods.Known {
			r.inputs.CurrentReplicas = r.inputs.Pods.Ready + len(r.inputs.Pods.Starting)
		}
		e.guard("reading the replicas", s, func() { e.readReplicas(s.trigger, &r.inputs) })
		e.guard("reading the nodes", s, func() { e.span(s, &r.inputs, b.at) })
	}
	r.asked = s.ask(!r.inputs.Pods.Known)
	if r.asked.pods >= 0 {
		r.pods = &podReading{}
	}
	r.open = len(r.asked.queries)
	b.reads = append(b.reads, r)
	b.queries = append(b.queries, r.asked.queries)
}

// readReplicas prefers what the autoscaler itself sees over a count of pods.
func (e *Engine) readReplicas(t *Trigger, inputs *scaler.Inputs) {
	reader, ok := e.cluster.(ReplicaReader)
	if !ok {
		return
	}
	current, tolerance := reader.Replicas(t.Namespace, t.ScaledObject)
	if current >= 0 {
		inputs.CurrentReplicas = current
	}
	if tolerance >= 0 {
		inputs.HPATolerance = tolerance
	}
}

// defaultTolerance is the autoscaler's own; what a whole cluster is set to cannot be seen from here.
const defaultTolerance = 0.1

// take notes the outcome of one query.
func (e *Engine) take(r *reading, query int, samples []scaler.Sample, err error) {
	switch {
	case query == r.asked.rate:
		r.arrivals = arrivalsOf(samples, err)
		return
	case r.pods != nil && query >= r.asked.pods:
		e.takePods(r, query-r.asked.pods, samples, err)
		return
	}
	if err == nil && r.service.compiled.Queries[query].PerReadyPod {
		if r.pods != nil {
			r.pods.means = append(r.pods.means, meanReading{query, samples})
			return
		}
		samples, err = multiply(samples, r.inputs.Pods)
	}
	e.takeSignal(r, query, samples, err)
}

func (e *Engine) takeSignal(r *reading, query int, samples []scaler.Sample, err error) {
	q := &r.service.compiled.Queries[query]
	if err != nil {
		if r.inputs.Errors == nil {
			r.inputs.Errors = map[scaler.Signal]string{}
		}
		r.inputs.Errors[q.Signal] = err.Error()
		e.metrics.signalErrors.WithLabelValues(string(q.Signal), classOf(err)).Inc()
	}
	if len(samples) > 0 {
		r.inputs.Signals[q.Signal] = samples
	}
}

func multiply(samples []scaler.Sample, pods scaler.Pods) ([]scaler.Sample, error) {
	if !pods.Known {
		return nil, errReadyUnknown
	}
	out := make([]scaler.Sample, len(samples))
	for i, s := range samples {
		out[i] = scaler.Sample{At: s.At, Value: s.Value * float64(pods.Serving())}
	}
	return out, nil
}

func classOf(err error) string {
	var classed interface{ Class() string }
	if errors.As(err, &classed) {
		return classed.Class()
	}
	return "other"
}

// finish decides one service of a batch and lets go of it. Whatever goes wrong, the entry stays as it was.
func (e *Engine) finish(b *batch, i int) {
	r := &b.reads[i]
	r.open = -1
	s := r.service
	defer s.mu.Unlock()
	defer clear(s.signals)
	if r.pods != nil {
		e.guard("counting the pods", s, func() { e.countPods(r, b.at) })
	}
	e.guard("the evaluation", s, func() { e.decide(b, r) })
}

// guard keeps a fault in one service, or in one part of what it is decided by, away from everything else.
func (e *Engine) guard(what string, s *service, do func()) {
	defer func() {
		if p := recover(); p != nil {
			e.metrics.evaluations.WithLabelValues("panic").Inc()
			e.log.Error("a fault of warmpool; what it concerns is left as it was",
				"in", what, "service", s.id, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	do()
}

// decide evaluates one service and publishes the decision.
func (e *Engine) decide(b *batch, r *reading) {
	s := r.service
	policy := s.compiled.Policy
	policy.Override = e.overrideAt(s, b.at)
	policy.Frozen, policy.FrozenReason = e.frozen(HalfScaler)
	e.guard("the forecast", s, func() { r.inputs.Forecast = e.plan(s, r.arrivals, b.at) })
	next := &entry{keep: keepFor(&policy, e.config.Load().EvaluationInterval)}
	if s.forecast != nil {
		next.coverage = &s.forecast.coverage
	}
	from := &Evaluation{policy, s.state, r.inputs}
	decision, state := &next.decision, s.state
	*decision, state = scaler.Evaluate(policy, state, r.inputs, b.at)
	if r.held {
		withoutHistory(decision)
		from = nil // that is not what the inputs alone say
	} else {
		s.state, s.evaluated = state, b.at
	}
	e.publish(s, next, from)
}

// keepFor is how long a decision may be answered when no new one comes: as long as a sample would vote.
func keepFor(p *scaler.Policy, interval time.Duration) time.Duration {
	const staleAfter = 90 * time.Second
	if p.StaleAfter > 0 {
		return p.StaleAfter + interval
	}
	return staleAfter + interval
}

// switchOver takes a recompiled service into use. What was learnt stays; samples of a query that is another one now do
// not.
func (e *Engine) switchOver(s *service) {
	if next := s.next.Swap(nil); next != nil {
		s.state.Last = maps.Clone(s.state.Last)
		for _, q := range s.compiled.Queries {
			if !sameQuery(q, next.Queries) {
				delete(s.state.Last, q.Signal)
			}
		}
		s.compiled = next
		s.forecast = e.forecasts.of(next)
	}
}

func sameQuery(q config.Query, among []config.Query) bool {
	for _, other := range among {
		if other.Signal == q.Signal {
			return other.Expr == q.Expr && maps.Equal(other.Match, q.Match) && other.Scale == q.Scale
		}
	}
	return false
}
