package engine

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// recordEvery is how often a decision is recorded that does not differ from the one before.
const recordEvery = 5 * time.Minute

// recorded is what the log last got of a service.
type recorded struct {
	at               time.Time
	replicas         int
	unavailable      string
	binding, limited string
	reasons          []string
}

// record adds a decision to the log if it says something new: another target, another reason, or nothing for five
// minutes. A record for each of 10,000 services and each tick would drown what matters.
func (e *Engine) record(s *service, d *scaler.Decision, from *Evaluation) {
	if d.Unavailable == "" {
		e.metrics.answered.Inc()
	} else {
		e.metrics.unavailable.Inc()
	}
	e.remember(s, d, from)
}

// remember adds a decision to the past of its service and, if it says something new, to the log. The caller holds s.mu.
func (e *Engine) remember(s *service, d *scaler.Decision, from *Evaluation) {
	s.past.add(d, s.arrivals, pastLength(int(e.services.count.Load())))
	last := &s.recorded
	changed := last.at.IsZero() || last.replicas != d.Replicas || last.unavailable != d.Unavailable
	if !changed && last.binding == d.Binding && last.limited == d.Limited && slices.Equal(last.reasons, d.Reasons) &&
		d.Time.Sub(last.at) < recordEvery {
		return
	}
	if changed {
		e.log.Debug("replica target", "service", s.id, "replicas", d.Replicas, "binding", d.Binding, "unavailable", d.Unavailable)
	}
	*last = recorded{d.Time, d.Replicas, d.Unavailable, d.Binding, d.Limited, d.Reasons}
	if e.decisions != nil {
		record := e.decisions.AddScaler(*d)
		if from != nil {
			e.evaluations.add(record.ID, Situation{At: d.Time, Target: from.keep()})
		}
	}
}
