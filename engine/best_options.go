package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// placement is the state of the expander half.
type placement struct {
	// turn is held while a request is decided: each decision builds on what the one before it has learnt.
	turn    chan struct{}
	store   HistoryStore
	history expander.History
	loaded  bool
	// last is the outcome of the last request, for people.
	last atomic.Pointer[placed]
	// failing is set while the history cannot be saved.
	failing  bool
	heldBack heldBack
}

func (p *placement) init(store HistoryStore) { p.turn, p.store = make(chan struct{}, 1), store }

// storeTimeout bounds loading and saving the history inside a call; the caller's own deadline is 5 s.
const storeTimeout = time.Second

// The causes of an answer that keeps every option although nobody wanted that.
const (
	causeBusy  = "busy"
	causePanic = "panic"
	causeCheck = "self-check"
)

// BestOptions chooses a node group for one request of the Cluster Autoscaler and records the choice. Requests are
// decided one after the other; one whose turn does not come in time fails with [ErrBusy], which the caller takes as
// "keep all". Everything else that goes wrong gives a decision that keeps every option and says so.
func (e *Engine) BestOptions(ctx context.Context, request expander.Request) (expander.Decision, error) {
	started, now := time.Now(), e.clock()
	select {
	case e.placement.turn <- struct{}{}:
		defer func() { <-e.placement.turn }()
	case <-ctx.Done():
		e.failed(causeBusy)
		return expander.Decision{}, fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
	e.loadHistory(ctx, now)
	policy := e.config.Load().Expander
	if policy == nil {
		return passThrough(request, now, expander.Observe, "expander-not-configured"), nil
	}
	if on, _ := e.frozen(HalfExpander); on && !policy.Frozen {
		frozen := *policy
		frozen.Frozen = true
		policy = &frozen
	}
	e.joinHistory()
	request = e.observed(policy, request, now)
	before := e.placement.history
	view, decision, history := e.choose(policy, request, now)
	e.placement.history = history
	e.saveHistory(ctx)
	e.placement.last.Store(&placed{decision, request.Groups, history})
	if e.decisions != nil {
		record := e.decisions.AddExpander(decision)
		e.situations.add(record.ID, Situation{At: now, Request: request, View: view, History: before})
	}
	e.placement.heldBack.update(request, &decision)
	e.metrics.chose(&decision, time.Since(started))
	return decision, nil
}

// failed counts an answer that keeps every option because of a fault.
func (e *Engine) failed(cause string) {
	e.failOpen.Add(1)
	e.metrics.failOpen.WithLabelValues(cause).Inc()
}

// observed shows a request to the view of the cluster, which may know more of its pods.
func (e *Engine) observed(policy *expander.Policy, request expander.Request, now time.Time) (known expander.Request) {
	observer, ok := e.cluster.(RequestObserver)
	if !ok {
		return request
	}
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("the view of the cluster failed to take in a request; it is decided as it came",
				"error", fmt.Sprint(p), "stack", string(debug.Stack()))
			known = request
		}
	}()
	return observer.ObserveRequest(policy, request, now)
}

// choose calls the core and checks what it says. A fault in it must not cost the caller its options.
func (e *Engine) choose(policy *expander.Policy, request expander.Request, now time.Time) (view expander.View, d expander.Decision, h expander.History) {
	h = e.placement.history
	defer func() {
		if p := recover(); p != nil {
			e.failed(causePanic)
			e.log.Error("choosing a node group failed; every option is kept", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			d, h = passThrough(request, now, policy.Mode, "internal-error"), e.placement.history
		}
	}()
	if e.cluster != nil {
		view = e.suspected(e.cluster.ExpanderView(now))
	}
	decision, history := expander.Select(policy, view, request, h, now)
	if problem := check(&decision, request, policy); problem != "" {
		e.failed(causeCheck)
		e.log.Error("the chosen answer is not a valid one; every option is kept", "problem", problem)
		return view, passThrough(request, now, policy.Mode, "internal-error"), h
	}
	return view, decision, history
}

// check holds an answer against the contract: ids of the request only, each once, and none only as a veto that the
// caller understands.
func check(d *expander.Decision, request expander.Request, policy *expander.Policy) string {
	known := make(map[string]bool, len(request.Options))
	for _, o := range request.Options {
		known[o.GroupID] = true
	}
	for _, id := range d.Answer {
		first, ok := known[id]
		switch {
		case !ok:
			return fmt.Sprintf("answer %q is no option of the request", id)
		case !first:
			return fmt.Sprintf("answer %q is given twice", id)
		}
		known[id] = false
	}
	if len(d.Answer) == 0 && len(known) > 0 && (d.Outcome != expander.Veto || !policy.VetoSupported) {
		return "an empty answer that is no veto"
	}
	return ""
}

// ids lists the groups of the options, each once, in the order of the request.
func ids(request expander.Request) []string {
	list := make([]string, 0, len(request.Options))
	seen := make(map[string]bool, len(request.Options))
	for _, o := range request.Options {
		if !seen[o.GroupID] {
			seen[o.GroupID] = true
			list = append(list, o.GroupID)
		}
	}
	return list
}

func passThrough(request expander.Request, now time.Time, mode expander.Mode, reason string) expander.Decision {
	d := expander.Decision{
		Time: now, Outcome: expander.PassThrough, Selected: []string{}, Answer: ids(request), Mode: mode, Reasons: []string{reason},
	}
	for _, o := range request.Options {
		d.Candidates = append(d.Candidates, expander.Candidate{ID: o.GroupID, NodeCount: o.NodeCount, Pods: len(o.Pods)})
	}
	return d
}

// loadHistory loads what an earlier process has learnt, until it succeeds once. Meanwhile memory serves, and is joined
// with what was loaded.
func (e *Engine) loadHistory(ctx context.Context, now time.Time) {
	p := &e.placement
	if p.loaded || p.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	history, err := p.store.Load(ctx)
	switch {
	case IsCorrupt(err):
		e.log.Error("what the expander had learnt is lost; pods are taken to have waited one stage budget", "error", err)
		history = expander.LostHistory(now)
	case err != nil:
		e.log.Warn("what the expander had learnt cannot be loaded yet", "error", err)
		return
	}
	p.history, p.loaded = expander.MergeHistory(p.history, history), true
}

// joinHistory takes in what other instances have learnt meanwhile.
func (e *Engine) joinHistory() {
	p := &e.placement
	if shared, ok := p.store.(SharedHistory); ok && p.loaded {
		if news, ok := shared.News(); ok {
			p.history = expander.MergeHistory(p.history, news)
		}
	}
}

// saveHistory keeps a failure out of the call: the answer does not depend on it.
func (e *Engine) saveHistory(ctx context.Context) {
	p := &e.placement
	if p.store == nil || !p.loaded {
		return // saving before loading would overwrite what is not known yet
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	joined, err := p.store.Save(ctx, p.history)
	e.metrics.saved("history", err)
	if err == nil {
		p.history = joined
	} else if !p.failing {
		e.log.Error("what the expander has learnt cannot be saved; a restart would forget it", "error", err)
	}
	p.failing = err != nil
}
