package predictor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Request asks for the replicas to have on the way at an instant.
type Request struct {
	Now time.Time
	// Lead is the time from an order to a ready replica; 0 keeps the last one.
	Lead time.Duration
	// Need is what the traffic of the moment needs; the plan is never below it.
	Need int
	// Cause says how Lead came about, for the explanation: "90 % of 14 starts".
	Cause string
	// Misses are the real prewarms of the last 24 hours whose load did not come, as whoever ordered them counts.
	Misses int
	// Counted tells that Misses is the whole record. Otherwise the service's own forecasts of more replicas than the
	// traffic needed, ordered or not, count besides, and the larger number is the brake: forecasts come many times an
	// hour, and of so many a few are always wrong.
	Counted bool
}

// Plan is a decision with everything it rests on.
type Plan struct {
	At      time.Time
	Mode    Mode
	Reasons []Reason // the decisive one first
	// Replicas to order: the forecast's, held and not below the need. It counts
	// only if Mode is Active.
	Replicas int
	Need     int
	Held     bool // the hold, not the forecast, decided
	Binding  int  // index into Slots of the largest order; -1 without any
	Slots    []SlotPlan
	Lead     time.Duration
	Cause    string
	Price    float64 // of a short step, in replica-steps
	Stated   bool    // the price is stated, not steered
	MaxShort float64
	Hits     int64 // prewarmed replicas that were needed
	Missed   int64
	// Uncorrected says that the newest rate is too old to scale the past by.
	Uncorrected bool
	Weeks       int // of the last four with a rate at the binding slot's clock time
	// UsualPeak is the need that was not exceeded in 99.5 % of the last 28 days; 0 with less than a day.
	UsualPeak int
}

// SlotPlan is the order for one future slot.
type SlotPlan struct {
	Start    time.Time
	Outlook  Outlook
	Replicas int
	Counts   bool // it begins before what is ordered now is ready
	// Short and Cost at one replica fewer, at the order and at one more.
	Short, Cost [3]float64
	// Days most like today, the heaviest three, for the binding slot only.
	Days []Analog
}

// Plan decides for an instant at or after the end of the newest slot. Between
// the ends of slots only the window moves.
func (s *Service) Plan(r Request) Plan {
	if r.Lead > 0 {
		s.steering.lead = r.Lead
	}
	p := Plan{
		At: r.Now, Need: r.Need, Replicas: r.Need, Binding: -1, Lead: s.steering.lead, Cause: r.Cause,
		Price: s.steering.price(), Stated: s.settings.Price > 0, MaxShort: s.settings.MaxShort,
		Hits: s.prewarms.hits, Missed: s.prewarms.missed,
	}
	if !s.history.filled {
		p.Mode, p.Reasons = Conditions{Configured: s.settings.Mode}.Judge()
		return p
	}
	p.UsualPeak = s.usualPeak()
	s.fillSlots(&p)
	s.judge(&p, s.misses(r))
	return p
}

func (s *Service) fillSlots(p *Plan) {
	age := max(0, p.At.Sub(s.endOf(s.history.newest)))
	last := s.reaching(HorizonOf(p.Lead, s.settings.Step) + int(age/s.settings.Step))
	p.Slots = make([]SlotPlan, 0, len(s.horizons))
	first := int(age/s.settings.Step) + 1 // slots that are over need no order
	for i := range s.horizons {
		z := &s.horizons[i]
		slot := SlotPlan{
			Start: time.Unix(z.outlook.Slot*s.step, 0).UTC(), Outlook: z.outlook, Replicas: z.order,
			Counts: z.ahead <= last && (z.ahead >= first || i == len(s.horizons)-1),
		}
		for k := range slot.Short {
			n := max(0, z.order-1+k)
			slot.Short[k] = z.outlook.Short(n, s.settings.PerReplica)
			slot.Cost[k] = float64(n) + p.Price*slot.Short[k]
		}
		if slot.Counts && (p.Binding < 0 || slot.Replicas > p.Slots[p.Binding].Replicas) {
			p.Binding = i
		}
		p.Slots = append(p.Slots, slot)
	}
	if p.Binding < 0 {
		return
	}
	b := &p.Slots[p.Binding]
	b.Days = s.heaviest(b.Outlook)
	p.Replicas = max(p.Need, b.Replicas)
	hold := int64(s.settings.Hold / s.settings.Step)
	if held := int(s.steering.recent(s.history.newest, hold, s.history.first)); held > p.Replicas {
		p.Replicas, p.Held = held, true
	}
}

// recent is the largest order of the slots before the newest that still hold.
func (st *steering) recent(newest, hold, first int64) int32 {
	n := int32(0)
	for k := int64(1); k <= hold && newest-k >= first; k++ {
		n = max(n, st.wanted[ring(newest-k, len(st.wanted))])
	}
	return n
}

const shownAnalogs = 3

func (s *Service) heaviest(o Outlook) []Analog {
	days := make([]Analog, 0, analogDays)
	s.experts(o.Slot, o.Horizon, &days)
	total := 0.0
	for _, d := range days {
		total += d.Weight
	}
	for i := range days {
		days[i].Weight /= total
	}
	slices.SortFunc(days, func(a, b Analog) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), a.DaysAgo-b.DaysAgo)
	})
	return days[:min(len(days), shownAnalogs)]
}

// misses is the record that the brake looks at.
func (s *Service) misses(r Request) int {
	if s.counted = r.Counted; s.counted {
		return r.Misses
	}
	return max(r.Misses, s.prewarms.since(s.history.newest-s.history.perDay))
}

func (s *Service) judge(p *Plan, misses int) {
	h := &s.history
	slots := h.newest - h.first + 1
	target := h.newest + 1
	if p.Binding >= 0 {
		target = p.Slots[p.Binding].Outlook.Slot
	}
	for w := 1; w <= maskWeeks; w++ {
		if !math.IsNaN(h.at(s.clock.shift(target, 7*w))) {
			p.Weeks++
		}
	}
	p.Uncorrected = math.IsNaN(s.likeness.level)
	c := Conditions{
		Configured: s.settings.Mode,
		History:    time.Duration(slots) * s.settings.Step,
		Coverage:   float64(h.present(min(slots, 7*h.perDay))) / float64(min(slots, 7*h.perDay)),
		Failed:     s.FailedExperts(),
		Misses:     misses,
		Stale:      p.Uncorrected,
		Weeks:      p.Weeks,
		Switch:     &s.turn,
		Unskilled:  s.unskilled(),
	}
	if c.Misses >= missesBeforeBrake {
		s.turn.Brake(p.At) // at once, not at the next look at the record
	}
	c.Usable = len(c.Failed) < s.expertsInUse()
	if slots >= 2*h.perDay && slots < 7*h.perDay {
		c.WeekendUnseen = s.missesDayType()
	}
	p.Mode, p.Reasons = c.Judge()
}

func (s *Service) expertsInUse() int {
	if s.sibling != nil {
		return int(expertCount)
	}
	return int(SiblingProfile)
}

// FailedExperts are left out of the mix because they failed within a day.
func (s *Service) FailedExperts() []Expert {
	var out []Expert
	for k, until := range s.banned {
		if s.history.newest < until {
			out = append(out, Expert(k))
		}
	}
	return out
}

func (s *Service) missesDayType() bool {
	if s.clock.oneType {
		return false
	}
	first, _ := s.clock.local(s.history.first)
	last, _ := s.clock.local(s.history.newest)
	var seen [2]bool
	for day := first; day <= last; day++ {
		if s.clock.weekend(day) {
			seen[1] = true
		} else {
			seen[0] = true
		}
	}
	return !seen[0] || !seen[1]
}

// unskilled says that the clock tells nothing: the mix is hardly better than
// the last value and saves hardly anything.
func (s *Service) unskilled() bool {
	k := s.Skill(displayDays)
	return k.Saving.Days >= displayDays && k.WAPE > 0.98*k.LastValue && k.Saving.Share() < 0.02
}
