package backtest

import (
	"fmt"
	"math"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// Figures are what one method reached on one series at one lead.
type Figures struct {
	Method string
	Lead   time.Duration
	// Failures are the steps at which the method failed. With any, every loss is
	// infinite and no order of it was counted.
	Failures   int
	WAPE       float64
	Coverage   float64 // of the reported 0.9 bound
	Open       Curve
	Closed     Curve
	Online     Outcome // steered to the target without hindsight
	windowless Curve
}

// Options of an evaluation.
type Options struct {
	Calendar predictor.Calendar
	// PerReplica is the load one replica carries; 0 means the mean over 8.
	PerReplica float64
	// MaxShort is the share of short steps that online settings aim at.
	MaxShort float64
	// Leads from an order to a ready replica.
	Leads []time.Duration
	// Closed asks for the closed loop, which needs orders at every horizon.
	Closed bool
	// Service replaces the settings of the predictor where it is set.
	Service func(*predictor.Settings)
}

// Leads that the protocol measures on a grid: short, 30 and 60 minutes.
func Leads(step time.Duration) []time.Duration {
	switch {
	case step >= 30*time.Minute:
		return []time.Duration{30 * time.Minute, time.Hour}
	case step >= 10*time.Minute:
		return []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour}
	default:
		return []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}
	}
}

// Evaluator runs methods over one series on its grid.
type Evaluator struct {
	*ruler
	options  Options
	horizons []int
}

// NewEvaluator prepares a series that is on its grid already.
func NewEvaluator(s Series, o Options) (*Evaluator, error) {
	if o.PerReplica == 0 {
		o.PerReplica = s.Mean() / 8
	}
	if !(o.PerReplica > 0) {
		return nil, fmt.Errorf("series %s carries no load: there is nothing to forecast", s.Name)
	}
	if o.MaxShort == 0 {
		o.MaxShort = 0.02
	}
	e := &Evaluator{options: o, ruler: newRuler(s, o.PerReplica, o.MaxShort, SecondHalf(len(s.Values)))}
	seen := map[int]bool{}
	for _, lead := range o.Leads {
		for _, h := range e.window(lead) {
			seen[h] = true
		}
	}
	for h := 1; h <= s.perDay(); h++ {
		if seen[h] {
			e.horizons = append(e.horizons, h)
		}
	}
	return e, nil
}

// window lists the horizons of which a decision takes the maximum.
func (e *Evaluator) window(lead time.Duration) []int {
	if !e.options.Closed {
		return []int{predictor.HorizonOf(lead, e.series.Step)}
	}
	return predictor.HorizonsFor(lead, e.series.Step)
}

// Horizons that are evaluated.
func (e *Evaluator) Horizons() []int { return e.horizons }

// Plain evaluates point forecasts with a plain bound.
func (e *Evaluator) Plain(method string, p Points) []Figures {
	if n := p.failures(); n > 0 {
		return e.failed(method, n)
	}
	all := map[int]*orders{}
	for _, h := range e.horizons {
		all[h] = e.plainOrders(p[h], h)
	}
	return e.figures(method, p, all, false)
}

// Scaled evaluates point forecasts with a learnt error scale and the price rule.
func (e *Evaluator) Scaled(method string, p Points, w predictor.ScaleWeights) []Figures {
	if n := p.failures(); n > 0 {
		return e.failed(method, n)
	}
	all := map[int]*orders{}
	for _, h := range e.horizons {
		all[h] = e.scaledOrders(p[h], h, e.options.Calendar, w)
	}
	return e.figures(method, p, all, true)
}

// Predicted holds what the predictor says about one series.
type Predicted struct {
	Mix     Points
	Experts [7]Points
	orders  map[int]*orders
}

// Predict runs the predictor over the series once for all horizons.
func (e *Evaluator) Predict(progress func(done, total int)) (*Predicted, error) {
	settings := predictor.Settings{
		Step: e.series.Step, Calendar: e.options.Calendar, PerReplica: e.c1,
		Horizons: e.horizons, MaxShort: e.target,
	}
	if e.options.Service != nil {
		e.options.Service(&settings)
	}
	service, err := predictor.New(settings)
	if err != nil {
		return nil, fmt.Errorf("series %s: %w", e.series.Name, err)
	}
	n := len(e.y)
	out := &Predicted{Mix: Points{}, orders: map[int]*orders{}}
	priced := map[int]*pricedOrders{}
	for _, h := range e.horizons {
		priced[h] = e.newPriced(h)
		out.orders[h] = priced[h].orders
		out.Mix[h] = make([]float64, n)
		for k := range out.Experts {
			if out.Experts[k] == nil {
				out.Experts[k] = Points{}
			}
			out.Experts[k][h] = make([]float64, n)
		}
	}
	for t, y := range e.y {
		service.Observe(e.series.At(t), y, !math.IsNaN(y))
		for _, o := range service.Outlooks() {
			out.Mix[o.Horizon][t] = o.Value
			for k := range out.Experts {
				v := o.Experts[k]
				if math.IsNaN(v) {
					v = o.Value
				}
				out.Experts[k][o.Horizon][t] = v
			}
			priced[o.Horizon].add(t, &o)
		}
		if progress != nil {
			progress(t+1, n)
		}
	}
	return out, nil
}

// Predictor evaluates the predictor's own orders.
func (e *Evaluator) Predictor(method string, p *Predicted) []Figures {
	return e.figures(method, p.Mix, p.orders, true)
}

func (e *Evaluator) figures(method string, p Points, all map[int]*orders, priced bool) []Figures {
	var out []Figures
	for _, lead := range e.options.Leads {
		h := predictor.HorizonOf(lead, e.series.Step)
		f := Figures{Method: method, Lead: lead}
		f.WAPE, f.Coverage = e.errors(p[h], all[h].bound, h)
		f.Open = Curve{Priced: priced}
		for _, o := range all[h].open {
			f.Open.Outcomes = append(f.Open.Outcomes, e.openLoop(o, h, e.span))
		}
		f.Online = e.openLoop(all[h].online, h, e.span)
		if e.options.Closed {
			f.Closed = e.closedCurve(all, lead, priced, e.window(lead))
			f.windowless = e.closedCurve(all, lead, priced, []int{h})
		}
		out = append(out, f)
	}
	return out
}

// failed are the figures of a method that failed.
func (e *Evaluator) failed(method string, failures int) []Figures {
	var out []Figures
	lost := Outcome{Cost: math.Inf(1), Paid: math.Inf(1)}
	for _, lead := range e.options.Leads {
		never := Curve{Outcomes: []Outcome{lost}}
		out = append(out, Figures{
			Method: method, Lead: lead, Failures: failures, WAPE: math.Inf(1),
			Open: never, Closed: never, Online: lost, windowless: never,
		})
	}
	return out
}

// Windowless is the closed loop with the order for the lead alone.
func (f Figures) Windowless() Curve { return f.windowless }

func (e *Evaluator) closedCurve(all map[int]*orders, lead time.Duration, priced bool, window []int) Curve {
	h := predictor.HorizonOf(lead, e.series.Step)
	c := Curve{Priced: priced}
	wanted := make([]int32, len(e.y))
	for i := range all[h].closed {
		clear(wanted)
		for _, k := range window {
			for t, n := range all[k].closed[i] {
				wanted[t] = max(wanted[t], n)
			}
		}
		c.Outcomes = append(c.Outcomes, e.closedLoop(wanted, h, e.span, e.series.perDay()))
	}
	return c
}

func (e *Evaluator) errors(p, bound []float64, h int) (wape, coverage float64) {
	var off, total float64
	var covered, steps int
	for s := e.span.From; s < e.span.To; s++ {
		if !e.scored(s, e.span) || s < h {
			continue
		}
		off += math.Abs(e.y[s] - p[s-h])
		total += e.y[s]
		steps++
		if e.y[s] <= bound[s-h] {
			covered++
		}
	}
	return off / total, float64(covered) / float64(steps)
}
