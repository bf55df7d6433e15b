package engine

import (
	"math"
	"slices"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

// plan feeds the predictor with the reading of a tick and asks it what has to be ready. It returns nil for a service
// without a forecast.
func (e *Engine) plan(s *service, a arrivals, at time.Time) *scaler.Forecast {
	f := s.forecast
	s.arrivals = a
	if f == nil {
		if s.foreseen != nil {
			e.unforesee(s)
		}
		return nil
	}
	lead, rate := e.known(s)
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	s.foreseen = f
	done, ended := f.mean.add(at, a, e.config.Load().EvaluationInterval)
	if ended {
		e.forecasts.borrow(f)
		f.coverage.outcome(done)
		f.observe(done)
		f.compare(done)
	}
	if f.needsPredictor(rate) {
		f.perReplica, f.predictor, f.nextTryAt = rate, nil, time.Time{}
		select {
		case e.forecasts.wake <- struct{}{}:
		default:
		}
	}
	if f.predictor == nil {
		return &scaler.Forecast{Mode: string(predictor.Reactive), Reason: f.waitingFor(), Text: "no forecast yet: " + f.waitingFor()}
	}
	p := f.predictor.Plan(predictor.Request{Now: at, Lead: lead, Misses: s.state.Misses(at), Counted: true})
	f.coverage.expect(&p)
	s.plan = &p
	if ended || len(f.issued) == 0 {
		f.issue(&p)
	}
	return toForecast(&p, f.settings.Location, at)
}

// unforesee drops what was foreseen for a service whose forecast was turned off.
func (e *Engine) unforesee(s *service) {
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	s.foreseen, s.plan = nil, nil
}

// known returns the lead and the largest rate of one replica as the last decision had them; 0 is unknown.
func (e *Engine) known(s *service) (lead time.Duration, rate float64) {
	line := s.entry.Load()
	if line == nil {
		return 0, 0
	}
	p := &s.compiled.Policy
	// A slot is short when more arrives than the replicas can serve at all: the margin for growth is the forecast's own,
	// and a planned share below 1 would count it twice. Where nothing tells that a replica serves that rate without its
	// requests waiting, the planned share stays.
	rate = line.decision.Capacity.Rate
	if line.decision.Capacity.Concurrency <= 0 {
		rate *= p.MaxUtilization
	}
	if p.RatePerReplica <= 0 && (p.Concurrency <= 0 || p.ServiceTime <= 0) {
		rate = coarse(rate)
	}
	return leadOf(&line.decision), rate
}

// coarse rounds a learnt rate to steps of a quarter: the predictor counts in replicas, and has to learn anew when the
// size of one changes.
func coarse(rate float64) float64 {
	if !(rate > 0) {
		return 0
	}
	const step = 1.25
	return math.Pow(step, math.Round(math.Log(rate)/math.Log(step)))
}

// needsPredictor tells whether there is none, or one for replicas of another size. A rate that moves between two coarse
// steps stays with the one it has.
func (f *forecast) needsPredictor(rate float64) bool {
	if rate <= 0 {
		return false
	}
	if f.perReplica <= 0 {
		return true
	}
	ratio := rate / f.perReplica
	return ratio > 1.3 || ratio < 1/1.3
}

func (f *forecast) waitingFor() string {
	if f.perReplica <= 0 {
		return "the rate that one replica serves is not known"
	}
	return "the history is being read"
}

// mostWaiting bounds the slots that are kept while a history is read: a day. Older ones are read with it.
const mostWaiting = 288

func (f *forecast) observe(done finished) {
	if f.predictor == nil {
		f.waiting = append(f.waiting, done)
		if len(f.waiting) > mostWaiting {
			f.waiting = f.waiting[1:]
		}
		return
	}
	f.predictor.Observe(done.start, done.rate, done.ok)
	f.newest = done.start
}

// toForecast turns a plan into the scaler's input.
func toForecast(p *predictor.Plan, location *time.Location, now time.Time) *scaler.Forecast {
	f := &scaler.Forecast{
		Replicas: p.Replicas, Used: p.Mode == predictor.Active, Mode: string(p.Mode), Text: p.Explain(location, "req/s"), Lead: p.Lead,
		Need995: p.UsualPeak,
	}
	if len(p.Reasons) > 0 {
		f.Reason = string(p.Reasons[0])
	}
	expected := 0.0
	for i := range p.Slots {
		slot := &p.Slots[i]
		requests := slot.Outlook.Value * slotLength.Seconds()
		if slot.Counts {
			expected += requests
		}
	}
	f.Upcoming = upcoming(p, now.Add(p.Lead))
	// The predictor always orders at least one replica; for a service that may go to zero, less than one request within
	// the lead is no reason to keep it.
	f.NeedWithin = expected >= 1
	if !f.NeedWithin {
		f.Replicas = 0
	}
	for _, need := range f.Upcoming {
		if need.N > f.Replicas {
			f.NeedAgain = need.At
			break
		}
	}
	return f
}

// upcoming lists the needs of every slot that begins after a time. The predictor looks at some horizons only; in between
// the need goes in a line from one to the next. Slots with less than one request need nothing.
func upcoming(p *predictor.Plan, after time.Time) []scaler.Target {
	var out []scaler.Target
	need := func(i int) float64 {
		if p.Slots[i].Outlook.Value*slotLength.Seconds() < 1 {
			return 0
		}
		return float64(p.Slots[i].Replicas)
	}
	for i := range p.Slots {
		from := max(0, i-1)
		span := p.Slots[i].Start.Sub(p.Slots[from].Start)
		for start := min(slotLength, span); start <= span; start += slotLength {
			at := p.Slots[from].Start.Add(start)
			share := 1.0
			if span > 0 {
				share = float64(start) / float64(span)
			}
			n := scaler.CeilGuard(need(from)*(1-share) + need(i)*share)
			if at.After(after) && n > 0 {
				out = append(out, scaler.Target{At: at, N: n})
			}
		}
	}
	return out
}

// farthest is how far ahead a predictor looks at most.
const farthest = 12 * time.Hour

// settingsOf are the predictor's settings for a named service whose replicas carry perReplica requests per second. A
// configured lead, 0 if it is learnt, brings the horizons that it needs, and those that tell whether to hold a replica
// for as long again.
func settingsOf(name string, lead time.Duration, c config.ForecastSettings, perReplica float64) predictor.Settings {
	s := predictor.Settings{
		Name: name,
		Step: slotLength, PerReplica: perReplica, MaxShort: c.MaxShort, Mode: predictor.Mode(c.Mode),
		Calendar: predictor.Calendar{Location: c.Location},
	}
	if lead = min(lead, farthest/2); predictor.HorizonOf(2*lead, slotLength) > slices.Max(predictor.StandardHorizons) {
		s.Lead, s.Horizons = lead, predictor.HorizonsFor(2*lead, slotLength)
	}
	for _, day := range c.Holidays {
		s.Calendar.Holidays = append(s.Calendar.Holidays, time.Date(day.Year, day.Month, day.Day, 0, 0, 0, 0, time.UTC))
	}
	if c.Cost != nil {
		s.Price = predictor.StatedPrice(c.Cost.ShortStep, c.Cost.ReplicaHour, slotLength)
	}
	return s
}
