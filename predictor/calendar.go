package predictor

import (
	"fmt"
	"time"
)

const daySeconds = 24 * 60 * 60

// Calendar is the local clock of one service: its time zone, which dates are
// holidays, and whether weekends differ from weekdays at all.
//
// The zero value is UTC without holidays.
type Calendar struct {
	// Location is the IANA zone of the service's users; nil means UTC.
	Location *time.Location
	// Holidays are local dates that count as days of weekend type, as target
	// and as analog. Only year, month and day are read.
	Holidays []time.Time
	// OneDayType treats all days alike. Set it where the dates of a series
	// carry no weekday, as in anonymised recordings.
	OneDayType bool
}

// LoadLocation resolves an IANA zone name. Fixed offsets, the empty name and
// "Local" are errors: an offset cannot follow clock changes, and the host's
// zone is an accident of deployment. Zone data is taken from the program, so
// the caller's binary imports time/tzdata.
func LoadLocation(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("timezone %q: name an IANA zone such as Europe/Berlin or UTC", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("timezone %q is not an IANA zone name such as Europe/Berlin or UTC: %w", name, err)
	}
	return loc, nil
}

// DaysBefore goes back whole days on the local clock: 09:30 stays 09:30 across
// a clock change.
func DaysBefore(loc *time.Location, at time.Time, days int) time.Time {
	c := newClock(Calendar{Location: loc}, 1)
	return time.Unix(c.shift(at.Unix(), days), 0).UTC()
}

// clock answers local-time questions about slots; one belongs to one service
// because it remembers the zone periods it met.
type clock struct {
	loc      *time.Location
	step     int64 // seconds
	holidays map[int64]bool
	oneType  bool
	periods  [2]zonePeriod // the two used last
}

// zonePeriod is a span [from, to) of constant UTC offset, all in seconds.
type zonePeriod struct{ from, to, offset int64 }

func newClock(cal Calendar, step int64) *clock {
	c := &clock{loc: cal.Location, step: step, oneType: cal.OneDayType}
	if c.loc == nil {
		c.loc = time.UTC
	}
	if len(cal.Holidays) > 0 {
		c.holidays = make(map[int64]bool, len(cal.Holidays))
		for _, h := range cal.Holidays {
			y, m, d := h.Date()
			c.holidays[time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()/daySeconds] = true
		}
	}
	return c
}

func (c *clock) period(unix int64) zonePeriod {
	for i, p := range c.periods {
		if p.from <= unix && unix < p.to {
			if i == 1 {
				c.periods[0], c.periods[1] = c.periods[1], c.periods[0]
			}
			return p
		}
	}
	at := time.Unix(unix, 0).In(c.loc)
	_, offset := at.Zone()
	p := zonePeriod{from: -1 << 62, to: 1 << 62, offset: int64(offset)}
	from, to := at.ZoneBounds()
	if !from.IsZero() {
		p.from = from.Unix()
	}
	if !to.IsZero() {
		p.to = to.Unix()
	}
	c.periods[1], c.periods[0] = c.periods[0], p
	return p
}

// instants finds when the wall clock shows wall (seconds as if it were UTC):
// once as a rule, twice where it is set back over it, and at the first instant
// after the gap where it skips it.
// At most one change of offset within a day either side is assumed.
func (c *clock) instants(wall int64) (first, second int64) {
	before, after := c.period(wall-daySeconds), c.period(wall+daySeconds)
	a, b := wall-before.offset, wall-after.offset
	aValid := c.period(a).offset == before.offset
	bValid := c.period(b).offset == after.offset
	switch {
	case aValid && bValid:
		return min(a, b), max(a, b)
	case aValid:
		return a, a
	case bValid:
		return b, b
	default: // skipped: b lies before the gap, whose end is the next valid instant
		end := c.period(b).to
		return end, end
	}
}

// shift returns the slot that lies the given number of local days before slot.
func (c *clock) shift(slot int64, days int) int64 {
	unix := slot * c.step
	p := c.period(unix)
	moved := unix - int64(days)*daySeconds
	// The first two hours of a period may repeat the end of the one before.
	if moved >= p.from+7200 && moved < p.to {
		return floorDiv(moved, c.step)
	}
	first, _ := c.instants(unix + p.offset - int64(days)*daySeconds)
	return floorDiv(first, c.step)
}

// local splits a slot into its local day number and its slot of that day.
func (c *clock) local(slot int64) (day, ofDay int64) {
	wall := slot*c.step + c.period(slot*c.step).offset
	day = floorDiv(wall, daySeconds)
	return day, (wall - day*daySeconds) / c.step
}

// weekday is 0 for Monday to 6 for Sunday. Day 0, 1970-01-01, was a Thursday.
func weekday(day int64) int64 { return ((day+3)%7 + 7) % 7 }

func (c *clock) weekend(day int64) bool {
	if c.oneType {
		return false
	}
	return weekday(day) >= 5 || c.holidays[day]
}

// priors returns how much the day d days before day counts as an analog of it,
// at index d-1: same weekday, same type lately, same type, other type.
func (c *clock) priors(day int64) [analogDays]float64 {
	var out [analogDays]float64
	kind := c.weekend(day)
	for d := int64(1); d <= analogDays; d++ {
		switch same := c.weekend(day-d) == kind; {
		case same && d%7 == 0:
			out[d-1] = 1
		case same && d <= 6:
			out[d-1] = 0.7
		case same:
			out[d-1] = 0.35
		default:
			out[d-1] = 0.2
		}
	}
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
