package backtest

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// WriteForecasts writes every forecast as CSV, in units of the series.
func (r *Result) WriteForecasts(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"issued_at", "target_at", "forecast", "upper", "order"}}
	for _, row := range r.Details.Rows {
		rows = append(rows, []string{
			row.IssuedAt.UTC().Format(time.RFC3339), row.TargetAt.UTC().Format(time.RFC3339),
			number(row.Forecast), number(row.Upper), strconv.Itoa(row.Order),
		})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write forecasts: %w", err)
	}
	return nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }
