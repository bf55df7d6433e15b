package trace

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// The layouts of interval series, in the order they are tried.
const (
	plainTime = "2006-01-02 15:04:05"
	fineTime  = "2006-01-02 15:04:05.9999999"
)

var intervalHeaders = [][]string{
	{"timestamp", "requests"}, {"period", "count"}, {"timestamp", "value"}, {"ts", "value"},
}

// ReadIntervals reads a series of two columns: time and count, with one of the headers "timestamp,requests" (RFC 3339),
// "period,count" and "timestamp,value" (date and time, read as UTC) or "ts,value" (Unix seconds).
//
// The grid is the commonest distance between two rows. Times are floored to it, as recordings that drift by seconds
// need; a grid point without a row, or with an empty value, is NaN. Rows must ascend and not share a grid point.
func ReadIntervals(file string, r io.Reader) (*Series, error) {
	t, err := newTable(file, r, intervalHeaders...)
	if err != nil {
		return nil, err
	}
	var (
		times  []time.Time
		values []float64
		lines  []int
	)
	for row, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		at, err := t.intervalTime()
		if err != nil {
			return nil, err
		}
		v, err := t.blankNumber(1)
		if err != nil {
			return nil, err
		}
		if n := len(times); n > 0 && !at.After(times[n-1]) {
			return nil, t.fail(0, "%s is not after the row before it", row[0])
		}
		line, _ := t.csv.FieldPos(0)
		times, values, lines = append(times, at), append(values, v), append(lines, line)
	}
	if len(times) < 2 {
		return nil, &FormatError{File: file, Line: 1, Problem: "a series needs at least two rows"}
	}
	return onGrid(file, times, values, lines)
}

func (t *table) intervalTime() (time.Time, error) {
	if t.header[0] != "ts" {
		return t.moment(time.RFC3339, plainTime)
	}
	sec, err := strconv.ParseInt(t.row[0], 10, 64)
	if err != nil {
		return time.Time{}, t.fail(0, "%q is not a time in whole Unix seconds", t.row[0])
	}
	return time.Unix(sec, 0).UTC(), nil
}

// onGrid places the rows on the grid of their commonest distance.
func onGrid(file string, times []time.Time, values []float64, lines []int) (*Series, error) {
	step := commonest(times)
	start := times[0].Truncate(step)
	n := int(times[len(times)-1].Sub(start)/step) + 1
	if n > 50*len(times) {
		return nil, &FormatError{
			File: file, Line: lines[len(lines)-1], Column: 1,
			Problem: fmt.Sprintf("%d rows on a grid of %s leave more than 98 %% of it empty", len(times), step),
		}
	}
	s := &Series{Name: file, Start: start, Step: step, Counts: make([]float64, n)}
	for i := range s.Counts {
		s.Counts[i] = math.NaN()
	}
	taken := -1
	for i, at := range times {
		slot := int(at.Sub(start) / step)
		if slot == taken {
			return nil, &FormatError{
				File: file, Line: lines[i], Column: 1,
				Problem: fmt.Sprintf("%s falls into the same interval of %s as the row before it", at.Format(plainTime), step),
			}
		}
		s.Counts[slot], taken = values[i], slot
	}
	return s, nil
}

// commonest is the most frequent distance between neighbours, the smallest of equally frequent ones.
func commonest(times []time.Time) time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i].Sub(times[i-1]))
	}
	slices.Sort(gaps)
	best, count := gaps[0], 0
	for i := 0; i < len(gaps); {
		j := i
		for j < len(gaps) && gaps[j] == gaps[i] {
			j++
		}
		if j-i > count {
			best, count = gaps[i], j-i
		}
		i = j
	}
	return best
}
