package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/web"
)

func (f *liveFlags) service(c *cobra.Command, name string) error {
	if err := f.checkOutput(c); err != nil {
		return err
	}
	id, err := f.resolve(c.Context(), name)
	if err != nil {
		return err
	}
	var s web.Service
	if err := f.get(c.Context(), "services/"+escape(id), &s); err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(c.OutOrStdout(), s)
	}
	var ledger link.Ledger
	if err := f.get(c.Context(), "ledger/"+escape(id), &ledger); err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	return writeService(c.OutOrStdout(), &s, &ledger)
}

// resolve finds the id of a service by namespace/name or name; an id itself will do.
func (f *liveFlags) resolve(ctx context.Context, name string) (string, error) {
	last := name[strings.LastIndexByte(name, '/')+1:]
	var matches []string
	for after := ""; ; {
		var list struct {
			Services []web.Line `json:"services"`
			Next     string     `json:"next"`
		}
		query := url.Values{"q": {last}, "limit": {"1000"}, "after": {after}}
		if err := f.get(ctx, "services?"+query.Encode(), &list); err != nil {
			return "", err
		}
		for _, s := range list.Services {
			if s.ID == name {
				return name, nil
			}
			if s.Name == name || s.Namespace+"/"+s.Name == name {
				matches = append(matches, s.ID)
			}
		}
		if after = list.Next; after == "" {
			break
		}
	}
	switch len(matches) {
	case 0:
		return "", fmt.Errorf("no service %q is known to the server: give namespace/name as its page shows it", name)
	case 1:
		return matches[0], nil
	}
	return "", fmt.Errorf("%q may be any of these, give one of them: %s", name, strings.Join(matches, ", "))
}

func writeService(out io.Writer, s *web.Service, ledger *link.Ledger) error {
	if s.Decision == nil {
		_, err := fmt.Fprintf(out, "%s/%s has not been evaluated yet\n", s.Namespace, s.Name)
		return err
	}
	if err := decisions.WriteScaler(out, *s.Decision); err != nil {
		return err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(out, "%s: %s\n  %s\n", w.Severity, w.Text, w.Remedy)
	}
	writeLedger(out, ledger)
	if s.Outlook != nil {
		writeOutlook(out, s.Outlook)
	}
	if len(s.Recent) == 0 {
		return nil
	}
	t := newTable(out, "RECENT", "WHAT", "DECISION")
	for _, r := range s.Recent[:min(len(s.Recent), 8)] {
		t.row(clock(r.Time), r.Summary, r.ID)
	}
	return t.end()
}

func writeOutlook(out io.Writer, o *engine.Outlook) {
	if o.Waiting != "" {
		fmt.Fprintf(out, "\nno forecast yet: %s\n", o.Waiting)
		return
	}
	t := newTable(out, "PLAN FOR", "FORECAST", "0.9 BOUND", "REPLICAS", "SHORT WITH -1", "AS ORDERED", "WITH +1", "")
	for i, s := range o.Slots {
		note := ""
		if s.Counts {
			note = "counts now"
		}
		if i == o.Binding {
			note = "binding"
		}
		t.row(clock(s.Start), rateText(s.Value), rateText(s.Upper), s.Replicas, percentText(s.Short[0]), percentText(s.Short[1]), percentText(s.Short[2]), note)
	}
	_ = t.end() // a writer that fails shows at the next line
	if len(o.Usual) > 0 {
		t = newTable(out, "USUALLY AT", "YESTERDAY", "REPLICAS", "A WEEK AGO", "REPLICAS")
		for _, u := range o.Usual {
			t.row(clock(u.Start), orDash(u.Yesterday, rateText), replicasOf(u.YesterdayReplicas), orDash(u.LastWeek, rateText), replicasOf(u.LastWeekReplicas))
		}
		_ = t.end()
	}
	fmt.Fprintf(out, "\nforecast: mode %s (configured: %s), because %s\n", o.Mode, o.Configured, strings.Join(o.Reasons, ", "))
	if o.Compared > 0 {
		fmt.Fprintf(out, "record:   %d of %d slots within the 0.9 bound (%s); prewarmed replicas: %d needed, %d not\n",
			o.Within, o.Compared, percentText(float64(o.Within)/float64(o.Compared)), o.Hits, o.Missed)
	}
	if k := o.Skill; k != nil && k.WAPE != nil {
		fmt.Fprintf(out, "error:    %s of the traffic; with the last value %s, yesterday's %s, last week's %s\n",
			orDash(k.WAPE, percentText), orDash(k.LastValue, percentText), orDash(k.Yesterday, percentText), orDash(k.LastWeek, percentText))
	}
	if len(o.WhatIf) > 0 {
		t = newTable(out, "ALLOWED SHORTAGE", "REPLICAS ORDERED NOW", "")
		for _, w := range o.WhatIf {
			note := ""
			if w.MaxShort == o.MaxShort {
				note = "configured"
			}
			t.row(percentText(w.MaxShort), w.Replicas, note)
		}
		_ = t.end()
	}
}

// table is aligned columns after an empty line.
type table struct {
	w   *tabwriter.Writer
	err error
}

func newTable(out io.Writer, header ...any) *table {
	_, err := fmt.Fprintln(out)
	t := &table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), err}
	t.row(header...)
	return t
}

func (t *table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, c)
	}
	fmt.Fprintln(t.w)
}

func (t *table) end() error { return errors.Join(t.err, t.w.Flush()) }

func clock(t time.Time) string { return t.UTC().Format("Mon 15:04 UTC") }

func rateText(v float64) string { return fmt.Sprintf("%.3g req/s", v) }

// percentText is a part of one as percent, with two digits where it is small.
func percentText(v float64) string {
	if v > 0 && v < 0.001 {
		return fmt.Sprintf("%.2g %%", 100*v)
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

func orDash(v *float64, text func(float64) string) string {
	if v == nil {
		return "-"
	}
	return text(*v)
}

func replicasOf(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
