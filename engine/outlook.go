package engine

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// Outlook is what the predictor foresees for a service, why, and how good it was: the last [predictor.Plan] with the
// record of those before it.
type Outlook struct {
	// At is when the plan was made, for a lead of LeadSeconds.
	At          time.Time `json:"at"`
	LeadSeconds float64   `json:"leadSeconds"`
	// Configured is the operator's mode and Mode the one in force, for Reasons.
	Configured string   `json:"configured"`
	Mode       string   `json:"mode"`
	Reasons    []string `json:"reasons"`
	// Waiting says why there is no predictor yet; empty when there is one.
	Waiting string `json:"waiting,omitempty"`
	// Replicas is the order, Held when an earlier order decides it. Binding is the index of the slot that it is for, -1
	// without one.
	Replicas int  `json:"replicas"`
	Held     bool `json:"held,omitempty"`
	Binding  int  `json:"binding"`
	// PerReplica is the rate one replica carries as planned, in requests per second.
	PerReplica float64 `json:"perReplica"`
	// Price is what a step without enough replicas may cost, in replica-steps; it is steered to MaxShort unless Stated.
	Price    float64 `json:"price"`
	Stated   bool    `json:"stated,omitempty"`
	MaxShort float64 `json:"maxShort"`
	// Hits are prewarmed replicas that were needed since the history began, Missed those that were not.
	Hits   int64 `json:"hits"`
	Missed int64 `json:"missed"`

	Slots []Slot `json:"slots"`
	// Past are the slots of the last hours as they were forecast one lead before, with what came.
	Past []PastSlot `json:"past"`
	// Usual is the same clock time on earlier days, further ahead than the forecast reaches.
	Usual []UsualSlot `json:"usual"`
	// Within of Compared slots stayed below the 0.9 bound since the start of the process.
	Within   uint64 `json:"within"`
	Compared uint64 `json:"compared"`
	// Skill is the record of the last days; nil before there is one.
	Skill *Skill `json:"skill"`
	// WhatIf is what would be ordered now for other shares of short steps. A steered price is taken to move in
	// proportion to its usual value for the share. Empty when the price is stated.
	WhatIf []WhatIf `json:"whatIf"`
}

// Slot is the plan for one future slot of five minutes.
type Slot struct {
	Start time.Time `json:"start"`
	// Value and Upper are the forecast and its 0.9 bound, in requests per second.
	Value    float64 `json:"value"`
	Upper    float64 `json:"upper"`
	Replicas int     `json:"replicas"`
	// Counts tells that the slot begins before what is ordered now is ready.
	Counts bool `json:"counts"`
	// Short is the probability of too few replicas with one fewer, with Replicas, and with one more.
	Short [3]float64 `json:"short"`
}

// PastSlot is one slot that is over, or soon will be.
type PastSlot struct {
	Start    time.Time `json:"start"`
	IssuedAt time.Time `json:"issuedAt"`
	Value    float64   `json:"value"`
	Upper    float64   `json:"upper"`
	Replicas int       `json:"replicas"`
	// Actual is the rate that came; nil if it is not known, or not yet.
	Actual *float64 `json:"actual"`
}

// UsualSlot is the rate at one clock time on earlier days, in requests per second, nil where it is not known. The
// counts of replicas carry it as planned.
type UsualSlot struct {
	Start             time.Time `json:"start"`
	Yesterday         *float64  `json:"yesterday"`
	LastWeek          *float64  `json:"lastWeek"`
	YesterdayReplicas int       `json:"yesterdayReplicas,omitempty"`
	LastWeekReplicas  int       `json:"lastWeekReplicas,omitempty"`
}

// Skill is [predictor.Skill] of the last days: weighted absolute errors, and replica-hours against scaling by load
// alone with the same share of short steps.
type Skill struct {
	Days            float64  `json:"days"`
	WAPE            *float64 `json:"wape"`
	LastValue       *float64 `json:"lastValue"`
	Yesterday       *float64 `json:"yesterday"`
	LastWeek        *float64 `json:"lastWeek"`
	ReactiveHours   float64  `json:"reactiveHours"`
	PredictiveHours float64  `json:"predictiveHours"`
}

// WhatIf is the order for another share of short steps.
type WhatIf struct {
	MaxShort float64 `json:"maxShort"`
	Replicas int     `json:"replicas"`
}

const (
	// pastSlots is how long the record of forecasts is kept.
	pastSlots = 8 * time.Hour
	// skillDays is the span of the predictor's record that is shown, usualAhead how far Usual reaches.
	skillDays  = 28
	usualAhead = 12 * time.Hour
	usualStep  = 30 * time.Minute
)

var whatIfShares = []float64{0.05, 0.02, 0.01, 0.005, 0.002, 0.001}

// issue notes what a new plan says about slots at least one lead ahead, in place of what was said about them before:
// that was the last moment at which an order could still be ready for them. The caller holds forecasts.mu.
func (f *forecast) issue(p *predictor.Plan) {
	for i := range p.Slots {
		s := &p.Slots[i]
		if s.Start.Before(p.At.Add(p.Lead)) {
			continue
		}
		next := PastSlot{Start: s.Start, IssuedAt: p.At, Value: s.Outlook.Value, Upper: s.Outlook.Upper, Replicas: s.Replicas}
		at, found := slices.BinarySearchFunc(f.issued, s.Start, func(a PastSlot, start time.Time) int { return a.Start.Compare(start) })
		if found {
			f.issued[at] = next
		} else {
			f.issued = slices.Insert(f.issued, at, next)
		}
	}
	old := 0
	for old < len(f.issued) && p.At.Sub(f.issued[old].Start) > pastSlots {
		old++
	}
	f.issued = slices.Delete(f.issued, 0, old)
}

// compare notes what came in a slot. The caller holds forecasts.mu.
func (f *forecast) compare(done finished) {
	at, found := slices.BinarySearchFunc(f.issued, done.start, func(a PastSlot, start time.Time) int { return a.Start.Compare(start) })
	if found && done.ok {
		f.issued[at].Actual = orNil(done.rate)
	}
}

// outlook says what the predictor of a service foresees; nil without a forecast.
func (e *Engine) outlook(s *service) *Outlook {
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	f := s.foreseen
	if f == nil {
		return nil
	}
	o := &Outlook{
		Configured: f.settings.Mode, Mode: string(predictor.Reactive), Reasons: []string{}, Binding: -1, MaxShort: f.settings.MaxShort,
		PerReplica: f.perReplica, Slots: []Slot{}, Past: slices.Clone(f.issued), Usual: []UsualSlot{}, WhatIf: []WhatIf{},
	}
	if o.Past == nil {
		o.Past = []PastSlot{}
	}
	o.Compared, o.Within = f.coverage.slots.Load(), f.coverage.within.Load()
	if f.predictor == nil {
		o.Waiting = f.waitingFor()
		return o
	}
	if s.plan != nil {
		o.take(s.plan)
		o.WhatIf = whatIf(f, s.plan)
	}
	o.Usual = usual(f, e.clock())
	o.Skill = skillOf(f.predictor.Skill(skillDays))
	return o
}

func (o *Outlook) take(p *predictor.Plan) {
	o.At, o.LeadSeconds, o.Mode, o.Replicas, o.Held, o.Binding = p.At, p.Lead.Seconds(), string(p.Mode), p.Replicas, p.Held, p.Binding
	o.Price, o.Stated, o.MaxShort, o.Hits, o.Missed = p.Price, p.Stated, p.MaxShort, p.Hits, p.Missed
	for _, r := range p.Reasons {
		o.Reasons = append(o.Reasons, string(r))
	}
	for i := range p.Slots {
		s := &p.Slots[i]
		o.Slots = append(o.Slots, Slot{
			Start: s.Start, Value: s.Outlook.Value, Upper: s.Outlook.Upper, Replicas: s.Replicas, Counts: s.Counts, Short: s.Short,
		})
	}
}

// whatIf orders for other shares of short steps. A plan that is older than the newest slot, as when two triggers share
// the predictor, says nothing until the next tick.
func whatIf(f *forecast, p *predictor.Plan) []WhatIf {
	out := []WhatIf{}
	if p.At.Before(f.newest.Add(slotLength)) {
		return out
	}
	for _, share := range whatIfShares {
		if order := f.predictor.OrderFor(p, share); order > 0 {
			out = append(out, WhatIf{share, order})
		}
	}
	return out
}

// usual looks up the clock times ahead on earlier days.
func usual(f *forecast, now time.Time) []UsualSlot {
	known := map[int64]float64{}
	for _, s := range f.predictor.Samples() {
		known[s.Start.Unix()] = s.Rate
	}
	mean := func(from time.Time) (*float64, int) {
		sum, n := 0.0, 0
		for at := from; at.Before(from.Add(usualStep)); at = at.Add(slotLength) {
			if v, ok := known[at.Unix()]; ok {
				sum += v
				n++
			}
		}
		if n == 0 {
			return nil, 0
		}
		rate := sum / float64(n)
		return &rate, predictor.Replicas(rate, f.perReplica)
	}
	location := f.settings.Location
	if location == nil {
		location = time.UTC
	}
	out := []UsualSlot{}
	first := now.Truncate(usualStep)
	for at := first; at.Before(first.Add(usualAhead)); at = at.Add(usualStep) {
		slot := UsualSlot{Start: at}
		slot.Yesterday, slot.YesterdayReplicas = mean(predictor.DaysBefore(location, at, 1))
		slot.LastWeek, slot.LastWeekReplicas = mean(predictor.DaysBefore(location, at, 7))
		out = append(out, slot)
	}
	return out
}

func skillOf(s predictor.Skill) *Skill {
	return &Skill{
		Days: s.Saving.Days, WAPE: orNil(s.WAPE), LastValue: orNil(s.LastValue), Yesterday: orNil(s.Yesterday), LastWeek: orNil(s.LastWeek),
		ReactiveHours: s.Saving.ReactiveHours, PredictiveHours: s.Saving.PredictiveHours,
	}
}
