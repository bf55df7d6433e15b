package engine

import (
	"context"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

const (
	// longestRewind bounds what is read again after a start; the metric store gives it in one request per expression.
	longestRewind = time.Hour
	// rebuildFor is how long a service goes without an answer because its history cannot be read.
	rebuildFor = time.Minute
)

// rebuild gives the services of a batch that were never evaluated the state they would have, so that a restart scales
// nothing down, and brings the others over evaluations that are missing. While the history cannot be read, a service has
// no answer, which leaves its replicas alone; after a minute of that, or with a stored state, it starts without.
func (e *Engine) rebuild(ctx context.Context, b *batch) {
	step := e.config.Load().EvaluationInterval
	to := b.at.Add(-step)
	behind, gaps, from := b.behind(step, to)
	if len(behind) == 0 {
		return
	}
	queries := make([][]config.Query, len(behind))
	histories := make([]scaler.History, len(behind))
	// One expression that cannot be read is enough where the present count is unknown: what it demanded would be missing
	// from the window.
	read, failed := make([]bool, len(behind)), make([]bool, len(behind))
	for i, at := range behind {
		queries[i] = b.reads[at].service.compiled.Queries
		histories[i] = scaler.History{Signals: map[scaler.Signal][]scaler.Sample{}, Current: b.reads[at].inputs.CurrentReplicas, Step: step}
	}
	ctx, cancel := mostOf(ctx)
	defer cancel()
	e.source.Rewind(ctx, from, to, step, queries,
		func(i, query int, samples []scaler.Sample, err error) {
			known := err == nil || classOf(err) == classEmpty
			read[i] = read[i] || known
			if q := &queries[i][query]; !q.PerReadyPod {
				failed[i] = failed[i] || !known
				histories[i].Signals[q.Signal] = samples
			}
		})
	e.slowPast.Store(ctx.Err() != nil)
	held := 0
	for i, at := range behind {
		r := &b.reads[at]
		if g, ok := gaps[at]; ok {
			if e.catchUp(r.service, g, histories[i], !read[i] || failed[i], to) {
				held++
			}
			continue
		}
		lost := !read[i] || failed[i] && histories[i].Current < 0
		r.held = !e.resume(r.service, histories[i], lost, len(queries[i]) > 0 && b.at.Sub(r.service.rebuildSince) < rebuildFor, to)
	}
	e.tellGaps(b, gaps, held)
}

// behind are the services of the batch whose state is not of the tick before, by position: those that were never
// evaluated, and those with a gap. from is when the history of all of them has to begin.
func (b *batch) behind(step time.Duration, to time.Time) (behind []int, gaps map[int]gap, from time.Time) {
	window := time.Duration(0)
	from = to
	for i := range b.reads {
		s := b.reads[i].service
		if g, missed := gapOf(s, b.at, step); missed {
			if gaps == nil {
				gaps = map[int]gap{}
			}
			gaps[i] = g
			behind = append(behind, i)
			from = earliest(from, g.from)
			continue
		}
		if s.rebuilt {
			continue
		}
		if s.rebuildSince.IsZero() {
			s.rebuildSince = b.at
		}
		behind = append(behind, i)
		window = max(window, s.compiled.Policy.ScaleDown.Window)
		from = earliest(from, to.Add(-min(max(window, 4*step), longestRewind)))
	}
	return behind, gaps, from
}

// resume gives a service its state, unless its history is lost and may still be read later: then it reports false.
func (e *Engine) resume(s *service, history scaler.History, lost, mayWait bool, to time.Time) bool {
	stored, ok := e.store.state(s.id)
	if lost && !ok && s.carried == nil && mayWait {
		return false
	}
	history.Stored = stored // its answer is not below what the rest of the history says
	s.rebuilt = true
	s.state = e.carry(s, scaler.Rebuild(s.compiled.Policy, history, to), to)
	return true
}

// withoutHistory takes back an answer that could be lower than the last one before a restart.
func withoutHistory(d *scaler.Decision) {
	if d.Unavailable == "" {
		d.Unavailable, d.Active = "the last scale-down window cannot be read from the metric store yet", false
	}
}

// classEmpty is the class of a failure that is an answer all the same: the store knows no such series.
const classEmpty = "empty"

// mostOf leaves a third of the time to the reading itself. The past of 10,000 services has forty times as many points as
// their present.
func mostOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)*2/3)
}
