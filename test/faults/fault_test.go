package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/warmpool/warmpool/scaler"
)

// fault is one row of the table in docs/reliability.md. The columns are claims, and each claim is checked.
type fault struct {
	// part is what is at fault, name how.
	part, name string
	// inject begins it and returns what ends it.
	inject func(w *world) (end func())
	// clients is what KEDA and the Cluster Autoscaler see, decided what the record of the scaler says meanwhile.
	clients, decided []claim
	// recovers is what happens after the end.
	recovers claim
	// from is when the run begins; the zero time is now.
	from time.Time
	// settles is how many ticks after the end the target must be right; 0 means 3.
	settles int
	// alone faults change the whole process: nothing else runs beside them.
	alone bool
	// takes is what only one fault can have at a time.
	takes string
	// excludes are names of faults of the same part that cannot be there at the same time.
	excludes []string
}

func (f *fault) String() string { return f.part + " " + f.name }

// claim is a sentence of the table with its check over the rounds while the fault lasts, from the first after its
// beginning to the last before its end; after are those from its end on.
type claim struct {
	text  string
	check func(r *record) error
}

// record is a run with one fault, cut up for the claims.
type record struct {
	w                     *world
	before                observation
	during, after         []observation
	duringTwin, afterTwin []observation
}

func recordOf(w *world, seen, twin []observation) *record {
	return &record{
		w: w, before: seen[beforeFaults], during: seen[faultsBegin:faultsEnd], after: seen[faultsEnd:],
		duringTwin: twin[faultsBegin:faultsEnd], afterTwin: twin[faultsEnd:],
	}
}

// each checks every answer to KEDA about some services.
func (r *record) each(services []string, ok func(o observation, service string, a, right, before answer) bool) error {
	for i, o := range r.during {
		for _, s := range services {
			if a := o.keda[s]; !ok(o, s, a, r.duringTwin[i].keda[s], r.before.keda[s]) {
				return fmt.Errorf("tick %d: %s: %+v; before %+v, right is %+v", o.tick, s, a, r.before.keda[s], r.duringTwin[i].keda[s])
			}
		}
	}
	return nil
}

// staleTicks is when the last good reading is too old: it was taken in the tick before the fault, and scraped up to one
// interval earlier.
const staleTicks = 6

var (
	first, second = services[:1], services[1:]

	follows     = claim{"KEDA: the right target", func(r *record) error { return r.follows(services) }}
	holds       = claim{"KEDA: the target from before for 90 s (`staleAfter`), then `Unavailable`", func(r *record) error { return r.holds(services) }}
	halfFollows = claim{"KEDA: services with series the right target; the others the one from before for 90 s, then `Unavailable`", func(r *record) error {
		if err := r.follows(first); err != nil {
			return err
		}
		return r.holds(second)
	}}
	unreachable = claim{"KEDA: `Unavailable`", func(r *record) error {
		return r.each(services, func(_ observation, _ string, a, _, _ answer) bool { return a.code == codes.Unavailable })
	}}
	halfUnknown = claim{"KEDA: services in the file the right target; the others `NotFound`", func(r *record) error {
		if err := r.follows(first); err != nil {
			return err
		}
		return r.each(second, func(_ observation, _ string, a, _, _ answer) bool { return a.code == codes.NotFound })
	}}

	chooses = claim{"Cluster Autoscaler: a choice", func(r *record) error {
		return r.autoscaler(func(o observation) bool { return o.ca == codes.OK && o.chose })
	}}
	noChoice = claim{"Cluster Autoscaler: no connection, it keeps all groups", func(r *record) error {
		return r.autoscaler(func(o observation) bool { return o.ca == codes.Unavailable && !o.chose })
	}}
	answers = claim{"Cluster Autoscaler: an answer", func(r *record) error {
		return r.autoscaler(func(o observation) bool { return o.ca == codes.OK })
	}}

	asEver = claim{"as without the fault", func(r *record) error {
		return r.decisions(services, func(_ int, d scaler.Decision) bool {
			return d.Unavailable == "" && len(d.Missing) == 0 && len(d.Stale) == 0
		})
	}}
	held = claim{"the last values vote and grow old; after 90 s nothing is decided, `all-sources-missing`", func(r *record) error {
		return r.decisions(services, heldAt)
	}}
	halfHeld = claim{"services with series as ever; the others as when the metric store is down", func(r *record) error {
		if err := r.decisions(second, heldAt); err != nil {
			return err
		}
		return r.decisions(first, func(_ int, d scaler.Decision) bool { return len(d.Missing)+len(d.Stale) == 0 })
	}}

	atOnce = claim{"at the next tick", func(r *record) error { return r.right(0) }}
)

// heldAt tells whether a decision n ticks into a fault of the metric store is what it must be.
func heldAt(n int, d scaler.Decision) bool {
	if n >= staleTicks {
		return d.Unavailable != "" && slices.Contains(d.Reasons, scaler.ReasonAllMissing)
	}
	for _, s := range d.Signals {
		if s.Signal == scaler.Running && s.Age < (time.Duration(n+1)*interval).Seconds() {
			return false // something was read
		}
	}
	return n == staleTicks-1 || d.Unavailable == ""
}

func (r *record) follows(services []string) error {
	return r.each(services, func(_ observation, _ string, a, right, _ answer) bool { return a == right })
}

func (r *record) holds(services []string) error {
	return r.each(services, func(o observation, _ string, a, _, before answer) bool {
		switch n := o.tick - faultsBegin; {
		case n >= staleTicks:
			return a.code == codes.Unavailable
		case n == staleTicks-1: // the age of the last sample decides
			return a.code == codes.Unavailable || a == before
		}
		return a == before
	})
}

func (r *record) autoscaler(ok func(o observation) bool) error {
	for _, o := range r.during {
		if !ok(o) {
			return fmt.Errorf("tick %d: %v, %v is left", o.tick, o.ca, o.kept)
		}
	}
	return nil
}

func (r *record) decisions(services []string, ok func(n int, d scaler.Decision) bool) error {
	for i, o := range r.during {
		for _, s := range services {
			if d, known := o.board[s]; !known || !ok(i, d) {
				return fmt.Errorf("tick %d: %s: known %v, replicas %d, unavailable %q, reasons %v, missing %v, stale %v", o.tick, s, known, d.Replicas, d.Unavailable, d.Reasons, d.Missing, d.Stale)
			}
		}
	}
	return nil
}

// right tells whether the answers are those of the twin from so many ticks after the end on.
func (r *record) right(from int) error {
	for i, o := range r.after[from:] {
		for _, s := range services {
			if got, right := o.keda[s], r.afterTwin[from+i].keda[s]; got != right {
				return fmt.Errorf("tick %d: %s: %+v, right is %+v", o.tick, s, got, right)
			}
		}
	}
	return nil
}

// columns are the texts of a row.
func (f *fault) columns() []string {
	join := func(all []claim) string {
		var texts []string
		for _, c := range all {
			texts = append(texts, c.text)
		}
		return strings.Join(texts, ". ")
	}
	return []string{f.String(), join(f.clients), join(f.decided), f.recovers.text}
}
