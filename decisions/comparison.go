package decisions

import (
	"maps"
	"slices"
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
	last *expander.Decision
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
	day.count(d, c.last != nil && repeats(*d, *c.last))
	c.last = d
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

// repeats tells whether d asks for the same purchase as the decision before.
func repeats(d, before expander.Decision) bool {
	return d.Time.Sub(before.Time) < repeatWithin &&
		slices.Equal(d.Selected, before.Selected) &&
		len(d.Selected) == 1 &&
		slices.EqualFunc(sortedByID(d.Candidates), sortedByID(before.Candidates), func(a, b expander.Candidate) bool {
			return a.ID == b.ID && a.NodeCount == b.NodeCount && a.Pods == b.Pods
		})
}

func sortedByID(candidates []expander.Candidate) []expander.Candidate {
	return slices.SortedFunc(slices.Values(candidates), func(a, b expander.Candidate) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
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
