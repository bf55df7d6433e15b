package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// asked is everything that is asked for a service at a tick, made once for each compiled form.
type asked struct {
	of       *config.Service
	withRate bool
	withPods bool
	queries  []config.Query
	// rate and pods are where the query for the predictor and those for the pods begin; -1 without.
	rate, pods int
}

// ask returns the queries of a service: its signals, then the rate for the predictor, then the state of the pods where
// no view of the cluster knows it. The caller holds s.mu.
func (s *service) ask(withPods bool) *asked {
	c := s.compiled
	withPods = withPods && len(c.Pods) > 0
	withRate := s.forecast != nil && c.Forecast.Rate != nil
	if a := &s.asking; a.of == c && a.withRate == withRate && a.withPods == withPods {
		return a
	}
	a := asked{of: c, withRate: withRate, withPods: withPods, queries: c.Queries, rate: -1, pods: -1}
	if withRate {
		a.rate = len(a.queries)
		a.queries = append(slices.Clip(a.queries), *c.Forecast.Rate)
	}
	if withPods {
		a.pods = len(a.queries)
		a.queries = append(slices.Clip(a.queries), c.Pods...)
	}
	s.asking = a
	return &s.asking
}

// podReading is what the metric store knows of the pods of a service.
type podReading struct {
	samples [config.PodsBecameReady + 1][]scaler.Sample
	// means are readings per ready pod that wait for the number of pods.
	means []meanReading
}

type meanReading struct {
	query   int
	samples []scaler.Sample
}

// takePods notes the outcome of one query about the pods. No row is an answer, except to those that must have one.
func (e *Engine) takePods(r *reading, query int, samples []scaler.Sample, err error) {
	if err != nil {
		if class := classOf(err); class != classEmpty {
			e.metrics.signalErrors.WithLabelValues("pods", class).Inc()
		}
		return
	}
	r.pods.samples[query] = samples
}

// countPods turns what the metric store knows into the state of the pods, and readings per ready pod into totals. A
// target at zero has no pods to be counted; every other one without a count of ready pods is unknown.
func (e *Engine) countPods(r *reading, at time.Time) {
	p := r.pods
	if current, ok := newestCount(p.samples[config.PodsReplicas]); ok {
		r.inputs.CurrentReplicas = current
	}
	ready, known := newestCount(p.samples[config.PodsReady])
	if known = known || r.inputs.CurrentReplicas == 0; known {
		pods := scaler.Pods{Known: true, Ready: ready}
		for _, created := range p.samples[config.PodsStarting] {
			pods.Starting = append(pods.Starting, max(0, at.Sub(unixTime(created.Value))))
		}
		for _, took := range p.samples[config.PodsStarts] {
			pods.StartTimes = append(pods.StartTimes, time.Duration(took.Value*float64(time.Second)))
		}
		slices.SortFunc(pods.Starting, func(a, b time.Duration) int { return int(b - a) })
		slices.Sort(pods.StartTimes) // which of them was first is not known
		if last := p.samples[config.PodsBecameReady]; len(last) > 0 {
			pods.BecameReady = unixTime(last[len(last)-1].Value)
		}
		r.inputs.Pods = pods
		if r.inputs.CurrentReplicas < 0 {
			r.inputs.CurrentReplicas = pods.Ready + len(pods.Starting)
		}
	}
	for _, mean := range p.means {
		samples, err := multiply(mean.samples, r.inputs.Pods)
		e.takeSignal(r, mean.query, samples, err)
	}
}

func newestCount(samples []scaler.Sample) (n int, ok bool) {
	if len(samples) == 0 || samples[len(samples)-1].Value > mostPods {
		return 0, false
	}
	return int(samples[len(samples)-1].Value), true
}

// mostPods is beyond any cluster: a larger number is not a count.
const mostPods = 1e6

func unixTime(seconds float64) time.Time {
	return time.UnixMilli(int64(min(seconds, 1e12) * 1000))
}

var errReadyUnknown = errors.New("an average over ready pods needs their number; give warmpool access to the cluster, " +
	"or let it read kube-state-metrics (startup.metrics)")
