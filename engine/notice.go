package engine

import (
	"context"
	"time"
)

// A NoticeWatcher is a [Cluster] that tells when machines are given notice.
type NoticeWatcher interface {
	// Noticed returns a channel that has an entry after a node was given notice.
	Noticed() <-chan struct{}
}

// noticeLoop evaluates at once when a machine was given notice: of its two minutes a whole interval would be an eighth.
func (e *Engine) noticeLoop(ctx context.Context) {
	watcher, ok := e.cluster.(NoticeWatcher)
	if !ok {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-watcher.Noticed():
		}
		reading, cancel := context.WithTimeout(ctx, shortestActivation)
		e.Notice(reading, e.clock())
		cancel()
	}
}

// Notice evaluates the services with replicas on machines that were given notice since they were last evaluated.
func (e *Engine) Notice(ctx context.Context, at time.Time) {
	reader, ok := e.cluster.(TargetReader)
	if !ok || !e.Leading() || !e.config.Load().Spot.ReplaceAtNotice {
		return
	}
	started := time.Now()
	due := e.due(func(s *service) bool {
		line := s.entry.Load()
		if s.trigger == nil || line == nil {
			return false
		}
		target, _, ok := reader.ReplicasOf(s.trigger.Namespace, s.trigger.ScaledObject, at)
		if !ok {
			return false
		}
		doomed := 0
		for i := range target.Replicas {
			if !target.Replicas[i].Doomed.IsZero() {
				doomed++
			}
		}
		return doomed > line.decision.Doomed
	})
	if len(due) == 0 {
		return
	}
	e.evaluate(ctx, at, due, false)
	e.metrics.ticks.WithLabelValues("notice").Observe(time.Since(started).Seconds())
}
