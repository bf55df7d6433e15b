package scaler

import (
	"slices"
	"time"
)

// usualPeak is by which factor an order may exceed the need that was not exceeded in 99.5 % of the last 28 days.
const usualPeak = 1.2

// voteForecast records the predictor's order and, when it is used, returns what of it counts above the other votes.
func (e *evaluation) voteForecast(others int) int {
	f := e.in.Forecast
	if f == nil {
		return 0
	}
	v := e.vote("forecast", float64(f.Replicas), false, e.text().str(f.Text))
	v.Used = f.Used
	if !f.Used {
		e.reason(ReasonShadow)
		if f.Reason == ReasonMisses {
			e.reason(ReasonMisses)
		}
		return 0
	}
	limit := others + CeilGuard(e.policy.Forecast.MaxPrewarm*float64(e.max))
	if f.Need995 > 0 {
		limit = min(limit, max(others, CeilGuard(usualPeak*float64(f.Need995))))
	}
	order := f.Replicas
	if order > limit {
		e.reason(ReasonPrewarmLimit)
		order = limit
	}
	if released := e.next.Released; released > 0 {
		switch {
		// The release is over with the peak that did not come: its order has gone, or a larger one has come, or the load.
		case order <= others, 2*order <= released, order > released, 2*others >= released:
			e.next.Released = 0
		default:
			v.Used = false
			e.reason(ReasonPrewarmReleased)
			return 0
		}
	}
	v.Replicas = order
	return order
}

// holdForecast keeps replicas that the forecast needs again so soon that keeping them costs less than starting them
// once more. It never raises the target.
func (e *evaluation) holdForecast(n int) int {
	f := e.in.Forecast
	if f == nil || !f.Used || !e.lastKnown || n >= e.last {
		return n
	}
	breakEven := e.policy.Forecast.BreakEven
	if breakEven <= 0 {
		breakEven = e.lead
	}
	until := e.now.Add(e.lead + breakEven)
	again := 0
	for _, need := range f.Upcoming {
		if !need.At.After(until) {
			again = max(again, need.N)
		}
	}
	if len(f.Upcoming) == 0 && !f.NeedAgain.IsZero() && !f.NeedAgain.After(until) {
		again = e.last
	}
	if held := min(again, e.last); held > n {
		e.hold(ReasonForecastHold, "forecast")
		return held
	}
	return n
}

const (
	// prewarmGrace is how long after its target time the load of a prewarm may come.
	prewarmGrace = 15 * time.Minute
	// prewarmMemory is how long outcomes are counted, and maxMisses how many misses in it stop the forecast.
	prewarmMemory = 24 * time.Hour
	maxMisses     = 3
	// maxPrewarms bounds the record.
	maxPrewarms = 64
)

// The outcomes of a prewarm.
const (
	// PrewarmHit: at least half of the covered load came, and the replicas were ready for it.
	PrewarmHit = "hit"
	// PrewarmLate: the load came before the replicas were ready.
	PrewarmLate = "late"
	// PrewarmMiss: a quarter of an hour after the target time less than half of the covered load had come.
	PrewarmMiss = "miss"
)

// Prewarm is one order of the forecast that lifted the target.
type Prewarm struct {
	// At is when it was ordered and Due when its replicas were to be ready.
	At  time.Time `json:"at"`
	Due time.Time `json:"due"`
	// Base is the need of the other votes at the order, Covered the order, Peak the largest need that came.
	Base    int `json:"base"`
	Covered int `json:"covered"`
	Peak    int `json:"peak"`
	// Short is set when load above Base found fewer ready replicas than it needed.
	Short bool `json:"short,omitempty"`
	// Outcome is empty while the prewarm is open.
	Outcome string `json:"outcome,omitempty"`
}

// PrewarmRecord counts prewarms by outcome over the last 24 hours.
type PrewarmRecord struct {
	Open   int `json:"open"`
	Hits   int `json:"hits"`
	Late   int `json:"late"`
	Misses int `json:"misses"`
}

// followPrewarms brings the open prewarms up to date by the load that really came. What came is judged by the votes of
// the present only, and not at all while one of their sources is missing. The list is copied only when it changes.
func (e *evaluation) followPrewarms(load int) {
	list := e.prev.Prewarms
	for len(list) > 0 && e.now.Sub(list[0].Due) >= prewarmMemory {
		list = list[1:]
	}
	copied := false
	for i := 0; i < len(list); i++ {
		if list[i].Outcome != "" {
			continue
		}
		p := list[i]
		keep := e.follow(&p, load)
		if keep && p == list[i] {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
		}
		if list[i] = p; !keep {
			list = slices.Delete(list, i, i+1)
			i--
		}
	}
	e.next.Prewarms = list
}

// openPrewarm records an order that lifts the target further than the order before, and counts. Orders that come and
// go while one is open belong to it.
func (e *evaluation) openPrewarm(order, load int) {
	list := e.next.Prewarms
	if order > load {
		e.next.Ordered = e.prev.Ordered
	}
	for i := range list {
		if list[i].Outcome == "" {
			e.next.Ordered = max(e.next.Ordered, list[i].Covered)
		}
	}
	if order > load && order > e.next.Ordered {
		e.next.Ordered = order
		list = append(slices.Clip(list), Prewarm{
			At: e.now, Due: e.now.Add(e.orderLead()), Base: load, Covered: order, Peak: load,
		})
		list = list[max(0, len(list)-maxPrewarms):]
	}
	e.next.Prewarms = list
	e.countPrewarms(list)
}

// follow brings an open prewarm up to date and closes it when its time is over. It returns false for one whose outcome
// cannot be known.
func (e *evaluation) follow(p *Prewarm, load int) bool {
	p.Peak = max(p.Peak, load)
	if e.in.Pods.Known && load > p.Base && e.in.Pods.Ready < min(p.Covered, load) {
		p.Short = true
	}
	if e.now.Before(p.Due.Add(prewarmGrace)) {
		return true
	}
	switch {
	case 2*p.Peak < p.Covered && e.demandOpen:
		return false
	case 2*p.Peak < p.Covered:
		p.Outcome = PrewarmMiss
		e.next.Released = max(e.next.Released, p.Covered)
	case p.Short:
		p.Outcome = PrewarmLate
	default:
		p.Outcome = PrewarmHit
	}
	return true
}

// orderLead is the lead that an order was made for.
func (e *evaluation) orderLead() time.Duration {
	if lead := e.in.Forecast.Lead; lead > 0 {
		return lead
	}
	return e.lead
}

// Misses counts the prewarms whose load did not come within the 24 hours before now. From three on the predictor has to
// go to shadow.
func (s *State) Misses(now time.Time) int {
	n := 0
	for i := range s.Prewarms {
		if p := &s.Prewarms[i]; p.Outcome == PrewarmMiss && now.Sub(p.Due) < prewarmMemory {
			n++
		}
	}
	return n
}

func (e *evaluation) countPrewarms(list []Prewarm) {
	if len(list) == 0 {
		return
	}
	record := &PrewarmRecord{}
	for i := range list {
		switch list[i].Outcome {
		case PrewarmHit:
			record.Hits++
		case PrewarmLate:
			record.Late++
		case PrewarmMiss:
			record.Misses++
		default:
			record.Open++
		}
	}
	if record.Misses >= maxMisses {
		e.reason(ReasonMisses)
	}
	e.d.Prewarm = record
}
