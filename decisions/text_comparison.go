package decisions

import (
	"fmt"
	"io"
	"strconv"
)

// WriteComparison renders a comparison: one line for the whole, one row a day.
func WriteComparison(w io.Writer, c Comparison) error {
	p := &printer{w: w}
	days := c.Days()
	if len(days) == 0 {
		p.printf("no choice of a node group has been recorded yet\n")
		return p.err
	}
	rows := [][]string{{"DAY (UTC)", "REQUESTS", "REPEATED", "DIFFERENT", "OURS $/H", "LEAST-WASTE $/H", "DIFFERENCE $/H", "UNPRICED", "NO GROUP"}}
	for _, d := range days {
		rows = append(rows, d.row())
	}
	p.printf("%s\n", c.Sum().sentence(len(days)))
	p.table(rows)
	p.printf("(sums over the nodes bought; a question repeated while a purchase had no effect counts once)\n")
	return p.err
}

func (d Day) row() []string {
	return []string{
		d.Date, strconv.Itoa(d.Requests), strconv.Itoa(d.Repeats), strconv.Itoa(d.Different), dollars(d.Chosen),
		dollars(d.LeastWaste), signedDollars(d.Difference()), strconv.Itoa(d.Unpriced), strconv.Itoa(d.PassedThrough + d.Vetoed),
	}
}

func (d Day) sentence(days int) string {
	choices := d.Compared + d.Unpriced
	text := fmt.Sprintf("%s in %s, %d not what least-waste would have kept", plural(choices, "choice"), plural(days, "day"), d.Different)
	if d.Compared == 0 {
		return text + "; no prices, so no difference in cost"
	}
	text += fmt.Sprintf("; nodes bought: %s/h instead of %s/h, %s/h", dollars(d.Chosen), dollars(d.LeastWaste), signedDollars(d.Difference()))
	if d.LeastWaste > 0 {
		text += fmt.Sprintf(" (%+.1f %%)", 100*d.Difference()/d.LeastWaste)
	}
	return text
}
