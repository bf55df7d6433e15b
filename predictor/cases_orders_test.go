package predictor

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func caseIdle(t *testing.T, c bugCase) {
	var given struct {
		Timezone, Target string
		History          recipe
		Rows             []struct {
			Name         string
			LastSixSlots any
		}
	}
	var expect struct {
		Rows []struct {
			Yhat    span
			Missing bool
		}
	}
	c.decode(t, &given, &expect)
	target := instant(t, given.Target)
	if len(given.Rows) != 3 || len(expect.Rows) != 3 {
		t.Fatalf("%d rows, %d expectations", len(given.Rows), len(expect.Rows))
	}
	for i, row := range expect.Rows {
		last := slices.Repeat([]cell{{value: math.NaN()}}, 6) // missing
		if slots, ok := given.Rows[i].LastSixSlots.([]any); ok {
			for k, v := range slots {
				if y, ok := v.(float64); ok {
					last[k].value = y
				} else if v != "NaN" {
					t.Fatalf("slot %v", v)
				}
			}
		} else if given.Rows[i].LastSixSlots != "missing" {
			t.Fatalf("slots %v", given.Rows[i].LastSixSlots)
		}
		for seed := range uint64(seeds) {
			k := kitchen{recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0], random: rand.New(rand.NewPCG(3, seed))}
			origin := target.Add(-20 * time.Minute)
			s := k.serve(t, origin, 8, last)
			checkRow(t, s, 8, forecastRow{Yhat: row.Yhat})
			p := s.Plan(Request{Now: origin, Lead: 15 * time.Minute, Need: 1})
			if p.Uncorrected != row.Missing {
				t.Errorf("%s: uncorrected = %v", given.Rows[i].Name, p.Uncorrected)
			}
		}
	}
}

func caseFalling(t *testing.T, c bugCase) {
	var given struct{ Values []float64 }
	c.decode(t, &given, nil)
	start := instant(t, "2027-02-15T08:00:00Z")
	for _, days := range []int{0, 28} {
		s := newService(t, Settings{Horizons: []int{3}})
		feed(s, start.AddDate(0, 0, -days), start, func(time.Time) float64 { return 90 })
		for i, y := range given.Values {
			s.Observe(start.Add(time.Duration(i)*5*time.Minute), y, true)
			o := s.Outlooks()[0]
			for k, v := range append(o.Experts[:], o.Value) {
				if v < 0 || math.IsInf(v, 0) {
					t.Errorf("after %d days: forecast %d = %v", days, k, v)
				}
			}
			if math.IsNaN(o.Value) || !(o.Upper >= o.Value) {
				t.Errorf("after %d days: forecast %v with bound %v", days, o.Value, o.Upper)
			}
		}
	}
}

func caseFailure(t *testing.T, c bugCase) {
	var expect struct {
		AllFail struct {
			Mode   Mode
			Reason Reason
		}
	}
	c.decode(t, nil, &expect)
	namedIn("backtest/backtest_test.go")(t, c) // where methods are compared: order, failed and products
	start := instant(t, "2027-02-01T00:00:00Z")
	s := newService(t, Settings{Horizons: []int{3}, Mode: Active})
	feed(s, start, start.AddDate(0, 0, 5), wave(time.UTC, 1))
	s.failed = func(k Expert, v float64) float64 {
		if k == Smoothing {
			return math.Inf(1)
		}
		return v
	}
	next := start.AddDate(0, 0, 5)
	s.Observe(next, 20, true)
	if got := s.FailedExperts(); len(got) != 1 || got[0] != Smoothing {
		t.Errorf("failed experts = %v", got)
	}
	p := s.Plan(Request{Now: next.Add(5 * time.Minute), Need: 1})
	if p.Mode != Active || p.Reasons[0] != ExpertFailed || p.Slots[0].Outlook.Weights[Smoothing] != 0 {
		t.Errorf("with one failed expert: %v %v, its weight %v", p.Mode, p.Reasons, p.Slots[0].Outlook.Weights[Smoothing])
	}
	s.failed = nil
	s.Observe(next.Add(5*time.Minute), 20, true)
	if w := s.Outlooks()[0].Weights[Smoothing]; w != 0 {
		t.Errorf("an expert is back after five minutes with weight %v", w)
	}
	feed(s, next.Add(10*time.Minute), next.AddDate(0, 0, 1).Add(10*time.Minute), wave(time.UTC, 1))
	if got := s.FailedExperts(); len(got) != 0 {
		t.Errorf("still left out after a day: %v", got)
	}

	s.failed = func(Expert, float64) float64 { return math.Inf(-1) }
	last := next.AddDate(0, 0, 1).Add(10 * time.Minute)
	s.Observe(last, 20, true)
	p = s.Plan(Request{Now: last.Add(5 * time.Minute), Need: 4})
	if p.Mode != expect.AllFail.Mode || p.Reasons[0] != expect.AllFail.Reason {
		t.Errorf("all failed: %v %v, want %v %v", p.Mode, p.Reasons, expect.AllFail.Mode, expect.AllFail.Reason)
	}
}

func caseSwitch(t *testing.T, c bugCase) {
	var given struct {
		SameUnderProvisioned float64
		AutomaticSwitch      struct {
			EnterAt, LeaveBelow                float64
			Days, ShortStepsAtLeast, DwellDays int
		}
		StartMode       Mode
		InShadowForDays int
		Rows            []struct {
			Day                            int
			HistoryDays                    float64
			ShortSteps                     int
			ReactiveHours, PredictiveHours float64
		}
		SevenDays struct {
			ShortSteps                     int
			ReactiveHours, PredictiveHours float64
		}
	}
	var expect struct {
		Rows []struct {
			Saving float64
			Mode   Mode
			Reason Reason
		}
		SevenDays struct {
			Saving          float64
			Shown, Switches bool
		}
		WithoutAutomaticSwitch struct {
			Mode        string
			SavingShown bool
		}
	}
	c.decode(t, &given, &expect)
	if g := given.AutomaticSwitch; g.EnterAt != switchOn || g.LeaveBelow != switchOff || g.Days != switchDays || g.ShortStepsAtLeast != switchSteps ||
		time.Duration(g.DwellDays)*24*time.Hour != switchDwell || len(given.Rows) != len(expect.Rows) {
		t.Fatalf("the switch of the case is %+v", g)
	}
	start := instant(t, "2027-03-01T00:00:00Z")
	var w Switch
	judgeAs := func(configured Mode, history time.Duration) (Mode, Reason) {
		mode, reasons := Conditions{Configured: configured, History: history, Coverage: 1, Usable: true, Weeks: 4, Switch: &w}.Judge()
		return mode, reasons[0]
	}
	judge := func() (Mode, Reason) { return judgeAs(Auto, 30*24*time.Hour) }
	if mode, _ := judge(); mode != given.StartMode {
		t.Errorf("starts in %v, want %v", mode, given.StartMode)
	}
	for i, want := range expect.Rows {
		row := given.Rows[i]
		saving := Saving{Days: 28, ShortSteps: row.ShortSteps, ReactiveHours: row.ReactiveHours, PredictiveHours: row.PredictiveHours}
		closeTo(t, "saving", saving.Share(), want.Saving, 5e-5)
		w.Check(start.AddDate(0, 0, row.Day), saving)
		mode, reason := judgeAs(Auto, time.Duration(row.HistoryDays*24)*time.Hour)
		for _, byOperator := range []Mode{Shadow, Active} {
			if m, _ := judgeAs(byOperator, 30*24*time.Hour); m != byOperator {
				t.Errorf("day %d: the operator set %v, and it is %v", row.Day, byOperator, m)
			}
		}
		if mode != want.Mode || (want.Reason != "" && reason != want.Reason) {
			t.Errorf("day %d: %v (%v), want %v (%v)", row.Day, mode, reason, want.Mode, want.Reason)
		}
	}
	week := Saving{Days: 7, ShortSteps: given.SevenDays.ShortSteps, ReactiveHours: given.SevenDays.ReactiveHours, PredictiveHours: given.SevenDays.PredictiveHours}
	closeTo(t, "saving of 7 days", week.Share(), expect.SevenDays.Saving, 1e-9)
	for _, before := range []Switch{{}, {Active: true}} { // both long after their last turn
		after := before
		after.Check(start.AddDate(0, 2, 0), week)
		if after.Active != before.Active {
			t.Errorf("7 days turned %+v into %+v", before, after)
		}
	}
	before := w.Active
	w.Check(start.AddDate(0, 1, 0), Saving{Days: 7, ShortSteps: 200, ReactiveHours: 100, PredictiveHours: 200})
	if w.Active != before || w.Reason != TooFewShortSteps {
		t.Errorf("7 days switched it: %+v", w)
	}
	w.Check(start.AddDate(0, 1, 0), Saving{Days: 28, ShortSteps: 200, ReactiveHours: 100, PredictiveHours: 99})
	w.Brake(start.AddDate(0, 1, 0))
	if mode, reason := judge(); mode != Shadow || reason != Misses {
		t.Errorf("after three misses: %v (%v)", mode, reason)
	}
}

func caseTiming(t *testing.T, c bugCase) {
	var given struct {
		Orders []struct {
			Local string
			N     int
		}
		LeadP90, PollDelay, HPASync, Tick, LookFurtherAtMost string
	}
	var expect struct {
		Lead         string
		FirstOrderAt [2]string
		ValueBefore  int
		ValueFrom    int
		ReadyBy      [2]string
	}
	c.decode(t, &given, &expect)
	parse := func(s string) time.Duration {
		t.Helper()
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	lead := parse(given.LeadP90) + parse(given.PollDelay) + parse(given.HPASync)
	if lead != parse(expect.Lead) {
		t.Errorf("lead %v, want %v", lead, expect.Lead)
	}
	day := instant(t, "2027-02-15T00:00:00Z")
	s := newService(t, Settings{Mode: Active, Lead: lead, Hold: parse(given.LookFurtherAtMost)})
	feed(s, day.AddDate(0, 0, -3), day.Add(8*time.Hour), func(time.Time) float64 { return 8 })
	s.steering.wanted = make([]int32, len(s.steering.wanted))
	var first string
	for tick := day.Add(8*time.Hour + 15*time.Minute); tick.Before(day.Add(9 * time.Hour)); tick = tick.Add(parse(given.Tick)) {
		if tick.Unix()%300 == 0 {
			feed(s, s.endOf(s.history.newest), tick, func(time.Time) float64 { return 8 })
			clear(s.steering.wanted)
			for i := range s.horizons {
				z := &s.horizons[i]
				z.order = 2
				if start := time.Unix(z.outlook.Slot*300, 0).UTC().Format("15:04"); start >= given.Orders[1].Local {
					z.order = given.Orders[1].N
				}
			}
		}
		p := s.Plan(Request{Now: tick, Lead: lead, Need: 1})
		clock := tick.Format("15:04:05")
		switch {
		case p.Replicas == expect.ValueFrom && first == "":
			first = clock
		case first == "" && p.Replicas != expect.ValueBefore, first != "" && p.Replicas != expect.ValueFrom:
			t.Fatalf("%s: order %d", clock, p.Replicas)
		}
	}
	if first < expect.FirstOrderAt[0] || first > expect.FirstOrderAt[1] {
		t.Errorf("first ordered at %q, want %v", first, expect.FirstOrderAt)
	}
	at, err := time.Parse("15:04:05", first)
	if err != nil {
		t.Fatal(err)
	}
	if ready := at.Add(lead).Format("15:04:05"); ready < expect.ReadyBy[0] || ready > expect.ReadyBy[1] {
		t.Errorf("ready at %s, want %v", ready, expect.ReadyBy)
	}
}
