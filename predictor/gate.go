package predictor

import "time"

// Mode says what an order is used for.
type Mode string

// The modes an operator can set. Reactive is what a decision falls back to.
const (
	Off      Mode = "off"
	Shadow   Mode = "shadow" // computed and shown, not used
	Active   Mode = "active"
	Auto     Mode = "auto" // active while it saves, see [Switch]
	Reactive Mode = "reactive"
)

func (m Mode) valid() bool {
	switch m {
	case Off, Shadow, Active, Auto:
		return true
	}
	return false
}

// Reason is the code that says why a mode is in force.
type Reason string

// The reasons, in the order in which they are looked for. From ExpertFailed on
// they are remarks: the order is used as configured.
const (
	ByOperator        Reason = "off-by-config"
	NoData            Reason = "no-data"
	TooLittleHistory  Reason = "too-little-history"
	CoverageBelow70   Reason = "coverage-below-70"
	NoUsableModel     Reason = "no-usable-model"
	ShadowByConfig    Reason = "shadow-by-config"
	Misses            Reason = "misses"
	TooFewShortSteps  Reason = "too-few-short-steps"
	Dwell             Reason = "dwell"
	SkillBelow3       Reason = "skill-below-3"
	ExpertFailed      Reason = "expert-failed"
	SourceStale       Reason = "source-stale"
	WeekendUnseen     Reason = "weekend-unseen"
	FewerWeeks        Reason = "fewer-weeks"
	NoTimeOfDaySkill  Reason = "no-time-of-day-skill"
	OK                Reason = "ok"
	minHistory               = 24 * time.Hour
	shadowHistory            = 48 * time.Hour
	missesBeforeBrake        = 3
	missMemory               = 24 * time.Hour
)

// Conditions are what the gates look at.
type Conditions struct {
	Configured Mode
	// History is the time since the first known rate; 0 without any.
	History time.Duration
	// Coverage is the known share of the last 7 days, or of a shorter history.
	Coverage float64
	// Usable is false when every expert failed.
	Usable bool
	// Failed are the experts that are left out after a failure.
	Failed []Expert
	// Misses in the last 24 hours: replicas were prewarmed for a load that did
	// not come.
	Misses int
	// Stale says that the newest rate is older than half an hour.
	Stale bool
	// WeekendUnseen says that a history of 2 to 7 days lacks one day type.
	WeekendUnseen bool
	// Weeks counts the last four weeks with a rate at the target's clock time.
	Weeks int
	// Switch is the automatic switch, used in mode Auto.
	Switch *Switch
	// Unskilled says that the clock tells nothing about this service.
	Unskilled bool
}

// Judge returns the mode in force and the reasons, the decisive one first.
func (c Conditions) Judge() (Mode, []Reason) {
	if c.Configured == Off {
		return Off, []Reason{ByOperator}
	}
	if mode, reason, stop := c.data(); stop {
		return mode, []Reason{reason}
	}
	mode, reason := c.operator()
	remarks := c.remarks()
	if reason == OK && len(remarks) > 0 {
		return mode, remarks
	}
	return mode, append([]Reason{reason}, remarks...)
}

func (c Conditions) data() (Mode, Reason, bool) {
	switch {
	case c.History <= 0:
		return Reactive, NoData, true
	case c.History < minHistory:
		return Reactive, TooLittleHistory, true
	case c.Coverage < 0.7:
		return Reactive, CoverageBelow70, true
	case !c.Usable:
		return Reactive, NoUsableModel, true
	case c.History < shadowHistory:
		return Shadow, TooLittleHistory, true
	}
	return "", "", false
}

func (c Conditions) operator() (Mode, Reason) {
	switch {
	case c.Configured == Shadow:
		return Shadow, ShadowByConfig
	case c.Misses >= missesBeforeBrake:
		return Shadow, Misses
	case c.Configured == Active || c.Switch == nil:
		return Active, OK
	case c.Switch.Active:
		return Active, OK
	}
	return Shadow, c.Switch.Reason
}

func (c Conditions) remarks() []Reason {
	var out []Reason
	if len(c.Failed) > 0 {
		out = append(out, ExpertFailed)
	}
	if c.Stale {
		out = append(out, SourceStale)
	}
	if c.WeekendUnseen {
		out = append(out, WeekendUnseen)
	}
	if c.Weeks < 4 {
		out = append(out, FewerWeeks)
	}
	if c.Unskilled {
		out = append(out, NoTimeOfDaySkill)
	}
	return out
}

const (
	switchOn    = 0.03 // saving from which on
	switchOff   = 0.0  // saving below which off
	switchSteps = 100
	switchDays  = 28
	switchDwell = 7 * 24 * time.Hour
)

// Saving compares replica-hours with the reactive policy at the same share of
// short steps.
type Saving struct {
	Days            float64 // compared
	ShortSteps      int
	ReactiveHours   float64
	PredictiveHours float64
}

// Share that is saved, below 1; 0 without a comparison.
func (s Saving) Share() float64 {
	if !(s.ReactiveHours > 0) {
		return 0
	}
	return 1 - s.PredictiveHours/s.ReactiveHours
}

// Switch turns a service in mode Auto from shadow to active and back. It looks
// at 28 days with at least 100 short steps, and rests a week after each turn: a
// week at 2 % holds about 30 short steps, which is noise.
type Switch struct {
	Active bool
	Since  time.Time // of the last turn; zero if it never turned
	Reason Reason    // why it is not active
}

// Check looks at the saving of the last 28 days.
func (w *Switch) Check(now time.Time, s Saving) {
	w.Reason = OK
	share := s.Share()
	switch {
	case s.Days < switchDays || s.ShortSteps < switchSteps:
		w.Reason = TooFewShortSteps
	case !w.Since.IsZero() && now.Sub(w.Since) < switchDwell:
		w.Reason = Dwell
	case !w.Active && share >= switchOn:
		w.Active, w.Since = true, now
	case w.Active && share < switchOff:
		w.Active, w.Since, w.Reason = false, now, SkillBelow3
	case !w.Active:
		w.Reason = SkillBelow3
	}
}

// Brake puts the service back into shadow at once; it counts as a turn.
func (w *Switch) Brake(now time.Time) {
	if w.Active {
		w.Active, w.Since, w.Reason = false, now, Misses
	}
}
