package predictor

import (
	"math"
	"testing"
	"time"
)

// shape is a day of constant rates: low, a plateau from 09:00 to 12:00, low.
func shape(loc *time.Location, low, high float64) func(time.Time) float64 {
	return func(at time.Time) float64 {
		if h := at.In(loc).Hour(); h >= 9 && h < 12 {
			return high
		}
		return low
	}
}

// forecastAt returns the forecast for the slot that starts at target, made 20
// minutes earlier from a history of days.
func forecastAt(t *testing.T, loc *time.Location, target time.Time, days int, rate func(time.Time) float64, holidays ...time.Time) Outlook {
	t.Helper()
	s := newService(t, Settings{PerReplica: 8, Horizons: []int{5}, Calendar: Calendar{Location: loc, Holidays: holidays}})
	origin := target.Add(-20 * time.Minute)
	feed(s, DaysBefore(loc, origin, days), origin, rate)
	return s.Outlooks()[0]
}

// The edges of the plateau move in UTC when the clocks change; forecasts follow
// the local clock in the days after, in both directions.
func TestClockChanges(t *testing.T) {
	for zone, days := range map[string][2]string{
		"Europe/Berlin":       {"2027-03-29", "2026-10-26"},
		"America/New_York":    {"2027-03-15", "2026-11-02"},
		"Australia/Lord_Howe": {"2026-10-05", "2027-04-05"}, // half an hour
	} {
		loc := mustLoad(t, zone)
		for _, day := range days {
			for clock, want := range map[string]float64{"08:40": 10, "09:05": 40, "11:50": 40, "12:05": 10} {
				target, err := time.ParseInLocation("2006-01-02 15:04", day+" "+clock, loc)
				if err != nil {
					t.Fatal(err)
				}
				o := forecastAt(t, loc, target, 9, shape(loc, 10, 40))
				if math.Abs(o.Value-want) > 4 {
					t.Errorf("%s %s %s: forecast %.1f, want %v", zone, day, clock, o.Value, want)
				}
			}
		}
	}
}

func TestHolidays(t *testing.T) {
	loc := mustLoad(t, "Europe/Berlin")
	date := func(day int) time.Time { return time.Date(2027, 5, day, 0, 0, 0, 0, time.UTC) }
	holiday := date(6) // a Thursday
	weekly := func(at time.Time) float64 {
		local := at.In(loc)
		free := local.Weekday() == time.Saturday || local.Weekday() == time.Sunday || local.Day() == 6 && local.Month() == 5
		if h := local.Hour(); !free && h >= 8 && h < 20 {
			return 60
		}
		return 5
	}
	target := time.Date(2027, 5, 6, 10, 0, 0, 0, loc)
	with := forecastAt(t, loc, target, 28, weekly, holiday)
	if with.Value > 12 {
		t.Errorf("a quiet holiday that is on the list: forecast %.1f, want about 5", with.Value)
	}
	without := forecastAt(t, loc, target, 28, weekly)
	if without.Value > 60 || without.Value < 5 {
		t.Errorf("a quiet holiday that is on no list: forecast %.1f", without.Value)
	}
	if with.Value > without.Value {
		t.Errorf("the list raised the forecast of a quiet holiday from %.1f to %.1f", without.Value, with.Value)
	}
	after := forecastAt(t, loc, time.Date(2027, 5, 7, 10, 0, 0, 0, loc), 29, weekly, holiday)
	if math.Abs(after.Value-60) > 8 {
		t.Errorf("the working day after a holiday: forecast %.1f, want about 60", after.Value)
	}
	// A holiday without history: the first weekend-like day of a short history.
	fresh := forecastAt(t, loc, target, 3, weekly, holiday)
	if !(fresh.Value >= 0 && fresh.Value <= 60) {
		t.Errorf("a holiday without any free day before: forecast %.1f", fresh.Value)
	}
}

func TestGaps(t *testing.T) {
	rate := shape(time.UTC, 10, 40)
	target := time.Date(2027, 2, 15, 9, 30, 0, 0, time.UTC)
	for name, gap := range map[string][2]time.Duration{
		"six hours until an hour ago": {7 * time.Hour, time.Hour},
		"five days until an hour ago": {121 * time.Hour, time.Hour},
		"six hours a week ago":        {(7*24 + 3) * time.Hour, (7*24 - 3) * time.Hour},
		"the last hour":               {80 * time.Minute, 0},
	} {
		o := forecastAt(t, time.UTC, target, 28, func(at time.Time) float64 {
			if ago := target.Sub(at); ago <= gap[0] && ago > gap[1] {
				return missing
			}
			return rate(at)
		})
		if math.Abs(o.Value-40) > 6 {
			t.Errorf("gap of %s: forecast %.1f, want about 40", name, o.Value)
		}
	}
}

func TestSkippedSlotsAreMissing(t *testing.T) {
	rate := wave(time.UTC, 2)
	a, b := newService(t, halfHours()), newService(t, halfHours())
	for i := range 48 * 9 {
		at := monday.Add(time.Duration(i) * 30 * time.Minute)
		hole := i > 200 && i < 230
		a.Observe(at, rate(at), !hole)
		if !hole {
			b.Observe(at, rate(at), true)
		}
	}
	x, y := &record{}, &record{}
	x.add(a)
	y.add(b)
	same(t, x, y)
}

func TestLevelShift(t *testing.T) {
	rate := wave(time.UTC, 21)
	step := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	s := newService(t, Settings{PerReplica: 8, Horizons: []int{4}})
	var off, total float64
	for at := step.AddDate(0, 0, -28); at.Before(step.AddDate(0, 0, 3)); at = at.Add(5 * time.Minute) {
		y := rate(at)
		if !at.Before(step) {
			y *= 2
		}
		if at.After(step.Add(6 * time.Hour)) {
			target := at.Add(15 * time.Minute)
			off += math.Abs(s.Outlooks()[0].Value - 2*rate(target))
			total += 2 * rate(target)
		}
		s.Observe(at, y, true)
	}
	if wape := off / total; wape > 0.2 {
		t.Errorf("error in the three days after a doubling: %.0f %%, want at most 20 %%", 100*wape)
	}
}

func TestShortHistory(t *testing.T) {
	s := newService(t, Settings{PerReplica: 8, Mode: Active})
	feed(s, monday, monday.Add(3*time.Hour), func(time.Time) float64 { return 30 })
	p := s.Plan(Request{Now: monday.Add(3 * time.Hour), Lead: 15 * time.Minute, Need: 4})
	if p.Mode != Reactive || p.Reasons[0] != TooLittleHistory {
		t.Errorf("three hours: %v %v", p.Mode, p.Reasons)
	}
	o := s.Outlooks()[2]
	if math.Abs(o.Value-30) > 3 {
		t.Errorf("three hours at 30: forecast %.1f", o.Value)
	}
	feed(s, monday.Add(3*time.Hour), monday.Add(30*time.Hour), func(time.Time) float64 { return 30 })
	if p := s.Plan(Request{Now: monday.Add(30 * time.Hour), Need: 4}); p.Mode != Shadow || p.Reasons[0] != TooLittleHistory {
		t.Errorf("thirty hours: %v %v", p.Mode, p.Reasons)
	}
	feed(s, monday.Add(30*time.Hour), monday.Add(72*time.Hour), func(time.Time) float64 { return 30 })
	if p := s.Plan(Request{Now: monday.Add(72 * time.Hour), Need: 4}); p.Mode != Active || p.Reasons[0] != WeekendUnseen {
		t.Errorf("three weekdays: %v %v", p.Mode, p.Reasons)
	}
}

func TestPlainSeries(t *testing.T) {
	end := monday.AddDate(0, 0, 15)
	settings := Settings{PerReplica: 8, Horizons: []int{1, 4}, Mode: Active, Lead: 15 * time.Minute}
	plan := func(s *Service, now time.Time) Plan {
		return s.Plan(Request{Now: now, Lead: 15 * time.Minute, Need: 1})
	}

	constant := newService(t, settings)
	feed(constant, monday, end, func(time.Time) float64 { return 40 })
	if p := plan(constant, end); math.Abs(p.Slots[1].Outlook.Value-40) > 0.01 || p.Replicas != 5 {
		t.Errorf("constant 40 at 8 a replica: forecast %v, order %d", p.Slots[1].Outlook.Value, p.Replicas)
	}

	zeros := newService(t, settings)
	feed(zeros, monday, end, func(time.Time) float64 { return 0 })
	if p := plan(zeros, end); p.Slots[1].Outlook.Value != 0 || p.Replicas != 1 {
		t.Errorf("all zeros: forecast %v, order %d", p.Slots[1].Outlook.Value, p.Replicas)
	}

	spike := newService(t, settings)
	at := monday.AddDate(0, 0, 9)
	feed(spike, monday, end, func(x time.Time) float64 {
		if x.Equal(at) {
			return 400
		}
		return 40
	})
	if p := plan(spike, end); math.Abs(p.Slots[1].Outlook.Value-40) > 0.5 || p.Replicas > 7 {
		t.Errorf("one spike days ago: forecast %v, order %d", p.Slots[1].Outlook.Value, p.Replicas)
	}

	stopped := newService(t, settings)
	feed(stopped, monday, end, shape(time.UTC, 10, 40))
	late := end.Add(3 * time.Hour)
	feed(stopped, end, late, func(time.Time) float64 { return missing })
	p := plan(stopped, late)
	if !p.Uncorrected || p.Slots[1].Outlook.Value > 40 || p.Slots[1].Outlook.Value < 5 || p.Mode != Active {
		t.Errorf("a series that stops: forecast %v, uncorrected %v, %v", p.Slots[1].Outlook.Value, p.Uncorrected, p.Mode)
	}
	gone := end.AddDate(0, 0, 4)
	feed(stopped, late, gone, func(time.Time) float64 { return missing })
	if p := plan(stopped, gone); p.Mode != Reactive || p.Reasons[0] != CoverageBelow70 {
		t.Errorf("stopped for four days: %v %v", p.Mode, p.Reasons)
	}
}

// An outlier of an hour is not repeated a week later; a weekly job is.
func TestWeeklyJobsSurviveTheMask(t *testing.T) {
	job := func(weeks int) Outlook {
		target := time.Date(2027, 2, 15, 10, 0, 0, 0, time.UTC) // a Monday
		return forecastAt(t, time.UTC, target, 35, func(at time.Time) float64 {
			ago := target.Sub(at)
			week := int(math.Round(ago.Hours() / (7 * 24)))
			if week >= 1 && week <= weeks && (ago-time.Duration(week)*7*24*time.Hour).Abs() < 30*time.Minute {
				return 90
			}
			return 30 + math.Mod(float64(at.Unix()/300)*0.37, 2)
		})
	}
	if o := job(1); o.Value > 33 {
		t.Errorf("one outlier: forecast %.1f, want about 31", o.Value)
	}
	once, always := job(1), job(4)
	if !(always.Experts[LastWeek] > 80) {
		t.Errorf("a weekly job: last week's expert says %.1f, want 90", always.Experts[LastWeek])
	}
	if !(always.Experts[AnalogScaled] > once.Experts[AnalogScaled]+3) {
		t.Errorf("a weekly job raises the analog days from %.1f to %.1f only", once.Experts[AnalogScaled], always.Experts[AnalogScaled])
	}
}

func TestSiblingProfile(t *testing.T) {
	old := newService(t, Settings{PerReplica: 8, Horizons: []int{12}})
	young := newService(t, Settings{PerReplica: 8, Horizons: []int{12}})
	young.Borrow(old)
	target := time.Date(2027, 2, 15, 9, 30, 0, 0, time.UTC)
	origin := target.Add(-55 * time.Minute) // 08:35, before the plateau
	feed(old, origin.AddDate(0, 0, -20), origin, shape(time.UTC, 100, 400))
	feed(young, origin.Add(-5*time.Hour), origin, shape(time.UTC, 10, 40))
	if got := young.Outlooks()[0].Experts[SiblingProfile]; math.Abs(got-40) > 6 {
		t.Errorf("borrowed profile says %.1f, want about 40", got)
	}
}
