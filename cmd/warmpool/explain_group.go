package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/web"
)

func (f *liveFlags) group(c *cobra.Command, id string) error {
	if err := f.checkOutput(c); err != nil {
		return err
	}
	var g web.Group
	if err := f.get(c.Context(), "groups/"+escape(id), &g); err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(c.OutOrStdout(), g)
	}
	return writeGroup(c.OutOrStdout(), &g)
}

func writeGroup(out io.Writer, g *web.Group) error {
	fmt.Fprintf(out, "%s  pool %s, %s%s\n", g.ID, dash(g.Pool), dash(string(g.CapacityType)), priceText(g.HourlyCost))
	if g.GPUs > 0 {
		fmt.Fprintf(out, "GPUs:     %d × %s on a node\n", g.GPUs, dash(g.GPUModel))
	}
	fmt.Fprintf(out, "nodes:    %s\n", nodesText(g))
	if g.GPUsOffered != nil && g.GPUsHeld != nil {
		fmt.Fprintf(out, "in use:   %d of %d GPUs\n", *g.GPUsHeld, *g.GPUsOffered)
	}
	switch {
	case g.Held != nil:
		sure := "suspected: its pods came back"
		if g.Held.Proven {
			sure = "proven"
		}
		fmt.Fprintf(out, "state:    held back until %s after %d failures (%s, %s); it may be tried again then\n",
			g.Held.Until.UTC().Format(time.RFC3339), max(1, g.Held.Failures), strings.ToLower(string(g.Held.Class)), sure)
	case g.Backoff != nil:
		fmt.Fprintf(out, "state:    the Cluster Autoscaler is backing off from it: %s %s\n", g.Backoff.Code, g.Backoff.Message)
	default:
		fmt.Fprintln(out, "state:    may grow")
	}
	if g.Choices > 0 {
		fmt.Fprintf(out, "chosen:   %d times, last %s\n", g.Choices, g.LastChosen.UTC().Format(time.RFC3339))
	}
	if len(g.Failures) > 0 {
		t := newTable(out, "FAILED", "CLASS", "KNOWN BY")
		for _, x := range g.Failures {
			by := "pods came back"
			if x.Proven {
				by = "proven"
			}
			t.row(x.At.UTC().Format(time.RFC3339), x.Class, by)
		}
		if err := t.end(); err != nil {
			return err
		}
	}
	if g.Last == nil || g.Last.Expander == nil {
		_, err := fmt.Fprintln(out, "\nno choice in memory had it as an option")
		return err
	}
	fmt.Fprintf(out, "\nthe last choice that it was an option of, %s:\n", g.Last.ID)
	return decisions.WriteExpander(out, *g.Last.Expander)
}

func nodesText(g *web.Group) string {
	if g.Nodes == nil {
		return "not known without a view of the cluster"
	}
	return fmt.Sprintf("%s ready of %d, %s ordered, limits %s to %s", number(g.Ready), *g.Nodes, number(g.Target), number(g.Min), number(g.Max))
}

func number(n *int) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

func priceText(v *float64) string {
	if v == nil {
		return ", price unknown"
	}
	return fmt.Sprintf(", $%.3g an hour", *v)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
