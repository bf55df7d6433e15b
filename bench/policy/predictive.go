package policy

import (
	"math"
	"time"

	"github.com/warmpool/warmpool/bench/policy/forecast"
	"github.com/warmpool/warmpool/bench/sim"
)

// perDay is the number of slots of a day.
const perDay = int(24 * time.Hour / sim.Slot)

func ceilGuard(x float64) int { return int(math.Ceil(x - 1e-9)) }

// forecaster is what the rivals' forecasts have in common.
type forecaster interface {
	Observe(y float64)
	Forecast(ahead int) float64
}

// predictive is an autoscaler that takes the larger of what the present rate and what a forecast need, as the predictive
// add-ons for the horizontal pod autoscaler do.
type predictive struct {
	name     string
	hpa      *sim.HPA
	env      Env
	headroom float64
	rival    func(forecast.Grid) forecaster
	forecast forecaster
	// value is the newest forecast; it changes once a slot.
	value float64
}

// Name implements sim.Policy.
func (p *predictive) Name() string { return p.name }

// Interval implements sim.Policy.
func (p *predictive) Interval() time.Duration { return sim.HPASync }

// Slot implements sim.Policy. What is ordered now is ready one start-up time later: the forecast is for the slot that
// begins by then.
func (p *predictive) Slot(start time.Time, rate float64) {
	if p.forecast == nil {
		first := int(start.Sub(start.Truncate(24*time.Hour)) / sim.Slot)
		p.forecast = p.rival(forecast.Grid{PerDay: perDay, First: first})
	}
	p.forecast.Observe(rate)
	p.value = p.forecast.Forecast(1 + int((p.env.Startup+sim.Slot-1)/sim.Slot))
}

// Foreseen implements sim.Foreseer.
func (p *predictive) Foreseen() float64 { return p.value / p.env.rate() }

// Act implements sim.Policy.
func (p *predictive) Act(o sim.Observation) int {
	need := o.Rate
	if p.value > need { // NaN is not
		need = p.value
	}
	return p.hpa.Sync(o.Now, o.Replicas, o.Ready, sim.Average(need*(1+p.headroom), p.env.rate()))
}

func newPredictive(name string, e Env, headroom float64, rival func(forecast.Grid) forecaster) sim.Policy {
	return &predictive{name: name, hpa: sim.NewHPA(e.Min, e.Max), env: e, headroom: headroom, rival: rival}
}

// newHoltWinters is a predictive autoscaler with triple exponential smoothing over a day.
func newHoltWinters(e Env, headroom float64) sim.Policy {
	return newPredictive("holt-winters", e, headroom, func(g forecast.Grid) forecaster { return forecast.NewHoltWinters(g) })
}

// newLinear extrapolates the newest quarter of an hour, as AIBrix's predictive option does.
func newLinear(e Env, headroom float64) sim.Policy {
	return newPredictive("linear", e, headroom, func(g forecast.Grid) forecaster { return forecast.NewLinear(g) })
}

// newWeekMaximum takes the maximum around the same time a week ago, as Mimir's query autoscaling does.
func newWeekMaximum(e Env, headroom float64) sim.Policy {
	return newPredictive("week-maximum", e, headroom, func(g forecast.Grid) forecaster { return forecast.NewWeekMaximum(g) })
}

// kedaCron is a ScaledObject with two triggers: the request rate per replica, and a cron window over the busy hours with
// a floor that the operator took from last week's traffic.
type kedaCron struct {
	hpa   *sim.HPA
	env   Env
	share float64
	// rates holds the slots of the last seven days, newest last.
	rates []float64
	// from and to bound the hours of the day with the cron floor.
	from, to int
	floor    int
	planned  time.Time
}

func newKEDACron(e Env, share float64) sim.Policy {
	return &kedaCron{hpa: sim.NewHPA(e.Min, e.Max), env: e, share: share}
}

// Name implements sim.Policy.
func (p *kedaCron) Name() string { return "keda-cron" }

// Interval implements sim.Policy.
func (p *kedaCron) Interval() time.Duration { return sim.HPASync }

// Slot implements sim.Policy. Once a week the operator looks at the last seven days and sets the window anew.
func (p *kedaCron) Slot(start time.Time, rate float64) {
	if len(p.rates) == 7*perDay {
		p.rates = append(p.rates[:0], p.rates[1:]...)
	}
	p.rates = append(p.rates, rate)
	if len(p.rates) >= perDay && (p.planned.IsZero() || start.Sub(p.planned) >= 7*24*time.Hour) {
		p.planned = start
		p.plan(start)
	}
}

// plan puts the window around the hours whose mean rate is above the daily mean, from the first to the last of them, and
// the floor at the mean rate inside it.
func (p *kedaCron) plan(newest time.Time) {
	var sum, n [24]float64
	var total, count float64
	for i, rate := range p.rates {
		if math.IsNaN(rate) {
			continue
		}
		h := newest.Add(time.Duration(i-len(p.rates)+1) * sim.Slot).Hour()
		sum[h], n[h] = sum[h]+rate, n[h]+1
		total, count = total+rate, count+1
	}
	p.from, p.to, p.floor = 24, 0, 0
	var inside, slots float64
	for h := range sum {
		if n[h] > 0 && sum[h]/n[h] > total/count {
			p.from, p.to = min(p.from, h), h+1
			inside, slots = inside+sum[h], slots+n[h]
		}
	}
	if slots > 0 {
		p.floor = ceilGuard(inside / slots / p.env.rate())
	}
}

// Act implements sim.Policy. The window opens one start-up time before the busy hours.
func (p *kedaCron) Act(o sim.Observation) int {
	cron := 1
	if h := o.Now.Add(p.env.Startup).Hour(); h >= p.from && o.Now.Hour() < p.to {
		cron = max(p.floor, 1)
	}
	return p.hpa.Sync(o.Now, o.Replicas, o.Ready, sim.Average(o.Rate, p.share*p.env.rate()), sim.Average(float64(cron), 1))
}
