package predictor

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestExplain(t *testing.T) {
	s, at := grown(t)
	loc := mustLoad(t, "Europe/Berlin")
	p := s.Plan(Request{Now: at, Lead: 6*time.Minute + 10*time.Second, Need: 1, Cause: "90 % of 14 starts"})
	text := p.Explain(loc, "req/s")
	pattern := `^\d\d:\d\d: the days most like today \(\w{3} \d+, \w{3} \d+, \w{3} \d+\), scaled to today's level, say [\d.]+ ± [\d.]+ req/s; ` +
		`weights: (analog days|seasonal smoothing|last value|last week) \d+ %.*; \d+ replicas? are short with probability [\d.]+ %, one more (would lower|lowers) it to [\d.]+ %, worth [\d.]+ at price [\d.]+ \(steered to 1.0 % short\); ` +
		`order \d+, at \d\d:\d\d because starting takes 6m10s \(90 % of 14 starts\)\. Binding: .*\. Mode active \(\S+\)\.$`
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("explanation does not read as agreed:\n%s", text)
	}
	empty := newService(t, Settings{})
	p = empty.Plan(Request{Now: at, Need: 3})
	if got := p.Explain(nil, "req/s"); !strings.Contains(got, "no forecast (no-data)") || !strings.Contains(got, "3 replicas") {
		t.Errorf("without data: %s", got)
	}
}

func TestPlanNeverBelowTheNeed(t *testing.T) {
	s, at := grown(t)
	for _, need := range []int{0, 1, 5, 200} {
		p := s.Plan(Request{Now: at, Lead: 30 * time.Minute, Need: need})
		if p.Replicas < need {
			t.Errorf("need %d: order %d", need, p.Replicas)
		}
		if need == 200 && p.Replicas != 200 {
			t.Errorf("need 200: order %d", p.Replicas)
		}
	}
}

// A longer lead looks further and never orders less.
func TestLongerLeadNeverOrdersLess(t *testing.T) {
	s, at := grown(t)
	rate := wave(time.UTC, 1)
	for range 288 {
		s.Observe(at, rate(at), true)
		at = at.Add(5 * time.Minute)
		last := 0
		for _, lead := range []time.Duration{time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour} {
			s.steering.wanted[ring(s.history.newest-1, len(s.steering.wanted))] = 0
			s.steering.wanted[ring(s.history.newest-2, len(s.steering.wanted))] = 0
			p := s.Plan(Request{Now: at, Lead: lead, Need: 1})
			if p.Replicas < last {
				t.Fatalf("%v: lead %v orders %d, a shorter one %d", at, lead, p.Replicas, last)
			}
			last = p.Replicas
		}
	}
}

func TestPrewarmRecord(t *testing.T) {
	var p prewarms
	p.start(100, 40)
	p.learn(99, 300, 5)
	for slot := int64(100); slot < 103; slot++ {
		p.learn(slot, 300, 19)
	}
	if p.open || p.missed != 1 || p.since(100) != 1 || p.since(103) != 0 {
		t.Errorf("less than half came: %+v", p)
	}
	p.start(200, 40)
	p.learn(200, 300, 1)
	p.learn(201, 300, 25)
	p.learn(202, 300, missing)
	if p.open || p.hits != 1 || p.missed != 1 {
		t.Errorf("more than half came: %+v", p)
	}
}

func TestJudge(t *testing.T) {
	good := Conditions{Configured: Active, History: 30 * 24 * time.Hour, Coverage: 1, Usable: true, Weeks: 4}
	for name, c := range map[string]struct {
		change func(*Conditions)
		mode   Mode
		reason Reason
	}{
		"complete":       {func(*Conditions) {}, Active, OK},
		"off":            {func(c *Conditions) { c.Configured = Off }, Off, ByOperator},
		"shadow":         {func(c *Conditions) { c.Configured = Shadow }, Shadow, ShadowByConfig},
		"no data":        {func(c *Conditions) { c.History = 0 }, Reactive, NoData},
		"hours":          {func(c *Conditions) { c.History = 23 * time.Hour }, Reactive, TooLittleHistory},
		"a day":          {func(c *Conditions) { c.History = 30 * time.Hour }, Shadow, TooLittleHistory},
		"holes":          {func(c *Conditions) { c.Coverage = 0.69 }, Reactive, CoverageBelow70},
		"nothing works":  {func(c *Conditions) { c.Usable = false }, Reactive, NoUsableModel},
		"two misses":     {func(c *Conditions) { c.Misses = 2 }, Active, OK},
		"three misses":   {func(c *Conditions) { c.Misses = 3 }, Shadow, Misses},
		"one failed":     {func(c *Conditions) { c.Failed = []Expert{Smoothing} }, Active, ExpertFailed},
		"stale":          {func(c *Conditions) { c.Stale = true }, Active, SourceStale},
		"a young week":   {func(c *Conditions) { c.WeekendUnseen, c.Weeks = true, 0 }, Active, WeekendUnseen},
		"three weeks":    {func(c *Conditions) { c.Weeks = 3 }, Active, FewerWeeks},
		"no skill":       {func(c *Conditions) { c.Unskilled = true }, Active, NoTimeOfDaySkill},
		"auto, too few":  {func(c *Conditions) { c.Configured, c.Switch = Auto, &Switch{Reason: TooFewShortSteps} }, Shadow, TooFewShortSteps},
		"auto, switched": {func(c *Conditions) { c.Configured, c.Switch = Auto, &Switch{Active: true} }, Active, OK},
	} {
		x := good
		c.change(&x)
		mode, reasons := x.Judge()
		if mode != c.mode || reasons[0] != c.reason {
			t.Errorf("%s: %v %v, want %v %v", name, mode, reasons, c.mode, c.reason)
		}
	}
}

// The automatic switch turns on by itself where the clock helps, and stays off
// where it does not; both only after 28 whole days.
func TestAutoSwitchesOnRecordedSkill(t *testing.T) {
	settings := Settings{Step: 10 * time.Minute, Horizons: []int{1, 2, 4}, PerReplica: 5, Mode: Auto, Lead: 30 * time.Minute, MaxShort: 0.04}
	plan := func(days int, rate func(time.Time) float64) (Plan, Skill) {
		s := newService(t, settings)
		end := monday.AddDate(0, 0, days)
		feed(s, monday, end, rate)
		return s.Plan(Request{Now: end, Lead: 30 * time.Minute, Need: 1}), s.Skill(28)
	}
	jumps := func(at time.Time) float64 { // a peak at a fixed hour, which the last value misses
		if h := at.Hour(); h == 9 || h == 15 {
			return 80 + wave(time.UTC, 3)(at)
		}
		return wave(time.UTC, 3)(at)
	}
	if p, k := plan(20, jumps); p.Mode != Shadow || p.Reasons[0] != TooFewShortSteps {
		t.Errorf("20 days: %v %v, %+v", p.Mode, p.Reasons, k)
	}
	if p, k := plan(34, jumps); p.Mode != Active || k.Saving.Share() < 0.03 {
		t.Errorf("34 days of daily peaks: %v %v, %+v", p.Mode, p.Reasons, k)
	}
}
