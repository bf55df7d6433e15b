package scaler

import (
	"math"
	"slices"
	"time"
)

const (
	// observeEvery keeps the observations apart, so that their number says something about their independence.
	observeEvery = time.Minute
	// serviceHalfLife and levelHalfLife are how fast old observations of service time and of concurrency lose weight.
	serviceHalfLife = 6 * time.Hour
	levelHalfLife   = 7 * 24 * time.Hour
	// levelRatio is the width of a concurrency level, and maxLevels bounds their number.
	levelRatio = 1.15
	maxLevels  = 64
	// levelSeen is how many observations a level needs to count; acceptable is the largest share of them that may have
	// missed the objective.
	levelSeen  = 3
	acceptable = 0.1
	// usableConfidence is from which confidence a learned value replaces an unknown one.
	usableConfidence = 0.5
	// unlimited scales the confidence of a concurrency whose limit was never seen: it is a lower bound only.
	unlimited = 0.3
)

// Capacity is what one replica is taken to carry, and what was learned about it.
type Capacity struct {
	// Concurrency is in requests, ServiceSeconds in seconds, Rate in requests per second; 0 is unknown.
	Concurrency    float64 `json:"concurrency,omitempty"`
	ServiceSeconds float64 `json:"serviceSeconds,omitempty"`
	Rate           float64 `json:"rate,omitempty"`
	// LearnedConcurrency and LearnedService are the estimates from the service's own metrics, used or not. They are
	// used where the policy leaves the value open and the confidence is at least 0.5.
	LearnedConcurrency Estimate `json:"learnedConcurrency,omitzero"`
	LearnedService     Estimate `json:"learnedService,omitzero"`
}

// Estimate is a learned value with its confidence between 0 and 1 and the weight of the observations behind it.
type Estimate struct {
	Value      float64 `json:"value"`
	Confidence float64 `json:"confidence"`
	Samples    float64 `json:"samples"`
}

// Observed is what the service's own metrics told about a replica's capacity. Old observations fade.
type Observed struct {
	At time.Time `json:"at,omitzero"`
	// ByLatency tells that the service time comes from the latency alone, not from Little's law.
	ByLatency bool `json:"byLatency,omitempty"`
	// Weight and the sums belong to the ratio of X (requests in service, or latency) to Y (arrival rate, or 1).
	Weight float64 `json:"weight,omitempty"`
	X      float64 `json:"x,omitempty"`
	Y      float64 `json:"y,omitempty"`
	XX     float64 `json:"xx,omitempty"`
	XY     float64 `json:"xy,omitempty"`
	YY     float64 `json:"yy,omitempty"`
	// Levels count, by requests per ready replica, whether the latency met the objective; ascending.
	Levels []Level `json:"levels,omitempty"`
}

// Level is a narrow range of requests per ready replica.
type Level struct {
	Bin int `json:"bin"`
	// Good and Bad are observations with nothing waiting whose latency met or missed the objective, Full ones with
	// requests waiting: the replica took no more. Sum adds up the requests per replica of the good ones.
	Good float64 `json:"good,omitempty"`
	Bad  float64 `json:"bad,omitempty"`
	Full float64 `json:"full,omitempty"`
	Sum  float64 `json:"sum,omitempty"`
}

// Observation is one look at the service's metrics; a negative value is unknown. Latency is in seconds, Rate in
// requests per second, and Ready in replicas.
type Observation struct {
	At                              time.Time
	Ready                           int
	Waiting, Running, Rate, Latency float64
}

// Learn adds an observation, at most one a minute.
//
// The service time follows from Little's law, requests in service = rate x time, as the ratio of the sums of the two;
// without a running count it is the mean latency. Only observations with nothing waiting count, because otherwise
// arrivals are not what is being served. The concurrency is the highest level of requests per ready replica at which
// nine of ten observations met the latency objective; it is believed only once a limit above it was seen, since the
// highest count of a lightly loaded service says nothing about what it could hold.
func Learn(policy *Policy, o Observed, obs Observation) Observed {
	if !o.At.IsZero() && obs.At.Sub(o.At) < observeEvery {
		return o
	}
	elapsed := obs.At.Sub(o.At)
	if o.At.IsZero() {
		elapsed = 0
	}
	o.At = obs.At
	o = o.addService(obs, elapsed)
	if policy.LatencyObjective > 0 && obs.Ready > 0 && obs.Running >= float64(obs.Ready) {
		o.Levels = addLevel(o.Levels, obs, elapsed, policy.LatencyObjective.Seconds())
	}
	return o
}

func (o Observed) addService(obs Observation, elapsed time.Duration) Observed {
	x, y, byLatency := obs.Running, obs.Rate, false
	if x < 0 || y < 0 {
		x, y, byLatency = obs.Latency, 1, true
	}
	if obs.Waiting != 0 || x < 0 || y <= 0 || (byLatency && x == 0) {
		return o
	}
	if byLatency != o.ByLatency {
		o.ByLatency = byLatency
		o.Weight, o.X, o.Y, o.XX, o.XY, o.YY = 0, 0, 0, 0, 0, 0
	}
	f := math.Exp2(-elapsed.Seconds() / serviceHalfLife.Seconds())
	o.Weight = o.Weight*f + 1
	o.X, o.Y = o.X*f+x, o.Y*f+y
	o.XX, o.XY, o.YY = o.XX*f+x*x, o.XY*f+x*y, o.YY*f+y*y
	return o
}

// addLevel returns the levels with one more observation; the list passed in is not changed.
func addLevel(levels []Level, obs Observation, elapsed time.Duration, objective float64) []Level {
	f := math.Exp2(-elapsed.Seconds() / levelHalfLife.Seconds())
	faded := make([]Level, 0, len(levels)+1)
	for _, l := range levels {
		l.Good, l.Bad, l.Full, l.Sum = l.Good*f, l.Bad*f, l.Full*f, l.Sum*f
		if l.Good+l.Bad+l.Full > 0.05 {
			faded = append(faded, l)
		}
	}
	each := obs.Running / float64(obs.Ready)
	bin := int(math.Log(each) / math.Log(levelRatio))
	i, found := slices.BinarySearchFunc(faded, bin, func(l Level, bin int) int { return l.Bin - bin })
	if !found {
		if len(faded) >= maxLevels {
			return faded
		}
		faded = slices.Insert(faded, i, Level{Bin: bin})
	}
	switch l := &faded[i]; {
	case obs.Waiting > 0:
		l.Full++
	case obs.Waiting < 0 || obs.Latency < 0:
	case obs.Latency <= objective:
		l.Good++
		l.Sum += each
	default:
		l.Bad++
	}
	return faded
}

// ServiceTime estimates how long a request holds a slot, in seconds: the ratio plus one standard error, because too
// long a time costs a replica and too short a one costs requests.
func (o *Observed) ServiceTime() Estimate {
	if o.Weight <= 1 || o.Y <= 0 {
		return Estimate{Samples: o.Weight}
	}
	r := o.X / o.Y
	residual := max(o.XX-2*r*o.XY+r*r*o.YY, 0)
	deviation := math.Sqrt(residual/o.Weight) / math.Sqrt(o.Weight) / (o.Y / o.Weight)
	relative := 0.0
	if r > 0 {
		relative = deviation / r
	}
	return Estimate{
		Value:      r + deviation,
		Confidence: o.Weight / (o.Weight + 30) * max(0, 1-2*relative),
		Samples:    o.Weight,
	}
}

// Concurrency estimates how many requests one replica holds within the latency objective.
func (o *Observed) Concurrency() Estimate {
	best, limit := Estimate{}, false
	for _, l := range o.Levels {
		seen := l.Good + l.Bad
		if seen >= levelSeen && l.Bad/seen > acceptable {
			limit = true
			break
		}
		if seen >= levelSeen {
			best = Estimate{Value: l.Sum / l.Good, Samples: l.Good}
			limit = false
		}
		limit = limit || l.Full >= levelSeen
	}
	best.Confidence = best.Samples / (best.Samples + 10)
	if !limit {
		best.Confidence *= unlimited
	}
	return best
}

// capacityOf is what the policy says of a replica, completed by what was learned with enough confidence.
func capacityOf(p *Policy, o *Observed) Capacity {
	c := Capacity{
		Concurrency: p.Concurrency, ServiceSeconds: p.ServiceTime.Seconds(), Rate: p.RatePerReplica,
		LearnedConcurrency: o.Concurrency(), LearnedService: o.ServiceTime(),
	}
	if c.Concurrency <= 0 && c.LearnedConcurrency.Confidence >= usableConfidence {
		c.Concurrency = c.LearnedConcurrency.Value
	}
	if c.ServiceSeconds <= 0 && c.LearnedService.Confidence >= usableConfidence {
		c.ServiceSeconds = c.LearnedService.Value
	}
	if c.Rate <= 0 && c.ServiceSeconds > 0 {
		c.Rate = c.Concurrency / c.ServiceSeconds
	}
	return c
}

// observation is what this evaluation has seen; only new samples tell anything.
func (e *evaluation) observation() Observation {
	obs := Observation{At: e.now, Ready: -1, Waiting: -1, Running: -1, Rate: -1, Latency: -1}
	if e.in.Pods.Known {
		obs.Ready = e.in.Pods.Serving()
	}
	for i, v := range [...]*float64{waiting: &obs.Waiting, running: &obs.Running, rate: &obs.Rate, latency: &obs.Latency} {
		if r := &e.readings[i]; r.fresh {
			*v = r.value
		}
	}
	return obs
}
