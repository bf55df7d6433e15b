package predictor

import "math"

// What the predictor would have saved is not replayed: a ledger books, slot by
// slot and without hindsight, the orders of both policies at every setting, so
// that they can be compared at the same share of short steps.

var (
	ledgerPrices    = [...]float64{1, 2, 4, 8, 15, 30, 60, 120, 250, 500, 1000, 3000, 1e4, 1e6}
	ledgerQuantiles = [...]float64{.3, .5, .7, .8, .85, .9, .94, .96, .975, .985, .992, .998}
	ledgerStretches = [...]float64{1.5, 3, 8}
)

const (
	ledgerDays     = 28
	ours           = len(ledgerPrices)
	ledgerSettings = ours + len(ledgerQuantiles) + len(ledgerStretches)
	plainDays      = 7
	displayDays    = 7
)

// The forecasts whose errors are shown side by side.
const (
	skillMix = iota
	skillLast
	skillYesterday
	skillWeek
	skillForecasts
)

type ledger struct {
	horizon int64
	perDay  int64
	hold    int64
	unit    float64

	booked []booking // by target slot
	plain  []code    // scores of the last value, 7 days, by slot
	count  [codes]uint16
	scores int
	days   [ledgerDays + 1]ledgerDay
}

// booking is what was ordered and forecast for one slot.
type booking struct {
	known     bool
	orders    [ledgerSettings]int32 // 0 where too few scores were known
	forecasts [skillForecasts]float32
}

type ledgerDay struct {
	day    int64
	steps  int64
	need   int64
	short  [ledgerSettings]uint16
	cost   [ledgerSettings]uint32
	off    [skillForecasts]float64
	volume float64
}

func newLedger(horizon int, step int64, hold int64, perReplica float64) *ledger {
	perDay := daySeconds / step
	return &ledger{
		horizon: int64(horizon), perDay: perDay, hold: hold, unit: perReplica,
		booked: make([]booking, int64(horizon)+hold+1), plain: make([]code, plainDays*perDay),
	}
}

// outcome books the newest slot.
func (l *ledger) outcome(slot int64, y float64) {
	i := ring(slot, len(l.plain))
	if old := l.plain[i]; old != 0 {
		l.count[old]--
		l.scores--
	}
	l.plain[i] = 0
	b := &l.booked[ring(slot, len(l.booked))]
	if math.IsNaN(y) || !b.known {
		return
	}
	if last := float64(b.forecasts[skillLast]); !math.IsNaN(last) {
		l.plain[i] = encodeScore((y - last) / spread(last, l.unit))
		l.count[l.plain[i]]++
		l.scores++
	}
	if b.orders[0] == 0 {
		return
	}
	d := l.today(slot)
	need := int32(Replicas(y, l.unit))
	d.steps++
	d.need += int64(need)
	for k := range ledgerSettings {
		have := int32(0)
		for s := slot - l.hold; s <= slot; s++ {
			have = max(have, l.booked[ring(s, len(l.booked))].orders[k])
		}
		d.cost[k] += uint32(have)
		if have < need {
			d.short[k]++
		}
	}
	d.compare(b.forecasts, y)
}

func (d *ledgerDay) compare(forecasts [skillForecasts]float32, y float64) {
	var off [skillForecasts]float64
	for k, f := range forecasts {
		off[k] = math.Abs(y - float64(f))
		if math.IsNaN(off[k]) {
			return
		}
	}
	for k := range off {
		d.off[k] += off[k]
	}
	d.volume += y
}

func (l *ledger) today(slot int64) *ledgerDay {
	day := floorDiv(slot, l.perDay)
	d := &l.days[ring(day, len(l.days))]
	if d.day != day {
		*d = ledgerDay{day: day}
	}
	return d
}

// book notes what both policies order for the slot of o.
func (l *ledger) book(o *Outlook, last float64, floor int) {
	b := &l.booked[ring(o.Slot, len(l.booked))]
	*b = booking{known: true, forecasts: [skillForecasts]float32{
		float32(o.Value), float32(last), float32(o.Experts[Yesterday]), float32(o.Experts[LastWeek]),
	}}
	if o.Tail.n < steerScores {
		return
	}
	for k, price := range ledgerPrices {
		b.orders[k] = int32(o.Order(l.unit, price, floor))
	}
	k := ours
	width := spread(last, l.unit)
	for _, q := range ledgerQuantiles {
		b.orders[k] = int32(max(floor, Replicas(last+l.score(q)*width, l.unit)))
		k++
	}
	largest := max(l.score(ledgerQuantiles[len(ledgerQuantiles)-1]), 0.5)
	for _, f := range ledgerStretches {
		b.orders[k] = int32(max(floor, Replicas(last+f*largest*width, l.unit)))
		k++
	}
}

// score of the last value at quantile q.
func (l *ledger) score(q float64) float64 {
	rank := min(max(int(math.Ceil(float64(l.scores+1)*q-1e-9)), 1), l.scores)
	seen := 0
	for c := 1; c < codes; c++ {
		if seen += int(l.count[c]); seen >= rank && seen > 0 {
			return scoreOf[c]
		}
	}
	return 0
}

// Skill is what the predictor would have done for a service lately.
type Skill struct {
	Saving Saving
	// WAPE of the mix, the last value, yesterday and last week: sums of
	// absolute errors over the sum of the rates; NaN without any.
	WAPE, LastValue, Yesterday, LastWeek float64
}

// skill sums up the given number of days before the one of slot.
func (l *ledger) skill(slot int64, days int64, maxShort float64, step float64) Skill {
	var total ledgerDay
	var short [ledgerSettings]int64
	var cost [ledgerSettings]int64
	today := floorDiv(slot, l.perDay)
	counted := int64(0)
	for _, d := range l.days {
		if d.steps == 0 || d.day >= today || d.day < today-days {
			continue
		}
		counted++
		total.steps += d.steps
		total.need += d.need
		total.volume += d.volume
		for k := range short {
			short[k] += int64(d.short[k])
			cost[k] += int64(d.cost[k])
		}
		for k := range d.off {
			total.off[k] += d.off[k]
		}
	}
	hours := step / 3600
	out := Skill{Saving: Saving{
		Days:            float64(counted),
		ShortSteps:      int(math.Round(maxShort * float64(total.steps))),
		PredictiveHours: hours * matchedCost(short[:ours], cost[:ours], total.steps, maxShort),
		ReactiveHours:   hours * matchedCost(short[ours:], cost[ours:], total.steps, maxShort),
	}}
	out.WAPE, out.LastValue = total.off[skillMix]/total.volume, total.off[skillLast]/total.volume
	out.Yesterday, out.LastWeek = total.off[skillYesterday]/total.volume, total.off[skillWeek]/total.volume
	return out
}

// matchedCost reads the cost at a share of short steps from settings that
// ascend in cost: linear between the first that reaches it and the one before.
func matchedCost(short, cost []int64, steps int64, share float64) float64 {
	want := share * float64(steps)
	for k := range short {
		if float64(short[k]) > want {
			continue
		}
		if k == 0 || short[k-1] <= short[k] {
			return float64(cost[k])
		}
		f := (float64(short[k-1]) - want) / float64(short[k-1]-short[k])
		return float64(cost[k-1]) + f*float64(cost[k]-cost[k-1])
	}
	if len(cost) == 0 {
		return 0
	}
	return 1.5 * float64(cost[len(cost)-1])
}
