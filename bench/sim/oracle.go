package sim

import "time"

// Oracle is a clairvoyant plan with the same start-up time as everybody: it knows every request of the load, has each
// replica ready exactly when it is needed, and keeps one that is needed again within a start-up time, because a restart
// would cost as much. It is the lower bound of the comparison: less capacity than this makes requests late.
type Oracle struct {
	// wanted[i] is the number of replicas to have ordered in second i of the load.
	wanted []int16
	start  time.Time
}

// demandWindow is over how long the oracle averages the busy slots: a queue of that length is within the objective.
const demandWindow = MaxWait

// NewOracle plans for a load. Headroom above 0 keeps that share of slots in addition.
func NewOracle(l *Load, startup time.Duration, headroom float64) *Oracle {
	need := busyReplicas(l, headroom)
	lead := int(startup / time.Second)
	o := &Oracle{wanted: make([]int16, len(need)), start: l.Start}
	highest := int16(0)
	for _, n := range need {
		highest = max(highest, n)
	}
	for level := int16(1); level <= highest; level++ {
		o.plan(need, level, lead)
	}
	return o
}

// plan orders one replica of a level: from lead before each busy time to its end, joined where the gap is not longer
// than the lead.
func (o *Oracle) plan(need []int16, level int16, lead int) {
	last := -1 << 30
	for i, n := range need {
		if n < level {
			continue
		}
		from := max(0, i-lead)
		if i-last <= lead+1 {
			from = last + 1
		}
		for j := max(from, last+1); j <= i; j++ {
			o.wanted[j] = level
		}
		last = i
	}
}

// busyReplicas is the number of replicas that hold all requests at once, in each second, with unlimited replicas.
func busyReplicas(l *Load, headroom float64) []int16 {
	q := NewQueue(l)
	seconds := int(l.End().Sub(l.Start) / time.Second)
	busy := make([]float64, seconds)
	for i := range busy {
		q.Advance(l.Start.Add(time.Duration(i+1)*time.Second), 1<<30)
		busy[i] = float64(q.Running())
	}
	need := make([]int16, seconds)
	window := int(demandWindow / time.Second)
	var sum float64
	for i := range busy {
		sum += busy[i]
		if i >= window {
			sum -= busy[i-window]
		}
		need[i] = int16(max(1, ceilNeed(sum/float64(min(i+1, window))*(1+headroom)/Slots)))
	}
	return need
}

// Name implements Policy.
func (o *Oracle) Name() string { return "oracle" }

// Interval implements Policy.
func (o *Oracle) Interval() time.Duration { return time.Second }

// Slot implements Policy.
func (o *Oracle) Slot(time.Time, float64) {}

// Act implements Policy.
func (o *Oracle) Act(obs Observation) int {
	i := int(obs.Now.Sub(o.start) / time.Second)
	if i >= len(o.wanted) {
		return obs.Replicas
	}
	return int(o.wanted[i])
}
