package predictor

import (
	"math"
	"time"
)

const (
	steerGain    = 0.15
	steerScores  = 50 // before so many outcomes the price stands still
	lowestPrice  = 0.5
	highestPrice = 1e6
)

// StartPrice is a usual price of a short step, in replica-steps, for a target
// share of short steps.
func StartPrice(maxShort float64) float64 {
	return min(max(60*math.Pow(0.02/maxShort, 1.16), lowestPrice), highestPrice)
}

// StatedPrice turns costs into the price of a short step: what a short step
// costs over what one replica costs for one step.
func StatedPrice(shortStep, replicaHour float64, step time.Duration) float64 {
	return shortStep / (replicaHour * step.Hours())
}

// Steer moves the price of a short step after an outcome so that in the long
// run a share maxShort of the steps is short.
func Steer(price, maxShort float64, short bool) float64 {
	step := -steerGain * maxShort
	if short {
		step = steerGain * (1 - maxShort)
	}
	return min(max(price*math.Exp(step), lowestPrice), highestPrice)
}

const (
	recentShort = 10  // expected short steps in the memory of the recent share
	urgency     = 2.0 // of the log price per relative excess of the recent share
)

// Steering finds the price of a short step at which a target share of the steps
// is short. The steered price alone follows a change of the traffic late: each
// short step moves it by a fixed factor. The excess of the recent share over
// the target acts at once and fades with it.
type Steering struct {
	target float64
	price  float64
	recent float64 // exponential mean of short steps
}

// NewSteering aims at a share of short steps, above 0 and below 1.
func NewSteering(maxShort float64) Steering {
	return Steering{target: maxShort, price: StartPrice(maxShort), recent: maxShort}
}

// Learn takes whether a step was short.
func (s *Steering) Learn(short bool) {
	s.price = Steer(s.price, s.target, short)
	now := 0.0
	if short {
		now = 1
	}
	s.recent += s.target / recentShort * (now - s.recent)
}

// Price of a short step in replica-steps.
func (s *Steering) Price() float64 {
	return min(max(s.price*math.Exp(urgency*(s.recent/s.target-1)), lowestPrice), highestPrice)
}

// steering holds the price of a short step and what the orders so far would
// have had ready.
type steering struct {
	target  Steering
	stated  float64 // price; 0 where it is steered
	desired []int32 // by slot of decision, hold included
	wanted  []int32 // the same before the hold
	lead    time.Duration
}

func newSteering(s Settings) steering {
	st := steering{target: NewSteering(s.MaxShort), stated: s.Price, lead: s.Lead}
	size := s.Horizons[len(s.Horizons)-1] + int(s.Hold/s.Step) + 1
	st.desired, st.wanted = make([]int32, size), make([]int32, size)
	return st
}

// decide steers the price by whether the newest slot would have been short and
// computes the orders that follow from it.
func (s *Service) decide(slot int64, y float64) {
	st := &s.steering
	h := s.windowEnd(st.lead)
	if !math.IsNaN(y) && s.at(h).spread.n >= steerScores {
		if ready := st.ready(slot, h); ready > 0 {
			st.target.Learn(Replicas(y, s.settings.PerReplica) > int(ready))
		}
	}
	want := s.order(h)
	i := ring(slot, len(st.wanted))
	st.wanted[i], st.desired[i] = int32(want), int32(want)
	st.desired[i] = st.held(slot, int64(s.settings.Hold/s.settings.Step))
}

// order computes the orders of all horizons and returns the largest up to last.
func (s *Service) order(last int) int {
	floor := Replicas(s.history.last, s.settings.PerReplica)
	want, price := floor, s.steering.price()
	for i := range s.horizons {
		z := &s.horizons[i]
		z.order = z.outlook.Order(s.settings.PerReplica, price, floor)
		if z.ahead <= last {
			want = max(want, z.order)
		}
	}
	return want
}

func (st *steering) price() float64 {
	if st.stated > 0 {
		return st.stated
	}
	return st.target.Price()
}

// held is the largest order of slot and of the hold before it.
func (st *steering) held(slot, hold int64) int32 {
	n := int32(0)
	for k := int64(0); k <= hold; k++ {
		n = max(n, st.wanted[ring(slot-k, len(st.wanted))])
	}
	return n
}

// ready is what a service that obeyed at once would have had at the start of
// slot: replicas wanted without a break since h slots earlier. 0 if unknown.
func (st *steering) ready(slot int64, h int) int32 {
	least := int32(math.MaxInt32)
	for k := 1; k <= h; k++ {
		least = min(least, st.desired[ring(slot-int64(k), len(st.desired))])
	}
	return least
}

// windowEnd is the configured horizon that covers a lead: the smallest that
// reaches it, or the largest there is.
func (s *Service) windowEnd(lead time.Duration) int {
	return s.reaching(HorizonOf(lead, s.settings.Step))
}

func (s *Service) reaching(horizon int) int {
	for i := range s.horizons {
		if s.horizons[i].ahead >= horizon {
			return s.horizons[i].ahead
		}
	}
	return s.horizons[len(s.horizons)-1].ahead
}

// at returns the state of a configured horizon, the last if there is none.
func (s *Service) at(ahead int) *horizon {
	for i := range s.horizons {
		if s.horizons[i].ahead == ahead {
			return &s.horizons[i]
		}
	}
	return &s.horizons[len(s.horizons)-1]
}
