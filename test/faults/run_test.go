package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/warmpool/warmpool/scaler"
)

// The course of a run, in ticks: traffic is level, the faults begin one after the other and so they end, then it rises
// and falls. It also rises while the faults last, so that following and holding can be told apart.
const (
	faultsBegin  = 6
	demandRises  = 8
	faultsEnd    = 15
	settled      = faultsEnd + 3
	demandPeaks  = settled + 1
	demandFalls  = demandPeaks + 2
	endOfRun     = demandFalls + 10
	beforeFaults = faultsBegin - 1
)

// demand is the number of running requests of a model.
func (w *world) demand(model string, at time.Time) float64 {
	tick := int(at.Sub(w.base) / interval)
	level := []float64{12, 14, 20, 8}
	if model == "q" {
		level = []float64{5, 6, 9, 3}
	}
	switch {
	case at.Before(w.base.Add(-lookBack)):
		return 1 // who reads the past by mistake sees next to nothing
	case tick >= demandFalls:
		return level[3]
	case tick >= demandPeaks:
		return level[2]
	case tick >= demandRises:
		return level[1]
	}
	return level[0]
}

// observation is one tick of a run.
type observation struct {
	tick int
	round
	// board is what was decided, by service; without an entry there was no decision.
	board map[string]scaler.Decision
}

// run goes through the whole course. Of two faults the first one to begin is the first to end.
func (w *world) run(faults ...*fault) []observation {
	w.t.Helper()
	var ends []func()
	var seen []observation
	for tick := range endOfRun {
		w.tick.Store(int64(tick))
		for i, f := range faults {
			if tick == faultsBegin+i {
				ends = append(ends, f.inject(w))
			}
			if tick == faultsEnd-len(faults)+1+i {
				ends[i]()
			}
		}
		seen = append(seen, w.step())
	}
	return seen
}

// step is one tick with everything that comes with it.
func (w *world) step() observation {
	w.t.Helper()
	w.follow()
	ctx, cancel := context.WithTimeout(context.Background(), w.readFor)
	defer cancel()
	e := w.current()
	if w.suspended == 0 {
		e.Tick(ctx, w.now().Truncate(interval))
	}
	o := observation{tick: int(w.tick.Load()), round: w.clients.ask(), board: map[string]scaler.Decision{}}
	if o.tick == 0 { // the triggers have just become known
		e.Tick(ctx, w.now().Truncate(interval))
		o.round = w.clients.ask()
	}
	if w.suspended == 0 {
		e.Save()
	}
	for _, line := range e.Board() {
		if line.Decision != nil && line.ScaledObject != "" {
			o.board[line.ScaledObject] = *line.Decision
		}
	}
	for service, a := range o.keda {
		if a.code == codes.OK {
			w.replicas[service] = a.value
		}
	}
	return o
}

// follow makes the cluster what KEDA wants it to be, and waits until the view has seen it if it can.
func (w *world) follow() {
	for service, n := range w.replicas {
		w.api.scale(service, n)
	}
	if w.blind > 0 {
		return
	}
	w.eventually("the view of the cluster follows", func() bool {
		for service, n := range w.replicas {
			if p := w.view.Pods("ml", service); !p.Known || p.Ready != n {
				return false
			}
		}
		return true
	})
}

// invariants are what holds under every fault and every pair of them.
func invariants(w *world, seen, twin []observation, faults ...*fault) {
	w.t.Helper()
	wrong := func(o observation, format string, args ...any) {
		w.t.Errorf("%s: tick %d: %s", w.name, o.tick, fmt.Sprintf(format, args...))
	}
	settledAt := settled
	for _, f := range faults {
		settledAt = max(settledAt, faultsEnd+f.settles)
	}
	for i, o := range seen {
		for _, service := range services {
			got, right := o.keda[service], twin[i].keda[service]
			before := seen[beforeFaults].keda[service].value
			switch {
			case o.tick < faultsBegin || o.tick >= settledAt:
				if got != right {
					wrong(o, "%s: %v, and its twin without faults has %v", service, got, right)
				}
			case got.code != codes.OK:
			case got.value < before:
				wrong(o, "%s: the target fell to %d from %d", service, got.value, before)
			case got.value > right.value:
				wrong(o, "%s: the target is %d, above the %d that are right", service, got.value, right.value)
			}
		}
		if len(o.kept) == 0 {
			wrong(o, "no node group is left to the Cluster Autoscaler: %v", o.ca)
		}
		for _, id := range o.kept {
			if !slices.Contains(w.clients.groups, id) {
				wrong(o, "the node group %q was not asked for", id)
			}
		}
		if o.tick >= settledAt && o.ca != codes.OK {
			wrong(o, "BestOptions: %v", o.ca)
		}
	}
	for _, line := range w.logs.crashes() {
		w.t.Errorf("%s: the log has %s", w.name, line)
	}
}

// twins are the runs without faults, by the time they begin at.
type twins struct {
	mu   sync.Mutex
	runs map[time.Time]*twinRun
}

type twinRun struct {
	once sync.Once
	seen []observation
}

func (all *twins) of(t testing.TB, base time.Time) []observation {
	t.Helper()
	all.mu.Lock()
	if all.runs == nil {
		all.runs = map[time.Time]*twinRun{}
	}
	run := all.runs[base]
	if run == nil {
		run = &twinRun{}
		all.runs[base] = run
	}
	all.mu.Unlock()
	run.once.Do(func() { run.seen = newWorld(t, "twin", base).run() })
	if len(run.seen) != endOfRun {
		t.Fatal("the twin did not come to its end")
	}
	return run.seen
}
