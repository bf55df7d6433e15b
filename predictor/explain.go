package predictor

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Explain says a plan in one or two sentences for an operator. Times are given
// on the clock of loc, rates in unit ("req/s").
func (p *Plan) Explain(loc *time.Location, unit string) string {
	if loc == nil {
		loc = time.UTC
	}
	if p.Binding < 0 {
		return fmt.Sprintf("%s: no forecast (%s); the traffic of the moment needs %s", p.At.In(loc).Format("15:04"), joinReasons(p.Reasons), replicas(p.Need))
	}
	b := &p.Slots[p.Binding]
	o := &b.Outlook
	var t strings.Builder
	fmt.Fprintf(&t, "%s: ", b.Start.In(loc).Format("15:04"))
	value := fmt.Sprintf("%s ± %s %s", rate(o.Value), rate(o.Scale), unit)
	if names := dayNames(b, loc); names != "" && !p.Uncorrected {
		fmt.Fprintf(&t, "the days most like today (%s), scaled to today's level, say %s", names, value)
	} else if names != "" {
		fmt.Fprintf(&t, "the newest rate is too old to scale by, past days (%s) say %s", names, value)
	} else {
		fmt.Fprintf(&t, "no past day to compare with, the mix says %s", value)
	}
	fmt.Fprintf(&t, "; weights: %s; %s; order %d, at %s because starting takes %s%s.",
		shares(o), p.worth(b), p.Replicas, p.orderAt(b).In(loc).Format("15:04"), short(p.Lead), cause(p.Cause))
	fmt.Fprintf(&t, " Binding: %s. Mode %s (%s).", p.binding(b), p.Mode, joinReasons(p.Reasons))
	return t.String()
}

// orderAt is when the order for a slot is due: one lead before it begins, or
// the time of the decision if that has passed.
func (p *Plan) orderAt(b *SlotPlan) time.Time {
	if due := b.Start.Add(-p.Lead); due.After(p.At) {
		return due
	}
	return p.At
}

func (p *Plan) binding(b *SlotPlan) string {
	switch {
	case p.Held:
		return "an order of the last minutes is held"
	case p.Need >= b.Replicas:
		return "the traffic of the moment"
	}
	return "forecast"
}

// worth compares the order with its neighbours.
func (p *Plan) worth(b *SlotPlan) string {
	n := b.Replicas
	origin := "steered to " + percent(p.MaxShort) + " short"
	if p.Stated {
		origin = "stated"
	}
	if n <= 1 {
		return fmt.Sprintf("%s are short with probability %s, one more would lower it to %s, worth %s at price %s (%s)",
			replicas(n), percent(b.Short[1]), percent(b.Short[2]), amount(p.Price*(b.Short[1]-b.Short[2])), amount(p.Price), origin)
	}
	return fmt.Sprintf("%s are short with probability %s, one more lowers it to %s, worth %s at price %s (%s)",
		replicas(n-1), percent(b.Short[0]), percent(b.Short[1]), amount(p.Price*(b.Short[0]-b.Short[1])), amount(p.Price), origin)
}

// shares lists the experts that carry weight, analog days as one.
func shares(o *Outlook) string {
	type share struct {
		name   string
		weight float64
	}
	all := []share{{"analog days", o.Weights[AnalogScaled] + o.Weights[AnalogSoft] + o.Weights[AnalogFull]}}
	for _, k := range []Expert{Smoothing, LastValue, Yesterday, LastWeek, SiblingProfile} {
		all = append(all, share{k.String(), o.Weights[k]})
	}
	var out []string
	for len(all) > 0 {
		best := 0
		for i := range all {
			if all[i].weight > all[best].weight {
				best = i
			}
		}
		if all[best].weight < 0.005 {
			break
		}
		out = append(out, all[best].name+" "+fmt.Sprintf("%.0f %%", 100*all[best].weight))
		all = append(all[:best], all[best+1:]...)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func dayNames(b *SlotPlan, loc *time.Location) string {
	var out []string
	for _, d := range b.Days {
		at := DaysBefore(loc, b.Start, d.DaysAgo)
		out = append(out, at.In(loc).Format("Mon 2"))
	}
	return strings.Join(out, ", ")
}

func joinReasons(r []Reason) string {
	out := make([]string, len(r))
	for i, x := range r {
		out[i] = string(x)
	}
	return strings.Join(out, ", ")
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func cause(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func rate(x float64) string { return fmt.Sprintf("%.3g", x) }

func amount(x float64) string {
	if math.Abs(x) >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

func percent(x float64) string {
	if x < 0.001 {
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}

// short writes a duration without zero parts: 6m10s, 15m, 1h30m.
func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
