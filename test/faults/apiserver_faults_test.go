package faults

// clusterFault is one of the API server. Targets follow from the metric store alone; what is missing is the view of pods
// and node groups.
func clusterFault(name string, inject func(w *world) func()) *fault {
	return &fault{
		part: "API server", name: name, clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: viewReturns,
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

// viewReturns is checked by every step without such a fault: it waits until the view has caught up.
var viewReturns = claim{"the view is read anew with the client's next attempt; targets never stopped", func(r *record) error { return r.right(0) }}

var clusterFaults = []*fault{
	clusterFault("is down: no connection", func(w *world) func() { return w.apiP.cut(w.t) }),
	clusterFault("says that every watch has expired (410)", func(w *world) func() {
		w.api.setExpired(true)
		return func() { w.api.setExpired(false) }
	}),
	clusterFault("forbids everything (403)", func(w *world) func() {
		w.api.setForbidden(true)
		return func() { w.api.setForbidden(false) }
	}),
	clusterFault("is stale: nothing that changes is told", func(w *world) func() {
		w.api.setStale(true)
		return func() { w.api.setStale(false) }
	}),
}
