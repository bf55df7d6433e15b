package backtest

import (
	"math"

	"github.com/warmpool/warmpool/predictor"
)

// Forecaster is a rival: it sees one value after the other, NaN where nothing
// was recorded, and forecasts the one that lies ahead steps later.
type Forecaster interface {
	Observe(y float64)
	Forecast(ahead int) float64
}

// Points are the forecasts of one method by horizon and step of issue; NaN where
// it failed.
type Points map[int][]float64

// Collect runs a forecaster over the values and keeps its forecasts. Until it has
// one the last value stands in. A forecast after that which is no number is a
// failure and stays one: scored as if it had said the last value, a method could
// win by failing when it is hard.
func Collect(f Forecaster, values []float64, horizons []int) Points {
	out := Points{}
	for _, h := range horizons {
		out[h] = make([]float64, len(values))
	}
	last := 0.0
	begun := map[int]bool{}
	for t, y := range values {
		if !math.IsNaN(y) {
			last = y
		}
		f.Observe(y)
		for _, h := range horizons {
			p := f.Forecast(h)
			switch {
			case !math.IsNaN(p) && !math.IsInf(p, 0):
				begun[h] = true
			case begun[h]:
				p = math.NaN()
			default:
				p = last
			}
			out[h][t] = max(0, p)
		}
	}
	return out
}

// failures counts the steps at which a method failed at any horizon.
func (p Points) failures() int {
	failed := map[int]bool{}
	for _, values := range p {
		for t, v := range values {
			if math.IsNaN(v) {
				failed[t] = true
			}
		}
	}
	return len(failed)
}

// orders are what a method would order, by setting and step of decision.
type orders struct {
	open   [][]int32 // never below the need now
	closed [][]int32 // as the forecast alone says
	bound  []float64 // reported 0.9 bound by step of decision
	online []int32   // setting steered without hindsight
}

func newOrders(settings, n int) *orders {
	o := &orders{bound: make([]float64, n), online: make([]int32, n)}
	for range settings {
		o.open = append(o.open, make([]int32, n))
		o.closed = append(o.closed, make([]int32, n))
	}
	return o
}

// ruler is what all methods of one series share.
type ruler struct {
	demand
	series Series
	c1     float64
	span   Span
	target float64 // share of short steps that online settings aim at
	floor  []int32 // need of the last known value, by step of decision
}

func newRuler(s Series, c1, target float64, span Span) *ruler {
	r := &ruler{series: s, c1: c1, span: span, target: target}
	r.demand = demand{y: s.Values, hold: int(10 * 60 / s.Step.Seconds())}
	last := 0.0
	for _, y := range s.Values {
		need := int32(0)
		if !math.IsNaN(y) {
			last = y
			need = int32(predictor.Replicas(y, c1))
		}
		r.need = append(r.need, need)
		r.floor = append(r.floor, int32(predictor.Replicas(last, c1)))
	}
	return r
}

const plainDays = 7

// plainOrders sweeps the quantile of a plain bound around point forecasts.
func (r *ruler) plainOrders(p []float64, h int) *orders {
	perDay := r.series.perDay()
	bound := newPlainBound(r.c1, plainDays*perDay)
	out := newOrders(len(Quantiles)+len(Stretches), len(p))
	from := max(perDay, r.span.From-(plainDays+1)*perDay)
	steer := quantileSteering{tail: startTail(r.target), target: r.target}
	var bounds []float64
	for t := range p {
		if t-h >= from {
			bound.learn(t, r.y[t], p[t-h])
		}
		if !math.IsNaN(r.y[t]) && t >= h && len(bound.sorted) >= 50 {
			steer.learn(r.capacity(out.online, t, h) < r.need[t])
		}
		bounds = bound.sweep(p[t], bounds[:0])
		for i, u := range bounds {
			n := int32(predictor.Replicas(u, r.c1))
			out.closed[i][t] = n
			out.open[i][t] = max(n, r.floor[t])
		}
		out.bound[t] = max(p[t], p[t]+bound.score(0.9)*bound.spread(p[t]))
		u := p[t] + bound.score(1-steer.tail)*bound.spread(p[t])
		out.online[t] = max(int32(predictor.Replicas(u, r.c1)), r.floor[t])
	}
	return out
}

// quantileSteering moves the tail left above a bound by its outcomes.
type quantileSteering struct{ tail, target float64 }

func startTail(target float64) float64 { return min(max(1.5*target, 0.0005), 0.5) }

func (q *quantileSteering) learn(short bool) {
	step := 0.12 * q.target
	if short {
		step = -0.12 * (1 - q.target)
	}
	q.tail = min(max(q.tail*math.Exp(step), 0.0005), 0.5)
}

// pricedOrders collects the orders of outlooks at every price.
type pricedOrders struct {
	*orders
	r     *ruler
	h     int
	steer predictor.Steering
}

func (r *ruler) newPriced(h int) *pricedOrders {
	return &pricedOrders{
		orders: newOrders(len(Prices), len(r.y)), r: r, h: h,
		steer: predictor.NewSteering(r.target),
	}
}

const steerScores = 50

// add takes the outlook issued at step t.
func (o *pricedOrders) add(t int, outlook *predictor.Outlook) {
	r := o.r
	if !math.IsNaN(r.y[t]) && t >= o.h && outlook.Tail.Scores() >= steerScores {
		o.steer.Learn(r.capacity(o.online, t, o.h) < r.need[t])
	}
	for i, price := range Prices {
		o.closed[i][t] = int32(outlook.Order(r.c1, price, 1))
		o.open[i][t] = int32(outlook.Order(r.c1, price, int(r.floor[t])))
	}
	o.bound[t] = outlook.Upper
	o.online[t] = int32(outlook.Order(r.c1, o.steer.Price(), int(r.floor[t])))
}

// scaledOrders gives point forecasts a learnt error scale and the price rule.
func (r *ruler) scaledOrders(p []float64, h int, cal predictor.Calendar, w predictor.ScaleWeights) *orders {
	u := predictor.NewUncertainty(cal, r.series.Step, h, r.c1, w)
	out := r.newPriced(h)
	first := r.series.Start.Unix() / int64(r.series.Step.Seconds())
	for t := range p {
		u.Learn(first+int64(t), r.y[t])
		outlook := u.Issue(p[t], t >= r.series.perDay())
		out.add(t, &outlook)
	}
	return out.orders
}
