package decisions

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

func TestComparisonSum(t *testing.T) {
	var c Comparison
	add := func(at time.Time, change func(*expander.Decision)) {
		d := fullChoice()
		d.Time = at
		change(&d)
		c.Add(OfExpander(d))
	}
	same := func(*expander.Decision) {}
	add(start, same)
	add(start.Add(10*time.Second), same)                        // repeated: not in the sums
	add(start.Add(30*time.Minute), same)                        // as late as this it is another purchase
	add(start.Add(31*time.Minute), func(d *expander.Decision) { // other pods: another purchase
		d.Candidates[0].Pods = 9
		d.LeastWaste = expander.LeastWasteBaseline{Groups: d.Selected, Cost: d.Candidates[0].Cost}
	})
	add(start.Add(32*time.Minute), func(d *expander.Decision) { d.LeastWaste.Cost = nil })
	add(start.AddDate(0, 0, 1), func(d *expander.Decision) { d.Outcome = expander.PassThrough; d.Selected = nil })

	// 0.7266 is the cost of our choice, 29.39 that of least-waste; the fourth request agrees with least-waste.
	want := Day{Requests: 5, Repeats: 1, Different: 3, Unpriced: 1, Compared: 3, Chosen: 3 * 0.7266, LeastWaste: 2*29.39 + 0.7266}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, c.Between(start, start.AddDate(0, 0, 1).Truncate(24*time.Hour)).Sum(), near); diff != "" {
		t.Errorf("first day (-want +got):\n%s", diff)
	}
	if got := c.Sum(); got.Requests != 6 || got.PassedThrough != 1 {
		t.Errorf("all days: %+v", got)
	}
}

func TestComparisonForgetsOldDays(t *testing.T) {
	var c Comparison
	for day := range keepDays + 10 {
		d := fullChoice()
		d.Time = start.AddDate(0, 0, day)
		c.Add(OfExpander(d))
	}
	days := c.Days()
	if len(days) != keepDays || days[0].Date != start.AddDate(0, 0, 10).Format(time.DateOnly) {
		t.Errorf("%d days from %s", len(days), days[0].Date)
	}
}
