package scaler

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// service is a simulated replica set: requests take s seconds, and the latency is s until a replica holds more than
// limit requests, then it rises in proportion.
type service struct {
	s, limit, objective float64
	noise               float64
}

func (v service) learn(minutes int, perReplica func(minute int) float64, rng *rand.Rand) Observed {
	policy := Policy{LatencyObjective: time.Duration(v.objective * float64(time.Second))}
	var o Observed
	for minute := range minutes {
		each := perReplica(minute)
		latency := v.s * max(1, each/v.limit)
		noisy := func(x float64) float64 { return x * (1 + v.noise*rng.NormFloat64()) }
		o = Learn(&policy, o, Observation{
			At: caseStart.Add(time.Duration(minute) * time.Minute), Ready: 4, Waiting: 0,
			Running: max(noisy(4*each), 0), Rate: 4 * each / latency, Latency: latency,
		})
	}
	return o
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Little's law finds the service time, on the safe side and with a confidence that grows.
func TestLearnServiceTime(t *testing.T) {
	v := service{s: 8, limit: 1000, objective: 10, noise: 0.2}
	last := 0.0
	for _, minutes := range []int{5, 20, 60, 600} {
		o := v.learn(minutes, func(m int) float64 { return 4 + float64(m%7) }, rng())
		e := o.ServiceTime()
		if e.Confidence <= last {
			t.Errorf("after %d minutes the confidence %v is not above %v", minutes, e.Confidence, last)
		}
		last = e.Confidence
		if e.Value <= o.X/o.Y {
			t.Errorf("after %d minutes %v is not on the safe side of %v", minutes, e.Value, o.X/o.Y)
		}
		if minutes >= 60 && (e.Value < 7.8 || e.Value > 8.8) {
			t.Errorf("after %d minutes: %+v, want 8", minutes, e)
		}
	}
	if last < 0.85 {
		t.Errorf("the confidence after ten hours is %v", last)
	}
	o := v.learn(5, func(int) float64 { return 4 }, rng())
	if e := o.ServiceTime(); e.Confidence >= usableConfidence {
		t.Errorf("believed after five minutes: %+v", e)
	}
}

func TestLearnServiceTimeByLatency(t *testing.T) {
	var o Observed
	for minute := range 60 {
		at := caseStart.Add(time.Duration(minute) * time.Minute)
		o = Learn(&Policy{}, o, Observation{At: at, Ready: -1, Running: -1, Rate: 3, Waiting: 0, Latency: 4})
		o = Learn(&Policy{}, o, Observation{At: at.Add(20 * time.Second), Waiting: 0, Running: -1, Latency: 400}) // too soon
	}
	if e := o.ServiceTime(); !o.ByLatency || e.Value < 3.99 || e.Value > 4.01 || e.Samples > 60 {
		t.Errorf("%+v", e)
	}
	// With requests waiting, the arrivals are not what is being served.
	before := o
	o = Learn(&Policy{}, o, Observation{At: caseStart.Add(2 * time.Hour), Waiting: 5, Running: 10, Rate: 1, Latency: 90})
	if o.X != before.X || o.Weight != before.Weight {
		t.Error("an observation with a queue was counted")
	}
	// A running count starts the estimate anew.
	o = Learn(&Policy{}, o, Observation{At: caseStart.Add(3 * time.Hour), Waiting: 0, Running: 10, Rate: 1, Latency: 90})
	if o.ByLatency || o.Weight != 1 {
		t.Errorf("mixed two kinds: %+v", o)
	}
}

// The concurrency is believed once its limit was seen; the highest count of a service that was never full is not.
func TestLearnConcurrency(t *testing.T) {
	v := service{s: 8, limit: 16, objective: 10}
	ramp := func(m int) float64 { return 2 + float64(m%24) } // 2 to 25 a replica; the objective is met up to 20
	o := v.learn(24*30, ramp, rng())
	if e := o.Concurrency(); e.Value < 14 || e.Value > 20 || e.Confidence < usableConfidence {
		t.Errorf("%+v, want at most 20 with confidence", e)
	}
	light := v.learn(24*30, func(m int) float64 { return 1 + float64(m%4) }, rng())
	if e := light.Concurrency(); e.Confidence >= usableConfidence || e.Value > 4.01 {
		t.Errorf("a light load is believed: %+v", e)
	}
	none := v.learn(100, func(int) float64 { return 25 }, rng())
	if e := none.Concurrency(); e.Value != 0 {
		t.Errorf("never met the objective, but %+v", e)
	}
	if n := len(o.Levels); n > maxLevels {
		t.Errorf("%d levels", n)
	}
	unknown := Learn(&Policy{}, Observed{}, Observation{At: caseStart, Ready: 4, Running: 40, Latency: 3})
	if len(unknown.Levels) > 0 {
		t.Error("learned without an objective")
	}
}

// A queue shows the limit of an engine that holds no more than so many requests.
func TestLearnConcurrencyByQueue(t *testing.T) {
	policy := Policy{LatencyObjective: 10 * time.Second}
	var o Observed
	for minute := range 200 {
		obs := Observation{At: caseStart.Add(time.Duration(minute) * time.Minute), Ready: 2, Running: 30, Latency: 8}
		if minute%10 == 0 {
			obs.Running, obs.Waiting, obs.Latency = 32, 20, 30
		}
		o = Learn(&policy, o, obs)
	}
	if e := o.Concurrency(); e.Value < 14.9 || e.Value > 16 || e.Confidence < usableConfidence {
		t.Errorf("%+v, want 15", e)
	}
}

// What is learned takes the place of what the policy leaves open, is shown, and never replaces what it states.
func TestLearnedCapacityIsUsed(t *testing.T) {
	v := service{s: 8, limit: 16, objective: 10}
	observed := v.learn(24*30, func(m int) float64 { return 2 + float64(m%24) }, rng())
	policy := Policy{Max: 100, MaxUtilization: 0.8, Sources: sources(Waiting, Running), LatencyObjective: 10 * time.Second}
	in := at(caseStart.AddDate(0, 0, 1), map[Signal]float64{Running: 160, Waiting: 0})
	d, _ := Evaluate(policy, State{Observed: observed}, in, caseStart.AddDate(0, 0, 1))
	if d.Replicas < 10 || d.Replicas > 15 || d.Capacity.LearnedConcurrency.Confidence < usableConfidence {
		t.Errorf("%s %+v", d.Text, d.Capacity)
	}
	if !strings.Contains(d.Text, "slots (learned, confidence ") {
		t.Errorf("the confidence is not in %q", d.Text)
	}
	byRate := policy
	byRate.Concurrency, byRate.Sources = 16, sources(Waiting, Rate)
	rateIn := at(caseStart.AddDate(0, 0, 1), map[Signal]float64{Rate: 16, Waiting: 0})
	d, _ = Evaluate(byRate, State{Observed: observed}, rateIn, caseStart.AddDate(0, 0, 1))
	if d.Replicas < 10 || d.Replicas > 14 || !strings.Contains(d.Text, "req/s (learned, confidence ") {
		t.Errorf("16 req/s of 8 to 10 s over 16 slots at 80 %% need 10 to 13: %s", d.Text)
	}
	policy.Concurrency = 100
	if d, _ = Evaluate(policy, State{Observed: observed}, in, caseStart.AddDate(0, 0, 1)); d.Replicas != 2 {
		t.Errorf("the stated 100 slots were not used: %s", d.Text)
	}
	policy.Concurrency = 0
	if d, _ = Evaluate(policy, State{}, in, caseStart.AddDate(0, 0, 1)); len(d.Votes) != 0 || !slices.Contains(d.Reasons, ReasonCapacityUnknown) {
		t.Errorf("a vote without any capacity: %s", d.Text)
	}
}
