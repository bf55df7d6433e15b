package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// markdown is a table under construction.
type markdown struct {
	head []string
	rows [][]string
}

func (m *markdown) add(cells ...string) { m.rows = append(m.rows, cells) }

func (m *markdown) write(w io.Writer) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(m.head)
	line(slices.Repeat([]string{"---"}, len(m.head)))
	for _, row := range m.rows {
		line(row)
	}
	fmt.Fprintln(w)
}

// geometric is the geometric mean; NaN of nothing.
func geometric(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func two(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}

// span is the smallest and the largest value.
func span(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return two(slices.Min(values)) + "–" + two(slices.Max(values))
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "**missed**"
}
