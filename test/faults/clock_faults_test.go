package faults

import (
	"fmt"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

func errFor(o observation, service string, d scaler.Decision) error {
	return fmt.Errorf("tick %d: %s: replicas %d, unavailable %q, reasons %v", o.tick, service, d.Replicas, d.Unavailable, d.Reasons)
}

// jump sets the clock of warmpool wrong, all others stay.
func jump(by time.Duration) func(w *world) func() {
	return func(w *world) func() {
		w.offset.Add(int64(by))
		return func() { w.offset.Add(-int64(by)) }
	}
}

var (
	nothing = claim{"nothing: all readings are an hour old at once, and answers of the metric store are of another time (`skew`)", func(r *record) error {
		return r.decisions(services, func(_ int, d scaler.Decision) bool { return d.Unavailable != "" })
	}}
	aging = claim{"as when the metric store is down: its answers are of another time (`skew`), so that the traffic of an hour ago is not taken for that of now", held.check}
)

var clockFaults = []*fault{
	{
		part: "Clock", name: "of warmpool jumps 1 h ahead, and back", clients: []claim{unreachable, answers}, decided: []claim{nothing}, recovers: atOnce,
		inject: jump(time.Hour), excludes: []string{"of warmpool jumps 1 h back, and ahead"},
	},
	{
		part: "Clock", name: "of warmpool jumps 1 h back, and ahead", clients: []claim{holds, answers}, decided: []claim{aging}, recovers: atOnce, inject: jump(-time.Hour),
	},
}
