package predictor

import (
	"fmt"
	"math"
	"time"
)

// Service forecasts the rate of one service and orders replicas from it. It
// holds about 100 KB and is not safe for concurrent use.
type Service struct {
	settings Settings
	step     int64 // seconds
	clock    *clock

	history  history
	outliers outliers
	seasonal seasonal
	likeness likeness
	horizons []horizon
	steering steering
	ledger   *ledger
	prewarms prewarms
	turn     Switch
	counted  bool // whoever plans keeps the record of the real prewarms
	peak     peak

	priorDay int64 // local day of priors
	priors   [analogDays]float64
	sibling  *Service
	banned   [expertCount]int64 // slot until which a failed expert is left out
	failed   func(Expert, float64) float64
}

// horizon is everything learnt about forecasts a fixed number of slots ahead.
type horizon struct {
	ahead   int
	mix     mix
	spread  *Uncertainty
	pending []mixed // by target slot
	outlook Outlook
	order   int
}

type mixed struct {
	value   float64
	experts [expertCount]float64
	known   bool
}

const mixHalfLifeDays = 7

// New returns a service without history.
func New(settings Settings) (*Service, error) {
	settings = settings.withDefaults()
	if err := settings.validate(); err != nil {
		return nil, fmt.Errorf("predictor settings: %w", err)
	}
	step := int64(settings.Step / time.Second)
	s := &Service{
		settings: settings, step: step, clock: newClock(settings.Calendar, step),
		history: newHistory(step), outliers: newOutliers(daySeconds / step),
		seasonal: newSeasonal(daySeconds / step), priorDay: math.MinInt64,
	}
	for _, k := range settings.Horizons {
		s.horizons = append(s.horizons, horizon{
			ahead: k, spread: newUncertainty(s.clock, k, settings.PerReplica, DefaultScaleWeights()),
			pending: make([]mixed, k),
		})
	}
	s.steering = newSteering(settings)
	s.ledger = newLedger(s.windowEnd(settings.Lead), step, int64(settings.Hold/settings.Step), settings.PerReplica)
	return s, nil
}

// Borrow lets the service use the daily shape of a sibling, scaled to its own
// level, as one more expert. The sibling must be observed on the same grid.
func (s *Service) Borrow(sibling *Service) { s.sibling = sibling }

// Observe takes the mean rate of the interval that starts at slotStart. ok says
// that it is valid: an interval without enough samples is missing, never 0, and
// so is a rate that is negative or not finite. Intervals that were skipped are
// missing. An interval older than the newest only fills a hole of the history.
func (s *Service) Observe(slotStart time.Time, rate float64, ok bool) {
	slot := floorDiv(slotStart.Unix(), s.step)
	if !ok || math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 || rate > math.MaxFloat32 {
		rate = missing
	}
	h := &s.history
	switch {
	case !h.filled:
		if math.IsNaN(rate) {
			return // the history starts with its first value
		}
	case slot <= h.newest:
		s.fill(slot, rate)
		return
	case slot-h.newest > int64(len(h.values)):
		s.forget()
	}
	for s.history.filled && s.history.newest < slot-1 {
		s.advance(s.history.newest+1, missing)
	}
	s.advance(slot, rate)
}

func (s *Service) fill(slot int64, rate float64) {
	h := &s.history
	if math.IsNaN(rate) || !h.holds(slot) || !math.IsNaN(h.at(slot)) {
		return
	}
	h.values[h.index(slot)] = float32(rate)
	h.resum()
	s.peak.known = false
}

// forget starts anew after a hole longer than the history.
func (s *Service) forget() {
	fresh, err := New(s.settings)
	if err != nil {
		return // the settings were valid before
	}
	fresh.sibling, fresh.failed = s.sibling, s.failed
	*s = *fresh
}

// advance learns one slot and issues the forecasts that start from it.
func (s *Service) advance(slot int64, y float64) {
	if s.anchored(slot) {
		s.anchor(slot)
	}
	h := &s.history
	h.push(slot, y)
	y = h.at(slot) // as it is stored, so that a replay of the ring agrees
	mean, forget := h.mean(), math.Exp2(-1/float64(mixHalfLifeDays*h.perDay))
	for i := range s.horizons {
		s.horizons[i].learn(slot, y, mean, forget)
	}
	day, ofDay := s.clock.local(slot)
	s.seasonal.learn(slot, ofDay, weekday(day)*h.perDay+ofDay, y)
	if !s.settings.KeepOutliers {
		s.outliers.learn(h, s.clock, s.priorsOf(day))
	}
	s.issueAll()
	s.decide(slot, y)
	s.book(slot, y)
}

// issueAll derives every forecast from what is known; it learns nothing.
func (s *Service) issueAll() {
	s.likeness.measure(&s.history, s.clock)
	for i := range s.horizons {
		s.issue(&s.horizons[i])
	}
}

// book keeps the record of what the orders are worth.
func (s *Service) book(slot int64, y float64) {
	s.prewarms.learn(slot, s.step, y)
	s.ledger.outcome(slot, y)
	z := s.at(int(s.ledger.horizon))
	floor := Replicas(s.history.last, s.settings.PerReplica)
	s.ledger.book(&z.outlook, s.history.last, floor)
	if Replicas(z.outlook.Value, s.settings.PerReplica) > floor {
		s.prewarms.start(z.outlook.Slot, z.outlook.Value)
	}
	if s.settings.Mode == Auto && floorDiv(slot, s.history.perDay/4) != floorDiv(slot-1, s.history.perDay/4) {
		now := s.endOf(slot)
		if !s.counted && s.prewarms.since(slot-s.history.perDay) >= missesBeforeBrake {
			s.turn.Brake(now)
		}
		s.turn.Check(now, s.Skill(switchDays).Saving)
	}
}

// endOf is the instant at which a slot is complete.
func (s *Service) endOf(slot int64) time.Time {
	return time.Unix((slot+1)*s.step, 0).UTC()
}

// Skill is the record of the last whole days, at most 28.
func (s *Service) Skill(days int) Skill {
	return s.ledger.skill(s.history.newest, int64(days), s.settings.MaxShort, float64(s.step))
}

func (z *horizon) learn(slot int64, y, mean, forget float64) {
	p := &z.pending[ring(slot, z.ahead)]
	if p.known && !math.IsNaN(y) {
		z.mix.learn(y, p.value, &p.experts, mean, forget)
	}
	p.known = false
	z.spread.Learn(slot, y)
}

func (s *Service) priorsOf(day int64) *[analogDays]float64 {
	if day != s.priorDay {
		s.priorDay, s.priors = day, s.clock.priors(day)
	}
	return &s.priors
}

func (s *Service) issue(z *horizon) {
	target := s.history.newest + int64(z.ahead)
	experts := s.experts(target, z.ahead, nil)
	value, weights := z.mix.combine(&experts)
	known := !math.IsNaN(value)
	if !known {
		value = s.history.last
	}
	if math.IsNaN(value) {
		value = 0
	}
	matured := s.history.newest-s.history.first >= s.history.perDay
	z.outlook = z.spread.Issue(value, known && matured)
	z.outlook.Experts, z.outlook.Weights = experts, weights
	z.pending[ring(target, z.ahead)] = mixed{value: value, experts: experts, known: known}
}

// Outlooks are the distributions issued after the newest slot, by horizon. They
// are valid until the next call of Observe.
func (s *Service) Outlooks() []Outlook {
	out := make([]Outlook, len(s.horizons))
	for i := range s.horizons {
		out[i] = s.horizons[i].outlook
	}
	return out
}

// Outlook returns the distribution for one of the configured horizons.
func (s *Service) Outlook(horizon int) (Outlook, bool) {
	for i := range s.horizons {
		if s.horizons[i].ahead == horizon {
			return s.horizons[i].outlook, true
		}
	}
	return Outlook{}, false
}
