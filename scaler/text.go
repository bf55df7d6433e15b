package scaler

import (
	"math"
	"strconv"
	"time"
)

// text builds a line for people without allocating for every piece.
type text []byte

func (t text) str(s string) text { return append(t, s...) }

func (t text) count(n int) text { return strconv.AppendInt(t, int64(n), 10) }

// num writes a value with about three digits.
func (t text) num(v float64) text {
	digits := 2
	switch {
	case v == math.Trunc(v) || v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	from := len(t)
	t = strconv.AppendFloat(t, v, 'f', digits, 64)
	if digits > 0 {
		for len(t) > from && t[len(t)-1] == '0' {
			t = t[:len(t)-1]
		}
		if t[len(t)-1] == '.' {
			t = t[:len(t)-1]
		}
	}
	return t
}

func (t text) percent(share float64) text {
	return t.num(math.Round(share*1000) / 10).str(" %")
}

// learned says that a number was learned, and how sure it is.
func (t text) learned(e Estimate) text {
	return t.str(" (learned, confidence ").percent(math.Round(e.Confidence*100) / 100).str(")")
}

// dur writes a duration in at most two units: 90s, 10m, 6m10s, 2h15m.
func (t text) dur(d time.Duration) text {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch {
	case seconds < 120 && seconds%60 != 0 || seconds < 60:
		return t.count(int(seconds)).str("s")
	case seconds < 3600:
		t = t.count(int(seconds / 60)).str("m")
		if seconds%60 != 0 {
			t = t.count(int(seconds % 60)).str("s")
		}
		return t
	}
	t = t.count(int(seconds / 3600)).str("h")
	if minutes := seconds % 3600 / 60; minutes != 0 {
		t = t.count(int(minutes)).str("m")
	}
	return t
}

// explain writes the decision's line: the target, the vote that binds it with its numbers, the other votes, and
// whatever kept the target from following them.
func (e *evaluation) explain() {
	d := &e.d
	t := text(e.line[:0])
	if d.Unavailable != "" {
		d.Text = string(t.str("no answer: ").str(d.Unavailable))
		return
	}
	t = t.count(d.Replicas).str(" replica")
	if d.Replicas != 1 {
		t = t.str("s")
	}
	t = t.str(": ")
	t = e.explainVotes(t)
	t = e.explainLimits(t)
	t = e.explainSources(t)
	d.Text = string(e.explainPods(t))
}

func (e *evaluation) explainVotes(t text) text {
	written := false
	write := func(v *Vote) {
		if written {
			t = t.str("; ")
		}
		written = true
		t = t.str(v.Name).str(" asks ").num(v.Exact)
		if v.Text != "" {
			t = t.str(" (").str(v.Text)
			if v.Stale {
				t = t.str(", last known value")
			}
			t = t.str(")")
		}
		if !v.Used {
			t = t.str(", not used")
		}
	}
	for i := range e.d.Votes {
		if e.d.Votes[i].Name == e.d.Binding {
			write(&e.d.Votes[i])
		}
	}
	for i := range e.d.Votes {
		v := &e.d.Votes[i]
		contained := v.Name == "rate" && e.queueForm == FormRate // the queue's vote names the same arrivals
		if v.Name != e.d.Binding && !contained {
			write(v)
		}
	}
	if !written {
		t = t.str("no vote")
	}
	return t
}

func (e *evaluation) explainLimits(t text) text {
	d := &e.d
	if d.Surge > 0 {
		t = t.str("; +").count(d.Surge).str(" for ").count(d.Stuck).str(" stuck")
	}
	switch d.Limited {
	case "", limitedSupply:
	case "min":
		t = t.str("; raised to the minimum ").count(d.Min)
	case "max":
		t = t.str("; cut to the maximum ").count(d.Max)
	case "rate":
		t = t.str("; utilisation may add no more in ").dur(e.utilRule.MaxUpPeriod)
	default:
		t = t.str("; held at ").count(e.kept).str(" by ").str(e.holder())
		if d.Limited == "window" {
			t = t.dur(e.window).str(" window")
		}
	}
	if d.Replacing > 0 {
		t = t.str("; +").count(d.Replacing).str(" for replicas that were given notice or whose node is late")
	}
	if d.Swapping > 0 {
		t = t.str("; +").count(d.Swapping).str(" while a replica moves back to spot")
	}
	if d.Limited == limitedSupply {
		t = t.str("; no more than ").count(d.Replicas)
	}
	if d.Supply != "" {
		t = t.str("; ").str(d.Supply)
	}
	if o := d.Override; o != nil {
		t = t.str("; override ").count(d.Min).str(" to ").count(d.Max)
		if o.Reason != "" {
			t = t.str(" (").str(o.Reason).str(")")
		}
	}
	return t
}

// holder names what keeps the target up.
func (e *evaluation) holder() string {
	switch e.d.Limited {
	case "window":
		return "the "
	case "step":
		return "the step limit"
	case "forecast":
		return "the forecast, which needs it again"
	case "idle":
		return "the idle time"
	case "starting":
		return "the last replica, which is still starting"
	case "freeze":
		return "a freeze: " + e.d.Frozen
	case "stale":
		return "a source with an old value"
	}
	return "a missing source"
}

func (e *evaluation) explainSources(t text) text {
	for _, s := range e.d.Missing {
		t = t.str("; ").str(string(s)).str(" missing")
		if r := &e.readings[mustPosition(s)]; len(r.samples) > 0 {
			t = t.str(" for ").dur(r.age)
		}
	}
	for _, s := range e.d.Stale {
		t = t.str("; ").str(string(s)).str(" is ").dur(e.readings[mustPosition(s)].age).str(" old")
	}
	return t
}

// mustPosition is position for a signal that is known to have one.
func mustPosition(s Signal) int {
	i, _ := position(s)
	return i
}

func (e *evaluation) explainPods(t text) text {
	d := &e.d
	if d.Starting > 0 {
		t = t.str("; ").count(d.Ready).str(" ready, ").num(d.ReadyInTime).str(" of ").count(d.Starting).
			str(" starting expected within ").dur(e.lead)
	}
	if d.HeldByTolerance {
		t = t.str("; the autoscaler stays at ").count(d.CurrentReplicas).str(", within its tolerance")
	}
	return t
}
