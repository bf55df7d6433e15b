package backtest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Series is a rate on a regular grid.
type Series struct {
	Name   string
	Start  time.Time // of the first interval, UTC
	Step   time.Duration
	Values []float64 // mean of each interval; NaN where nothing was recorded
}

// standardStep is the grid that finer series are averaged to.
const standardStep = 5 * time.Minute

// minCoverage is the share of an interval that must be known.
const minCoverage = 0.7

// maxGaps bounds how many intervals a file may leave out.
const maxGaps = 1 << 20

// ReadCSV reads rows of timestamp (RFC 3339, start of the interval) and value;
// a first row that is no timestamp is a header. An empty value is missing, and
// so is a row that is left out. The step is the smallest distance of two rows.
func ReadCSV(r io.Reader, name string) (Series, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	var at []time.Time
	var values []float64
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Series{}, fmt.Errorf("read series %s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		t, v, err := parseRow(row)
		if err != nil {
			if line == 1 {
				continue
			}
			return Series{}, fmt.Errorf("read series %s, line %d: %w", name, line, err)
		}
		at, values = append(at, t), append(values, v)
	}
	return regular(name, at, values)
}

func parseRow(row []string) (time.Time, float64, error) {
	if len(row) < 2 {
		return time.Time{}, 0, errors.New("want two columns: timestamp,value")
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(row[0]))
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("timestamp is not RFC 3339 such as 2026-03-01T00:05:00Z: %w", err)
	}
	text := strings.TrimSpace(row[1])
	if text == "" {
		return at, math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("value: %w", err)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return at, math.NaN(), nil
	}
	if v < 0 {
		return time.Time{}, 0, fmt.Errorf("value %v: a rate is not negative", v)
	}
	return at, v, nil
}

// regular puts samples in any order on their grid.
func regular(name string, at []time.Time, values []float64) (Series, error) {
	if len(at) < 2 {
		return Series{}, fmt.Errorf("series %s has %d rows: want at least two", name, len(at))
	}
	first, last := at[0], at[0]
	for _, t := range at {
		if t.Before(first) {
			first = t
		}
		if t.After(last) {
			last = t
		}
	}
	step := smallestStep(at)
	if step < time.Second {
		return Series{}, fmt.Errorf("series %s: two rows carry the same timestamp or lie less than 1s apart", name)
	}
	n := int64(last.Sub(first)/step) + 1
	if n > int64(len(at))+maxGaps {
		return Series{}, fmt.Errorf("series %s spans %d intervals of %v but has %d rows: cut it", name, n, step, len(at))
	}
	s := Series{Name: name, Start: first.UTC(), Step: step, Values: make([]float64, n)}
	for i := range s.Values {
		s.Values[i] = math.NaN()
	}
	for i, t := range at {
		offset := t.Sub(first)
		if offset%step != 0 {
			return Series{}, fmt.Errorf("series %s: %s is off the grid of %v that begins at %s", name, t.Format(time.RFC3339), step, first.Format(time.RFC3339))
		}
		s.Values[offset/step] = values[i]
	}
	return s, nil
}

func smallestStep(at []time.Time) time.Duration {
	step := time.Duration(math.MaxInt64)
	for i := 1; i < len(at); i++ {
		d := at[i].Sub(at[i-1]).Abs()
		step = min(step, d)
	}
	return step
}

// Grid returns the series on the grid of decisions: finer series averaged to 5
// minutes, coarser ones as they are. An interval of which less than 70 % is
// known is missing.
func (s Series) Grid() (Series, error) {
	if s.Step >= standardStep {
		if (24*time.Hour)%s.Step != 0 || s.Start.Unix()%int64(s.Step/time.Second) != 0 {
			return Series{}, fmt.Errorf("series %s: the step %v must divide a day and rows must start at multiples of it", s.Name, s.Step)
		}
		return s, nil
	}
	if standardStep%s.Step != 0 {
		return Series{}, fmt.Errorf("series %s: the step %v does not divide 5m", s.Name, s.Step)
	}
	per := int(standardStep / s.Step)
	start := s.Start.Truncate(standardStep)
	lead := int(s.Start.Sub(start) / s.Step)
	n := (lead + len(s.Values) + per - 1) / per
	out := Series{Name: s.Name, Start: start, Step: standardStep, Values: make([]float64, n)}
	for i := range out.Values {
		sum, known := 0.0, 0
		for j := max(0, i*per-lead); j < min(len(s.Values), (i+1)*per-lead); j++ {
			if !math.IsNaN(s.Values[j]) {
				sum += s.Values[j]
				known++
			}
		}
		out.Values[i] = math.NaN()
		if float64(known) >= minCoverage*float64(per) {
			out.Values[i] = sum / float64(known)
		}
	}
	return out, nil
}

// Mean of the known values, NaN if there are none.
func (s Series) Mean() float64 {
	sum, n := 0.0, 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// At is the start of interval i.
func (s Series) At(i int) time.Time { return s.Start.Add(time.Duration(i) * s.Step) }

// perDay is the number of intervals a day.
func (s Series) perDay() int { return int(24 * time.Hour / s.Step) }
