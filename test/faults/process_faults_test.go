package faults

import (
	"github.com/warmpool/warmpool/scaler"
)

// unmoved holds where nothing was evaluated since the fault began.
var unmoved = claim{"nothing: no evaluation takes place", func(r *record) error {
	return r.decisions(services, func(_ int, d scaler.Decision) bool { return d.Time.Equal(r.before.board[serviceOf(d)].Time) })
}}

// caughtUp holds where the missed ticks were read from the metric store, and held because of utilisation, for every service.
var caughtUp = claim{"at the next tick. The missed evaluations are made up for from the metric store; because the readings of utilisation are of no use there, the last target holds for one window", func(r *record) error {
	if err := r.right(0); err != nil {
		return err
	}
	return r.w.logs.has("evaluations are missing", "services=2", "held=2")
}}

func serviceOf(d scaler.Decision) string {
	for _, s := range services {
		if d.Service == "ml/"+s {
			return s
		}
	}
	return ""
}

var processFaults = []*fault{
	{
		part: "Process", name: "is suspended for longer than the scale-down window", clients: []claim{unreachable, noChoice}, decided: []claim{unmoved},
		recovers: caughtUp, takes: "edge",
		inject: func(w *world) func() {
			end := w.freshConnections()
			mend := w.edgeProxy.cut(w.t)
			w.suspended++
			return func() { w.suspended--; mend(); end() }
		},
	},
}
