package decisions

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// WriteScaler renders a replica target: the number, every vote for it, the age of the signals, and what limited it.
func WriteScaler(w io.Writer, d scaler.Decision) error {
	p := &printer{w: w}
	p.printf("%s  %s  %s\n", d.Time.UTC().Format(time.RFC3339), d.Service, scalerSummary(d))
	if d.Text != "" {
		p.printf("%s\n", d.Text)
	}
	p.votes(d)
	p.signals(d)
	p.printf("\n")
	p.list("pods", []string{podsText(d)})
	if d.Lead.Seconds > 0 {
		p.list("lead", []string{fmt.Sprintf("%.0f s (%s, %s)", d.Lead.Seconds, d.Lead.Source, plural(d.Lead.Samples, "start"))})
	}
	if f := d.Forecast; f != nil && f.Text != "" {
		p.list("forecast", []string{f.Text})
	}
	if o := d.Override; o != nil {
		p.list("override", []string{fmt.Sprintf("until %s: %s", o.To.UTC().Format(time.RFC3339), orDash(o.Reason))})
	}
	p.list("reasons", d.Reasons)
	p.list("policy", []string{d.PolicyHash})
	return p.err
}

func (p *printer) votes(d scaler.Decision) {
	rows := [][]string{{"", "VOTE", "REPLICAS", "EXACT", "WHY"}}
	for _, v := range d.Votes {
		mark := ""
		if v.Used && v.Name == d.Binding {
			mark = ">"
		}
		why := v.Text
		if v.Stale {
			why += " (old value)"
		}
		if !v.Used {
			why += " (recorded only)"
		}
		rows = append(rows, []string{mark, v.Name, strconv.Itoa(v.Replicas), exact(v.Exact), strings.TrimSpace(why)})
	}
	p.table(rows)
}

func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (p *printer) signals(d scaler.Decision) {
	rows := [][]string{{"SIGNAL", "VALUE", "AGE", "STATE"}}
	for _, s := range d.Signals {
		value, age := strconv.FormatFloat(s.Value, 'g', 6, 64), fmt.Sprintf("%.0f s", s.Age)
		if s.Age < 0 {
			value, age = "-", "never read"
		}
		rows = append(rows, []string{string(s.Signal), value, age, signalState(d, s)})
	}
	p.table(rows)
}

func signalState(d scaler.Decision, s scaler.SignalAge) string {
	state := "ok"
	switch {
	case slices.Contains(d.Missing, s.Signal):
		state = "missing"
	case slices.Contains(d.Stale, s.Signal):
		state = "old value"
	case s.Excused == scaler.ExcusedOptional:
		state = "no value, optional"
	case s.Excused == scaler.ExcusedNotReady:
		state = "not expected, no replica is ready"
	case s.Error != "":
		state = "not read"
	}
	if s.Error != "" {
		state += ": " + s.Error
	}
	return state
}

func podsText(d scaler.Decision) string {
	text := fmt.Sprintf("%d ready, %d starting", d.Ready, d.Starting)
	if d.Stuck > 0 {
		text += fmt.Sprintf(", %d stuck", d.Stuck)
	}
	if d.CurrentReplicas >= 0 {
		text += ", " + plural(d.CurrentReplicas, "replica") + " now"
	}
	return text
}
