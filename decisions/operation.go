package decisions

import (
	"fmt"
	"io"
	"time"
)

// KindOperation is what an operator ordered at run time.
const KindOperation Kind = "operation"

// Operation is an override or a freeze that was set or cleared, for the audit.
type Operation struct {
	Time time.Time `json:"time"`
	// Action is override-set, override-cleared, freeze-on or freeze-off.
	Action string `json:"action"`
	// Subject is the service as it was named, or the half.
	Subject string `json:"subject"`
	// Who ordered it, as far as the server knows, and why.
	Who    string `json:"who"`
	Reason string `json:"reason"`
	// ID is that of the override, and Detail its limits and times; empty for a freeze.
	ID     string `json:"id,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// OfOperation makes the record of an operation, still without an ID.
func OfOperation(o Operation) Record {
	summary := o.Action + " by " + o.Who
	if o.Detail != "" {
		summary += " (" + o.Detail + ")"
	}
	return Record{
		Time: o.Time, Kind: KindOperation, Subject: o.Subject, Summary: summary + ": " + o.Reason,
		Reasons: []string{o.Action}, Operation: &o,
	}
}

// AddOperation records an operation and returns its record.
func (l *Log) AddOperation(o Operation) Record { return l.add(OfOperation(o)) }

// WriteOperation renders an operation for people.
func WriteOperation(w io.Writer, o Operation) error {
	_, err := fmt.Fprintf(w, "%s  %s  %s\n", o.Time.UTC().Format(time.RFC3339), o.Action, o.Subject)
	for _, line := range [][2]string{{"who", o.Who}, {"why", o.Reason}, {"what", o.Detail}, {"id", o.ID}} {
		if err == nil && line[1] != "" {
			_, err = fmt.Fprintf(w, "  %-4s  %s\n", line[0], line[1])
		}
	}
	return err
}
