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
// nothing down. While the history cannot be read, a service has no answer, which leaves its replicas alone; after a
// minute of that, or with a stored state, it starts without.
func (e *Engine) rebuild(ctx context.Context, b *batch) {
	fresh, queries, window := b.unrebuilt()
	if len(fresh) == 0 {
		return
	}
	step := e.config.Load().EvaluationInterval
	to := b.at.Add(-step)
	histories := make([]scaler.History, len(fresh))
	// One expression that cannot be read is enough where the present count is unknown: what it demanded would be missing
	// from the window.
	read, failed := make([]bool, len(fresh)), make([]bool, len(fresh))
	for i := range histories {
		histories[i] = scaler.History{Signals: map[scaler.Signal][]scaler.Sample{}, Current: -1, Step: step}
		histories[i].Current = b.reads[fresh[i]].inputs.CurrentReplicas
	}
	ctx, cancel := halfOf(ctx)
	defer cancel()
	e.source.Rewind(ctx, to.Add(-min(max(window, 4*step), longestRewind)), to, step, queries,
		func(i, query int, samples []scaler.Sample, err error) {
			known := err == nil || classOf(err) == classEmpty
			read[i] = read[i] || known
			if q := &queries[i][query]; !q.PerReadyPod {
				failed[i] = failed[i] || !known
				histories[i].Signals[q.Signal] = samples
			}
		})
	for i, at := range fresh {
		r := &b.reads[at]
		lost := !read[i] || failed[i] && histories[i].Current < 0
		r.held = !e.resume(r.service, histories[i], lost, len(queries[i]) > 0 && b.at.Sub(r.service.rebuildSince) < rebuildFor, to)
	}
}

// unrebuilt are the services of the batch that were never evaluated, by position, with their queries and the longest of
// their scale-down windows.
func (b *batch) unrebuilt() (fresh []int, queries [][]config.Query, window time.Duration) {
	for i := range b.reads {
		s := b.reads[i].service
		if s.rebuilt {
			continue
		}
		if s.rebuildSince.IsZero() {
			s.rebuildSince = b.at
		}
		fresh = append(fresh, i)
		queries = append(queries, s.compiled.Queries)
		window = max(window, s.compiled.Policy.ScaleDown.Window)
	}
	return fresh, queries, window
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

// halfOf leaves the other half of the time to the reading itself.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}
