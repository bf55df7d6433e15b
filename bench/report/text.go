package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteJSON writes a result as indented JSON.
func WriteJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(result); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// table writes aligned columns.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) error {
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row[0]))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range t.rows {
		// All columns but the first are aligned to the right. The buffer behind the writer cannot fail before Flush.
		fmt.Fprintf(tw, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// WriteText writes a table for people.
func (t Traffic) WriteText(w io.Writer) error {
	label := ""
	if t.Synthetic {
		label = " (SYNTHETIC)"
	}
	seeds := ""
	if t.Seeds > 1 {
		seeds = fmt.Sprintf(", mean of %d seeds", t.Seeds)
	}
	if _, err := fmt.Fprintf(w, "%s%s, mean need %g replicas, start-up %s, scored %s to %s%s\n\n", t.Trace, label, t.MeanNeed,
		time.Duration(t.StartupSeconds*float64(time.Second)), t.ScoredFrom.Format("2006-01-02 15:04"), t.ScoredTo.Format("2006-01-02 15:04"), seeds); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	rows := table{}
	rows.add("policy", "on time", "wait p50", "p95", "p99", "GPU-hours", "cost $", "changes", "short min")
	for _, p := range t.Policies {
		rows.add(p.Policy, fmt.Sprintf("%.3f %%", 100*p.SLOAttainment), seconds(p.Wait.P50), seconds(p.Wait.P95), seconds(p.Wait.P99),
			fmt.Sprintf("%.1f", p.GPUHours), fmt.Sprintf("%.0f", p.Cost), fmt.Sprintf("%.0f", p.Changes), fmt.Sprintf("%.0f", p.ShortMinutes))
	}
	if err := rows.write(w); err != nil {
		return err
	}
	return t.writeFrontiers(w)
}

func (t Traffic) writeFrontiers(w io.Writer) error {
	if len(t.Frontiers) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\nEvery policy tuned on this trace: GPU-hours at an equal share of late requests\n\n"); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	rows := table{}
	head := []string{"policy"}
	for _, target := range Targets {
		head = append(head, fmt.Sprintf("%g %% late", 100*target), "÷ oracle")
	}
	rows.add(head...)
	oracle := t.oracleHours()
	for _, f := range t.Frontiers {
		row := []string{f.Policy}
		for _, hours := range f.AtLateness {
			switch {
			case hours == nil:
				row = append(row, "never", "–")
			case oracle > 0:
				row = append(row, fmt.Sprintf("%.1f", *hours), fmt.Sprintf("%.2f", *hours/oracle))
			default:
				row = append(row, fmt.Sprintf("%.1f", *hours), "–")
			}
		}
		rows.add(row...)
	}
	return rows.write(w)
}

func (t Traffic) oracleHours() float64 {
	for _, p := range t.Policies {
		if p.Policy == "oracle" {
			return p.GPUHours
		}
	}
	return 0
}

func seconds(s float64) string {
	if s >= 10 {
		return fmt.Sprintf("%.0fs", s)
	}
	return fmt.Sprintf("%.1fs", s)
}
