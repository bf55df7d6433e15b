package predictor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// The cases come from public bug reports of other autoscalers; see the file.

type caseFile struct {
	Cases []bugCase `json:"cases"`
}

type bugCase struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Given  json.RawMessage `json:"given"`
	Expect json.RawMessage `json:"expect"`
}

func (c bugCase) decode(t *testing.T, given, expect any) {
	t.Helper()
	for _, part := range []struct {
		data json.RawMessage
		into any
	}{{c.Given, given}, {c.Expect, expect}} {
		if part.into == nil {
			continue
		}
		if err := json.Unmarshal(part.data, part.into); err != nil {
			t.Fatalf("case %s: %v", c.ID, err)
		}
	}
}

// span is a closed range, or a single number.
type span [2]float64

func (s *span) UnmarshalJSON(data []byte) error {
	var one float64
	if json.Unmarshal(data, &one) == nil {
		*s = span{one, one}
		return nil
	}
	var pair [2]float64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	*s = pair
	return nil
}

func (s span) check(t *testing.T, what string, got float64) {
	t.Helper()
	if !(got >= s[0] && got <= s[1]) {
		t.Errorf("%s = %v, want %v to %v", what, got, s[0], s[1])
	}
}

// cell is a number or the word missing, NaN or a reference.
type cell struct {
	value float64
	word  string
}

func (c *cell) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.value) == nil {
		return nil
	}
	if err := json.Unmarshal(data, &c.word); err != nil {
		return err
	}
	c.value = math.NaN()
	return nil
}

type rule struct {
	DayType   string `json:"dayType"`
	From      string `json:"from"`
	To        string `json:"to"`
	Y         cell   `json:"y"`
	Week      any    `json:"week"`
	Today     bool   `json:"today"`
	OtherDays string `json:"otherDays"`
	Samples   *int   `json:"samples"`
}

type recipe struct {
	Days  int    `json:"days"`
	Noise span   `json:"noise"`
	Rules []rule `json:"rules"`
}

// kitchen makes rates from a recipe.
type kitchen struct {
	recipe
	loc       *time.Location
	target    time.Time
	noise     float64
	random    *rand.Rand
	weeks     map[string]cell // values by week for y: row
	otherDays string
}

func (k *kitchen) rate(at time.Time) float64 {
	local, target := at.In(k.loc), k.target.In(k.loc)
	clock := local.Format("15:04")
	date := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	today := time.Date(target.Year(), target.Month(), target.Day(), 0, 0, 0, 0, time.UTC)
	ago := int(today.Sub(date).Hours()) / 24
	for _, r := range k.Rules {
		if !k.matches(r, local.Weekday(), clock, ago) {
			continue
		}
		y := r.Y
		if y.word == "row" {
			y = k.weeks[fmt.Sprint(ago/7)]
		}
		if r.Samples != nil && !Covered(*r.Samples, 5*time.Minute, 15*time.Second) {
			return math.NaN()
		}
		if y.value > 0 && k.noise > 0 {
			return y.value * max(0, 1+k.noise*k.random.NormFloat64())
		}
		return y.value
	}
	return math.NaN()
}

func (k *kitchen) matches(r rule, day time.Weekday, clock string, ago int) bool {
	weekend := day == time.Saturday || day == time.Sunday
	switch {
	case r.DayType == "weekday" && weekend, r.DayType == "weekend" && !weekend:
		return false
	case r.From != "" && clock < r.From, r.To != "" && clock >= r.To:
		return false
	case r.Today && ago != 0:
		return false
	case r.OtherDays != "" && k.otherDays != r.OtherDays:
		return false
	case r.OtherDays != "" && ago%7 == 0:
		return false
	}
	switch week := r.Week.(type) {
	case string: // any
		return ago > 0 && ago%7 == 0 && ago <= 28
	case float64:
		return ago == 7*int(week)
	}
	return true
}

// serve runs a service over the history up to the origin.
func (k *kitchen) serve(t *testing.T, origin time.Time, c1 float64, last []cell) *Service {
	t.Helper()
	s := newService(t, Settings{PerReplica: c1, Horizons: []int{1, 5}, Calendar: Calendar{Location: k.loc}, Mode: Active})
	first := DaysBefore(k.loc, origin, k.Days)
	feed(s, first, origin, func(at time.Time) float64 {
		if left := int(origin.Sub(at) / (5 * time.Minute)); left <= len(last) {
			return last[len(last)-left].value
		}
		return k.rate(at)
	})
	return s
}

const seeds = 1 // the ranges hold for any; more than one was tried

type forecastRow struct {
	Target   string `json:"target"`
	Yhat     span   `json:"yhat"`
	Replicas *span  `json:"replicas"`
}

func checkRow(t *testing.T, s *Service, c1 float64, row forecastRow) {
	t.Helper()
	o := s.Outlooks()[1]
	row.Yhat.check(t, "forecast", o.Value)
	if o.Upper < o.Value {
		t.Errorf("bound %v below forecast %v", o.Upper, o.Value)
	}
	if row.Replicas != nil {
		row.Replicas.check(t, "order at price 60", float64(o.Order(c1, 60, Replicas(s.history.last, c1))))
	}
}

// textKeys turns the keys of maps into text, as JSON wants them.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = textKeys(x)
		}
		return v
	case map[any]any:
		out := map[string]any{}
		for k, x := range v {
			out[fmt.Sprint(k)] = textKeys(x)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = textKeys(x)
		}
	}
	return v
}

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(textKeys(tree))
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*testing.T, bugCase){
		"judoscale-255": caseClockChange, "keda-4677": caseWeekend, "keda-932": caseZones,
		"dynamo-6985": caseIdle, "dynamo-14493": caseFalling, "dynamo-14513": caseFailure,
		"dynamo-14238": caseSwitch, "kthena-1361": caseTiming, "mimir-7775": caseAnomaly,
		"crane-787": caseAnomaly, "crane-728": caseGaps, "opencost-1472": caseQueries,
		"llm-d-1071": namedIn("../scaler/startup_test.go"), "mimir-12406": caseCoverage,
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if tests[c.ID] == nil {
				t.Fatal("no test for this case")
			}
			tests[c.ID](t, c)
		})
	}
	if len(file.Cases) != len(tests) {
		t.Errorf("%d cases, %d tests", len(file.Cases), len(tests))
	}
}

// namedIn is a case that another package decides; its tests read it from here.
func namedIn(file string) func(*testing.T, bugCase) {
	return func(t *testing.T, c bugCase) {
		if tests, err := os.ReadFile(file); err != nil || !bytes.Contains(tests, []byte(c.ID)) {
			t.Errorf("no test of %s names the case: %v", file, err)
		}
	}
}

func caseClockChange(t *testing.T, c bugCase) {
	var given struct {
		Timezone string
		History  recipe
		Origins  []string
	}
	var expect struct {
		Rows      []forecastRow
		Analogues []string `json:"weeklyAnaloguesOfRow2"`
	}
	c.decode(t, &given, &expect)
	loc := mustLoad(t, given.Timezone)
	for i, row := range expect.Rows {
		for seed := range uint64(seeds) {
			for _, noise := range given.History.Noise {
				if noise == 0 && seed > 0 {
					continue
				}
				k := kitchen{recipe: given.History, loc: loc, target: instant(t, row.Target), noise: noise, random: rand.New(rand.NewPCG(1, seed))}
				s := k.serve(t, instant(t, given.Origins[i]), 8, nil)
				checkRow(t, s, 8, row)
			}
		}
	}
	for i, want := range expect.Analogues {
		if got := DaysBefore(loc, instant(t, expect.Rows[1].Target), 7*(i+1)); !got.Equal(instant(t, want)) {
			t.Errorf("analog of %d weeks ago = %v, want %s", i+1, got, want)
		}
	}
}

func caseWeekend(t *testing.T, c bugCase) {
	var given struct {
		Timezone string
		History  recipe
		C1       float64
	}
	var expect struct{ Rows []forecastRow }
	c.decode(t, &given, &expect)
	loc := mustLoad(t, given.Timezone)
	dates := map[string]int{"Friday": 19, "Saturday": 20, "Sunday": 21, "Monday": 22}
	for _, row := range expect.Rows {
		day, clock, _ := strings.Cut(row.Target, " ")
		at, err := time.ParseInLocation("2006-01-02 15:04", fmt.Sprintf("2027-02-%d %s", dates[day], clock), loc)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(seeds) {
			for _, noise := range given.History.Noise {
				if noise == 0 && seed > 0 {
					continue
				}
				t.Run(fmt.Sprint(row.Target, seed, noise), func(t *testing.T) {
					k := kitchen{recipe: given.History, loc: loc, target: at, noise: noise, random: rand.New(rand.NewPCG(2, seed))}
					checkRow(t, k.serve(t, at.Add(-20*time.Minute), given.C1, nil), given.C1, row)
				})
			}
		}
	}
}

func caseZones(t *testing.T, c bugCase) {
	var given struct{ Rows []struct{ Timezone string } }
	var expect struct {
		Rows []struct {
			Load     string
			Mentions []string
		}
	}
	c.decode(t, &given, &expect)
	for i, row := range expect.Rows {
		_, err := LoadLocation(given.Rows[i].Timezone)
		if (err == nil) != (row.Load == "ok") {
			t.Errorf("load %q: %v, want %s", given.Rows[i].Timezone, err, row.Load)
		}
		for _, word := range row.Mentions {
			if err != nil && !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not mention %q", err, word)
			}
		}
	}
}

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

// caseAnomaly is one odd day among usual ones.
func caseAnomaly(t *testing.T, c bugCase) {
	var given struct {
		Target  string
		C1      float64
		History recipe
	}
	var expect forecastRow
	c.decode(t, &given, &expect)
	target := instant(t, given.Target)
	for seed := range uint64(seeds) {
		k := kitchen{recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0], random: rand.New(rand.NewPCG(4, seed))}
		checkRow(t, k.serve(t, target.Add(-20*time.Minute), given.C1, nil), given.C1, expect)
	}
}

func caseGaps(t *testing.T, c bugCase) {
	var given struct {
		Target    string
		History   recipe
		OtherDays []string
		Rows      []struct{ Weeks map[string]cell }
	}
	var expect struct {
		Rows []struct {
			forecastRow
			WeeksPresent int
			Reason       Reason
		}
	}
	c.decode(t, &given, &expect)
	target := instant(t, given.Target)
	for i, row := range expect.Rows {
		for _, others := range given.OtherDays {
			for seed := range uint64(seeds) {
				k := kitchen{
					recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0],
					random: rand.New(rand.NewPCG(5, seed)), weeks: given.Rows[i].Weeks, otherDays: others,
				}
				origin := target.Add(-20 * time.Minute)
				s := k.serve(t, origin, 8, nil)
				checkRow(t, s, 8, row.forecastRow)
				s.horizons[0].order, s.horizons[1].order = 1, 99 // let the slot of the case bind
				p := s.Plan(Request{Now: origin, Lead: 20 * time.Minute, Need: 1})
				if p.Mode != Active || p.Weeks != row.WeeksPresent || p.Reasons[0] != row.Reason {
					t.Errorf("row %d, others %s: %v, %d weeks, %v", i, others, p.Mode, p.Weeks, p.Reasons)
				}
			}
		}
	}
}

func caseQueries(t *testing.T, c bugCase) {
	var given struct {
		Now, NowAgain int64
		Rows          []struct {
			Step int64
			Span string
		}
	}
	var expect struct {
		Rows []struct {
			Start, End       int64
			Points, Requests int
		}
		SameQueryAgain         []bool
		PointsPerRequestAtMost int
	}
	c.decode(t, &given, &expect)
	for i, row := range given.Rows {
		var days int
		if _, err := fmt.Sscanf(row.Span, "%dd", &days); err != nil {
			t.Fatal(err)
		}
		step, length := time.Duration(row.Step)*time.Second, time.Duration(days)*24*time.Hour
		got := Ranges(time.Unix(given.Now, 0), step, length)
		want := expect.Rows[i]
		if len(got) != want.Requests || got[0].Start.Unix() != want.Start || got[0].End.Unix() != want.End || got[0].Points != want.Points {
			t.Errorf("ranges = %+v, want %+v", got, want)
		}
		again := Ranges(time.Unix(given.NowAgain, 0), step, length)
		if same := again[0] == got[0]; same != expect.SameQueryAgain[i] {
			t.Errorf("asked again 40 s later: same = %v", same)
		}
	}
	all := Ranges(time.Unix(given.Now, 0), 15*time.Second, 35*24*time.Hour)
	points := 0
	for i, r := range all {
		points += r.Points
		if r.Points > expect.PointsPerRequestAtMost || r.Start.Unix()%15 != 0 {
			t.Errorf("range %+v", r)
		}
		if i > 0 && r.Start.Sub(all[i-1].End) != 15*time.Second {
			t.Errorf("hole between %v and %v", all[i-1].End, r.Start)
		}
	}
	if points != 35*5760+1 {
		t.Errorf("%d points in all", points)
	}
}

func caseCoverage(t *testing.T, c bugCase) {
	var given struct {
		Slots   []struct{ Samples int }
		Target  string
		History recipe
	}
	var expect struct {
		Slots []string
		Yhat  span
	}
	c.decode(t, &given, &expect)
	for i, s := range given.Slots {
		if got := Covered(s.Samples, 5*time.Minute, 15*time.Second); got != (expect.Slots[i] == "valid") {
			t.Errorf("%d samples: valid = %v, want %s", s.Samples, got, expect.Slots[i])
		}
	}
	target := instant(t, given.Target)
	for seed := range uint64(seeds) {
		k := kitchen{recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0], random: rand.New(rand.NewPCG(6, seed))}
		checkRow(t, k.serve(t, target.Add(-20*time.Minute), 8, nil), 8, forecastRow{Yhat: expect.Yhat})
	}
}
