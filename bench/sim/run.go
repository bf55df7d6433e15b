package sim

import (
	"math"
	"slices"
	"time"
)

// Policy decides how many replicas a service has. It sees what a production autoscaler could see, and nothing else.
type Policy interface {
	// Name identifies the policy in reports.
	Name() string
	// Interval is how often it acts; a multiple of a second.
	Interval() time.Duration
	// Slot tells the mean arrival rate of a slot of [Slot] length in requests per second, in order; NaN was not
	// recorded. The slots of the time before the run come first.
	Slot(start time.Time, rate float64)
	// Act answers the number of replicas to have from now on.
	Act(o Observation) int
}

// Foreseer is a policy that forecasts: what it expects to need, in replicas, by the time that what it orders now is
// ready. It is only for plots; below 0, or NaN, is no forecast.
type Foreseer interface{ Foreseen() float64 }

// Observation is the service as metrics show it.
type Observation struct {
	Now time.Time
	// Replicas is how many exist, Ready how many serve; the others have the ages in Starting, youngest last.
	Replicas, Ready int
	Starting        []time.Duration
	Waiting         int
	Running         int
	// Utilization is the share of the slots of the ready replicas that are busy; 0 without any.
	Utilization float64
	// Rate is the arrival rate over [RateWindow] in requests per second.
	Rate float64
}

// RunOptions are the settings of a closed loop that do not belong to a policy.
type RunOptions struct {
	// Startup is the time from order to a ready replica.
	Startup time.Duration
	// ScoreFrom is where the record begins; RunIn is how long before that the loop begins.
	ScoreFrom time.Time
	RunIn     time.Duration
	Min, Max  int
	// HourlyCost is the price of one replica, starting ones included.
	HourlyCost float64
	// Sample is the distance of the points of the timeline; 0 keeps none.
	Sample time.Duration
	// Progress, when set, is told the share of the run that is done, now and then.
	Progress func(float64)
}

// Result is the record of one policy on one load.
type Result struct {
	Policy string
	Traffic
	// GPUHours counts replicas from order to removal, ReadyHours those that served; one replica is one GPU.
	GPUHours, ReadyHours float64
	Cost                 float64
	// Changes counts changes of the wanted number of replicas.
	Changes int
	// ShortMinutes counts minutes whose arrivals kept more slots busy than the ready replicas have.
	ShortMinutes int
	Timeline     []Point
}

// Point is one moment of a timeline.
type Point struct {
	At             time.Time
	Need           float64
	Replicas       int
	Ready, Waiting int
	// Foreseen is what a [Foreseer] expects one start-up time later; -1 without a forecast.
	Foreseen float64
}

// loop is one running closed loop.
type loop struct {
	load     *Load
	policy   Policy
	o        RunOptions
	queue    *Queue
	now      time.Time
	ready    int
	starting []time.Time // when each was ordered, in order
	result   Result
}

// Run plays a load against a policy.
func Run(l *Load, p Policy, o RunOptions) Result {
	start := o.ScoreFrom.Add(-o.RunIn)
	if start.Before(l.Start) {
		start = l.Start
	}
	start = start.Truncate(time.Second)
	q := NewQueue(l)
	q.SkipTo(start)
	q.ScoreFrom(o.ScoreFrom)
	r := &loop{load: l, policy: p, o: o, queue: q, now: start, result: Result{Policy: p.Name()}}
	r.history(start)
	r.ready = max(o.Min, min(o.Max, ceilNeed(l.Rate(start, start.Add(Slot))/l.ReplicaRate())))
	end := l.End().Truncate(time.Second)
	total := end.Sub(start)
	for r.now.Before(end) {
		r.second()
		if o.Progress != nil && r.now.Sub(start)%(6*time.Hour) == 0 {
			o.Progress(float64(r.now.Sub(start)) / float64(total))
		}
	}
	r.result.Traffic = q.Record()
	r.result.Cost = r.result.GPUHours * o.HourlyCost
	return r.result
}

func ceilNeed(x float64) int { return int(math.Ceil(x - 1e-9)) }

// history tells the policy what was recorded before the run.
func (r *loop) history(until time.Time) {
	at, rates := r.load.Series.Resample(Slot)
	for _, rate := range rates {
		if at.Add(Slot).After(until) {
			return
		}
		r.policy.Slot(at, rate)
		at = at.Add(Slot)
	}
}

// second moves the loop by one second.
func (r *loop) second() {
	r.now = r.now.Add(time.Second)
	r.queue.Advance(r.now, r.ready*Slots)
	for len(r.starting) > 0 && !r.starting[0].Add(r.o.Startup).After(r.now) {
		r.starting = r.starting[1:]
		r.ready++
	}
	if scored := r.now.After(r.o.ScoreFrom); scored {
		r.result.GPUHours += float64(r.ready+len(r.starting)) / 3600
		r.result.ReadyHours += float64(r.ready) / 3600
		if r.now.Truncate(time.Minute).Equal(r.now) && r.load.Rate(r.now.Add(-time.Minute), r.now)*r.load.MeanHold.Seconds() > float64(r.ready*Slots) {
			r.result.ShortMinutes++
		}
		if r.o.Sample > 0 && r.now.Truncate(r.o.Sample).Equal(r.now) {
			foreseen := -1.0
			if f, ok := r.policy.(Foreseer); ok && f.Foreseen() >= 0 {
				foreseen = f.Foreseen()
			}
			r.result.Timeline = append(r.result.Timeline, Point{
				At: r.now, Need: r.load.Rate(r.now.Add(-r.o.Sample), r.now) / r.load.ReplicaRate(),
				Replicas: r.ready + len(r.starting), Ready: r.ready, Waiting: r.queue.Waiting(), Foreseen: foreseen,
			})
		}
	}
	if r.now.Truncate(Slot).Equal(r.now) {
		r.policy.Slot(r.now.Add(-Slot), r.load.Rate(r.now.Add(-Slot), r.now))
	}
	if r.now.Truncate(r.policy.Interval()).Equal(r.now) {
		r.scale(min(r.o.Max, max(r.o.Min, r.policy.Act(r.observe()))))
	}
}

func (r *loop) observe() Observation {
	o := Observation{
		Now: r.now, Replicas: r.ready + len(r.starting), Ready: r.ready, Waiting: r.queue.Waiting(), Running: r.queue.Running(),
		Rate: r.load.Rate(r.now.Add(-RateWindow), r.now),
	}
	for _, at := range r.starting {
		o.Starting = append(o.Starting, r.now.Sub(at))
	}
	if r.ready > 0 {
		o.Utilization = min(1, float64(o.Running)/float64(r.ready*Slots))
	}
	return o
}

// scale changes the number of replicas: new ones start, and of those that are too many the youngest starting ones go
// first.
func (r *loop) scale(n int) {
	have := r.ready + len(r.starting)
	if n == have {
		return
	}
	if r.now.After(r.o.ScoreFrom) {
		r.result.Changes++
	}
	for ; have < n; have++ {
		r.starting = append(r.starting, r.now)
	}
	drop := min(have-n, len(r.starting))
	if drop > 0 {
		r.starting = slices.Clone(r.starting[:len(r.starting)-drop])
		have -= drop
	}
	for ; have > n; have-- {
		r.queue.Drain(r.ready)
		r.ready--
	}
}
