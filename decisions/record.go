package decisions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// Kind separates the two halves, and what operators do.
type Kind string

// The kinds of decisions.
const (
	KindExpander Kind = "expander"
	KindScaler   Kind = "scaler"
)

// Record is one decision as the log keeps it. Exactly one of Expander, Scaler and Operation is set; readers must not change
// what they point to.
type Record struct {
	// ID is unique on this instance. IDs sort like the order of recording, also across a restart with a log file
	// and when the clock goes backwards.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Subject is the service (namespace/name), the chosen node group, or the outcome when no group was chosen.
	Subject string `json:"subject"`
	// Summary is one line for people.
	Summary string `json:"summary"`
	// Reasons are the reason codes of the decision and of every rejected candidate, sorted, each once.
	Reasons []string `json:"reasons"`
	// ConfigHash identifies the configuration that was in force.
	ConfigHash string `json:"configHash"`

	Expander *expander.Decision `json:"expander,omitempty"`
	Scaler   *scaler.Decision   `json:"scaler,omitempty"`

	Operation *Operation `json:"operation,omitempty"`
}

// whole tells whether exactly one kind of decision is in a record.
func (r *Record) whole() bool {
	n := 0
	for _, there := range []bool{r.Expander != nil, r.Scaler != nil, r.Operation != nil} {
		if there {
			n++
		}
	}
	return n == 1
}

// OfExpander makes the record of a choice of node group, still without an ID.
func OfExpander(d expander.Decision) Record {
	subject := string(d.Outcome)
	if len(d.Selected) == 1 {
		subject = d.Selected[0]
	}
	reasons := append(slices.Clone(d.Reasons), d.Warnings...)
	for _, c := range d.Candidates {
		reasons = append(reasons, c.Rejected)
	}
	return Record{
		Time: d.Time, Kind: KindExpander, Subject: subject, Summary: expanderSummary(d),
		Reasons: codes(reasons), ConfigHash: d.PolicyHash, Expander: &d,
	}
}

// OfScaler makes the record of a replica target, still without an ID.
func OfScaler(d scaler.Decision) Record {
	return Record{
		Time: d.Time, Kind: KindScaler, Subject: d.Service, Summary: scalerSummary(d),
		Reasons: codes(slices.Clone(d.Reasons)), ConfigHash: d.PolicyHash, Scaler: &d,
	}
}

// codes sorts reason codes and drops empty and repeated ones. It takes ownership of its argument.
func codes(all []string) []string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// size is about the bytes that a record takes: the option lists of large clusters dominate everything else.
func (r Record) size() int {
	size := 1024 + len(r.Subject) + len(r.Summary)
	if r.Expander == nil {
		return size
	}
	const text = 16 // of a string that is shared with others
	for _, w := range r.Expander.Warnings {
		size += 2*text + len(w) // among the reasons too
	}
	for i := range r.Expander.Candidates {
		c := &r.Expander.Candidates[i]
		size += 384 + len(c.ID) + len(c.Rejected) + 40*len(c.Criteria)
	}
	for i := range r.Expander.Workloads {
		w := &r.Expander.Workloads[i]
		size += 256 + text*(len(w.Valid)+len(w.Relaxed))
		for _, uid := range w.IgnoredForAge {
			size += text + len(uid)
		}
	}
	return size + text*(len(r.Reasons)+len(r.Expander.Answer)) + 256*len(r.Expander.Failures)
}

func expanderSummary(d expander.Decision) string {
	switch d.Outcome {
	case expander.Veto:
		return "veto: no scale-up, " + because(d)
	case expander.PassThrough:
		return "pass through: every group kept, " + because(d)
	case expander.Selected:
	}
	verb := "chose "
	if d.Mode == expander.Observe {
		verb = "would have chosen "
	}
	text := verb + strings.Join(d.Selected, ", ")
	if c := chosen(d); c != nil {
		text += fmt.Sprintf(" (%s, %s%s)", capacityText(c.CapacityType), plural(c.NodeCount, "node"), costText(c.Cost))
	}
	if served := servedNames(d); len(served) > 0 {
		text += " for " + strings.Join(served, ", ")
	}
	return text
}

func because(d expander.Decision) string {
	for _, all := range [][]string{d.Reasons, d.Warnings} {
		if len(all) > 0 {
			return strings.Join(all, ", ")
		}
	}
	return "no reason recorded"
}

// chosen is the candidate that was selected, or nil.
func chosen(d expander.Decision) *expander.Candidate {
	if len(d.Selected) != 1 {
		return nil
	}
	i := slices.IndexFunc(d.Candidates, func(c expander.Candidate) bool { return c.ID == d.Selected[0] })
	if i < 0 {
		return nil
	}
	return &d.Candidates[i]
}

func servedNames(d expander.Decision) []string {
	var names []string
	for _, w := range d.Workloads {
		if w.Served && w.Name != "" {
			names = append(names, w.Name)
		}
	}
	return names
}

func scalerSummary(d scaler.Decision) string {
	if d.Unavailable != "" {
		return "no answer: " + d.Unavailable
	}
	text := plural(d.Replicas, "replica")
	if d.Binding != "" {
		text += ", asked for by " + d.Binding
	}
	if d.Limited != "" {
		text += ", limited by " + d.Limited
	}
	if d.HeldByTolerance {
		text += ", not followed within the tolerance"
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func capacityText(c expander.CapacityType) string {
	if c == expander.CapacityUnknown {
		return "capacity type unknown"
	}
	return string(c)
}

func costText(cost *float64) string {
	if cost == nil {
		return ""
	}
	return ", " + dollars(*cost) + "/h"
}

// dollars keeps cents, and more digits below ten cents, where spot prices of small nodes live.
func dollars(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	if v > 0 && v < 0.1 {
		return sign + "$" + strconv.FormatFloat(v, 'f', 4, 64)
	}
	return sign + "$" + strconv.FormatFloat(v, 'f', 2, 64)
}
