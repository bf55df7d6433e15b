package decisions

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// WriteExpander renders a choice of node group: the choice and its cost against least-waste, every candidate with
// its numbers or the reason it was rejected, and what happened to each workload.
func WriteExpander(w io.Writer, d expander.Decision) error {
	p := &printer{w: w}
	p.printf("%s  %s  %s\n", d.Time.UTC().Format(time.RFC3339), d.Mode, expanderSummary(d))
	p.printf("%s\n", baselineText(d))
	p.candidates(d)
	p.workloads(d.Workloads)
	p.list("reasons", d.Reasons)
	p.list("warnings", d.Warnings)
	p.failures(d.Failures)
	p.list("answered", d.Answer)
	p.list("policy", []string{d.PolicyHash})
	return p.err
}

// printer keeps the first error of its writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows in aligned columns; the first row is the header.
func (p *printer) table(rows [][]string) {
	if p.err != nil || len(rows) < 2 {
		return
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		// The strings builder behind the writer cannot fail.
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	p.err = t.Flush()
	p.printf("\n")
	for line := range strings.Lines(b.String()) {
		p.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

func (p *printer) list(name string, values []string) {
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	if len(values) > 0 {
		p.printf("%-9s %s\n", name+":", strings.Join(values, ", "))
	}
}

// baselineText compares with the built-in rule; the difference is what the nodes bought cost more or less per hour.
func baselineText(d expander.Decision) string {
	base := d.LeastWaste
	if len(base.Groups) == 0 {
		return "least-waste would have kept nothing"
	}
	text := "least-waste would have chosen " + base.Groups[0] + costText(base.Cost)
	if len(base.Groups) > 1 {
		text = "least-waste would have drawn one of " + strings.Join(base.Groups, ", ") + costText(base.Cost)
	}
	c := chosen(d)
	switch {
	case c == nil:
		return text
	case len(base.Groups) == 1 && base.Groups[0] == c.ID:
		return text + ": the same"
	case c.Cost == nil || base.Cost == nil:
		return text + ": difference unknown, a price is missing"
	}
	return text + ": difference " + signedDollars(*c.Cost-*base.Cost) + "/h"
}

func signedDollars(v float64) string {
	if v > 0 {
		return "+" + dollars(v)
	}
	return dollars(v)
}

func (p *printer) candidates(d expander.Decision) {
	rows := [][]string{{"", "GROUP", "POOL", "CAPACITY", "NODES", "PODS", "$/H", "GPU", "GPU MEM", "CPU", "MEMORY", "SCORE", "RESULT"}}
	for _, c := range d.Candidates {
		mark := ""
		if slices.Contains(d.Selected, c.ID) {
			mark = ">"
		}
		rows = append(rows, []string{
			mark, c.ID, orDash(c.Pool), orDash(string(c.CapacityType)), strconv.Itoa(c.NodeCount), strconv.Itoa(c.Pods),
			number(c.Cost), percent(c.Waste.GPU), percent(c.Waste.GPUMemory), percent(c.Waste.CPU), percent(c.Waste.Memory),
			number(c.Score), result(d, c),
		})
	}
	p.table(rows)
	if len(d.Candidates) > 0 {
		p.printf("(GPU to MEMORY: unused share of what would be bought; - is unknown or does not apply)\n")
	}
}

// result says in a few words what became of a candidate.
func result(d expander.Decision, c expander.Candidate) string {
	switch {
	case slices.Contains(d.Selected, c.ID):
		return "chosen"
	case c.Rejected != "":
		return "rejected: " + c.Rejected
	case d.Outcome == expander.PassThrough:
		return "kept"
	}
	for _, v := range c.Criteria {
		if !v.Kept {
			return "worse by " + string(v.Name)
		}
	}
	return "not chosen"
}

func (p *printer) workloads(all []expander.WorkloadDecision) {
	rows := [][]string{{"WORKLOAD", "PODS", "STAGE", "RESULT"}}
	for _, w := range all {
		stage := "-"
		if w.Stage > 0 {
			stage = strconv.Itoa(w.Stage)
		}
		if w.StageReason != "" {
			stage += " (" + w.StageReason + ")"
		}
		rows = append(rows, []string{orDash(w.Name), strconv.Itoa(w.Pods), stage, workloadResult(w)})
	}
	p.table(rows)
}

func workloadResult(w expander.WorkloadDecision) string {
	text := "waits, no group can serve it"
	switch {
	case w.Served:
		text = "served"
	case len(w.Valid) > 0:
		text = "waits, another workload went first"
	}
	if w.UnservedLoops > 0 {
		text += fmt.Sprintf(", unserved for %s", plural(w.UnservedLoops, "loop"))
	}
	if len(w.IgnoredForAge) > 0 {
		text += fmt.Sprintf(", %s asked for without effect", plural(len(w.IgnoredForAge), "pod"))
	}
	return text
}

func (p *printer) failures(all []expander.FailureState) {
	rows := [][]string{{"HELD BACK", "CLASS", "FAILURES", "UNTIL"}}
	for _, f := range all {
		class := string(f.Class) + ", suspected"
		if f.Proven {
			class = string(f.Class) + ", proven"
		}
		rows = append(rows, []string{f.GroupID, class, strconv.Itoa(f.Failures), f.Until.UTC().Format(time.RFC3339)})
	}
	p.table(rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.Itoa(int(math.Round(*v*100))) + "%"
}
