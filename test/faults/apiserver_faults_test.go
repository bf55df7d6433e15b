package faults

import (
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// clusterFault is one of the API server. Targets follow from the metric store alone; what is missing is the view of pods
// and node groups.
func clusterFault(name string, decided claim, inject func(w *world) func()) *fault {
	return &fault{
		part: "API server", name: name, clients: []claim{follows, chooses}, decided: []claim{asEver, decided}, recovers: viewReturns,
		inject: func(w *world) func() {
			w.blind++
			mend := inject(w)
			return func() {
				mend()
				w.blind--
			}
		},
	}
}

var (
	oldView = claim{"the pods are those of the last view", func(r *record) error {
		for _, s := range services {
			if err := r.decisions([]string{s}, func(_ int, d scaler.Decision) bool { return d.CurrentReplicas == r.before.board[s].CurrentReplicas }); err != nil {
				return err
			}
		}
		return nil
	}}
	noView = claim{"the pods are unknown", func(r *record) error {
		return r.decisions(services, func(_ int, d scaler.Decision) bool { return d.CurrentReplicas < 0 })
	}}
	rereadView = claim{"the view is read again and again", func(r *record) error {
		return r.decisions(services, func(_ int, d scaler.Decision) bool { return d.CurrentReplicas > 0 })
	}}
)

// podsKnown tells whether the view knows the pods of every service.
func (w *world) podsKnown() bool {
	for _, s := range services {
		if !w.view.Pods("ml", s).Known {
			return false
		}
	}
	return true
}

// viewReturns is checked by every step without such a fault: it waits until the view has caught up.
var viewReturns = claim{"targets never stopped; the view is read anew with the client's next attempt, within a minute", func(r *record) error { return r.right(0) }}

var clusterFaults = []*fault{
	clusterFault("is down: no connection", oldView, func(w *world) func() {
		mend := w.apiP.cut(w.t)
		w.eventually("the connection is found lost", func() bool { return w.view.Age(time.Now()) > 0 || !w.podsKnown() })
		return mend
	}),
	clusterFault("says that every watch has expired (410)", rereadView, func(w *world) func() {
		w.api.setExpired(true)
		return func() { w.api.setExpired(false) }
	}),
	clusterFault("forbids everything (403)", noView, func(w *world) func() {
		w.api.setForbidden(true)
		w.eventually("the refusal is seen", func() bool { return !w.podsKnown() || w.view.Age(time.Now()) > 0 })
		return func() { w.api.setForbidden(false) }
	}),
	clusterFault("is stale: nothing that changes is told", oldView, func(w *world) func() {
		w.api.setStale(true)
		return func() { w.api.setStale(false) }
	}),
}
