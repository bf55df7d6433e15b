package decisions

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/expander"
)

const (
	// keepDays bounds the comparison.
	keepDays = 62
	// repeatWithin is how soon the same choice for the same options counts as the same purchase asked for again:
	// while a scale-up has no effect, the Cluster Autoscaler repeats its question in every loop.
	repeatWithin = 15 * time.Minute
)

// Comparison adds up, by day (UTC), what the expander chose or would have chosen against what least-waste would have
// kept. The differences are dollars per hour of the nodes bought, ours minus least-waste: negative is cheaper. What
// that makes in dollars depends on how long the nodes live.
type Comparison struct {
	days map[string]Day
	last question
}

// Day is one day of a comparison, or the sum of several.
type Day struct {
	// Date is YYYY-MM-DD, in UTC; empty in a sum.
	Date string `json:"date,omitempty"`
	// Requests are the recorded calls; Repeats are those that asked again for what had just been chosen, and are in
	// no other number.
	Requests int `json:"requests"`
	Repeats  int `json:"repeats"`
	// Different counts choices that least-waste would not have kept; Unpriced those without both prices.
	Different int `json:"different"`
	Unpriced  int `json:"unpriced"`
	// Compared is the number of choices with both prices, and Chosen and LeastWaste are their sums in $/h.
	Compared   int     `json:"compared"`
	Chosen     float64 `json:"chosen"`
	LeastWaste float64 `json:"leastWaste"`
	// PassedThrough and Vetoed are requests without a chosen group.
	PassedThrough int `json:"passedThrough"`
	Vetoed        int `json:"vetoed"`
}

// Difference is the sum of the differences in $/h, ours minus least-waste.
func (d Day) Difference() float64 { return d.Chosen - d.LeastWaste }

// Add adds a record; records of the scaler and repeated questions count for nothing.
func (c *Comparison) Add(r Record) { c.add(r) }

func (c *Comparison) add(r Record) {
	if r.Expander == nil {
		return
	}
	d := r.Expander
	date := d.Time.UTC().Format(time.DateOnly)
	day := c.days[date]
	day.Date = date
	asked := questionOf(d)
	day.count(d, asked.repeats(c.last))
	c.last = asked
	if c.days == nil {
		c.days = map[string]Day{}
	}
	c.days[date] = day
	for len(c.days) > keepDays {
		delete(c.days, slices.Min(slices.Collect(maps.Keys(c.days))))
	}
}

func (d *Day) count(e *expander.Decision, repeat bool) {
	d.Requests++
	switch {
	case repeat:
		d.Repeats++
		return
	case e.Outcome == expander.PassThrough:
		d.PassedThrough++
		return
	case e.Outcome == expander.Veto:
		d.Vetoed++
		return
	}
	if len(e.Selected) == 1 && !slices.Contains(e.LeastWaste.Groups, e.Selected[0]) {
		d.Different++
	}
	c := chosen(*e)
	if c == nil || c.Cost == nil || e.LeastWaste.Cost == nil {
		d.Unpriced++
		return
	}
	d.Compared++
	d.Chosen += *c.Cost
	d.LeastWaste += *e.LeastWaste.Cost
}

// question identifies what was asked and chosen, whatever the order of the options.
type question struct {
	at       time.Time
	selected string
	options  uint64
}

func questionOf(d *expander.Decision) question {
	q := question{at: d.Time, selected: strings.Join(d.Selected, ",")}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d %d", c.ID, c.NodeCount, c.Pods)
		q.options += h.Sum64() // a sum does not depend on the order
	}
	return q
}

// repeats tells whether q asks for the same purchase as the question before.
func (q question) repeats(before question) bool {
	return q.selected != "" && q.selected == before.selected && q.options == before.options && q.at.Sub(before.at) < repeatWithin
}

// plus adds another day; the sum has no date.
func (d Day) plus(o Day) Day {
	return Day{
		Requests: d.Requests + o.Requests, Repeats: d.Repeats + o.Repeats,
		Different: d.Different + o.Different, Unpriced: d.Unpriced + o.Unpriced,
		Compared: d.Compared + o.Compared, Chosen: d.Chosen + o.Chosen, LeastWaste: d.LeastWaste + o.LeastWaste,
		PassedThrough: d.PassedThrough + o.PassedThrough, Vetoed: d.Vetoed + o.Vetoed,
	}
}

// Days returns the days from the first to the last with a request, oldest first.
func (c Comparison) Days() []Day {
	out := make([]Day, 0, len(c.days))
	for _, date := range slices.Sorted(maps.Keys(c.days)) {
		out = append(out, c.days[date])
	}
	return out
}

// Between keeps the days that begin before to and at or after the day of from; a zero time leaves that side open.
func (c Comparison) Between(from, to time.Time) Comparison {
	out := c.clone()
	maps.DeleteFunc(out.days, func(date string, _ Day) bool {
		begin, err := time.Parse(time.DateOnly, date)
		return err != nil || begin.Before(from.UTC().Truncate(24*time.Hour)) || !to.IsZero() && !begin.Before(to)
	})
	return out
}

// Sum adds up all days.
func (c Comparison) Sum() Day {
	var sum Day
	for _, d := range c.Days() {
		sum = sum.plus(d)
	}
	return sum
}

func (c Comparison) clone() Comparison { return Comparison{days: maps.Clone(c.days), last: c.last} }
