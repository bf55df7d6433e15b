package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table reads comma-separated rows and remembers where each field stood.
type table struct {
	file   string
	csv    *csv.Reader
	header []string
	row    []string
}

// headlessTable reads rows of exactly fields columns without a header.
func headlessTable(file string, r io.Reader, fields int) *table {
	c := csv.NewReader(r)
	c.FieldsPerRecord = fields
	c.ReuseRecord = true
	c.TrimLeadingSpace = true
	return &table{file: file, csv: c}
}

// newTable reads the header, which must be one of the given ones.
func newTable(file string, r io.Reader, headers ...[]string) (*table, error) {
	t := headlessTable(file, r, 0)
	first, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, &FormatError{File: file, Line: 1, Problem: "the file is empty; expected the header " + headerList(headers)}
	}
	if err != nil {
		return nil, csvError(file, err)
	}
	t.header = slices.Clone(first)
	for _, want := range headers {
		if slices.Equal(t.header, want) {
			return t, nil
		}
	}
	return nil, &FormatError{
		File: file, Line: 1, Column: 1,
		Problem: fmt.Sprintf("the header is %q; expected %s", strings.Join(t.header, ","), headerList(headers)),
	}
}

func headerList(headers [][]string) string {
	var list []string
	for _, h := range headers {
		list = append(list, strconv.Quote(strings.Join(h, ",")))
	}
	return strings.Join(list, " or ")
}

// rows are the rows below the header, valid until the next one. Other methods read the fields of the present row. An error
// is the last one.
func (t *table) rows() iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for {
			row, err := t.csv.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, csvError(t.file, err))
				return
			}
			t.row = row
			if !yield(row, nil) {
				return
			}
		}
	}
}

// each reads one value of every row.
func each[T any](t *table, read func() (T, error)) (all []T, err error) {
	for _, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		one, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// has tells whether the header has a column.
func (t *table) has(name string) bool { return slices.Contains(t.header, name) }

// column is the index of a named column, which must exist.
func (t *table) column(name string) int { return slices.Index(t.header, name) }

// fail is a [FormatError] at a field of the current row.
func (t *table) fail(column int, format string, args ...any) error {
	line, col := t.csv.FieldPos(column)
	return &FormatError{File: t.file, Line: line, Column: col, Problem: fmt.Sprintf(format, args...)}
}

// number reads a finite value that is not negative.
func (t *table) number(column int) (float64, error) {
	v, err := strconv.ParseFloat(t.row[column], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, t.fail(column, "%q is not a finite number of at least 0", t.row[column])
	}
	return v, nil
}

// blankNumber is number, with NaN for an empty field.
func (t *table) blankNumber(column int) (float64, error) {
	if t.row[column] == "" {
		return math.NaN(), nil
	}
	return t.number(column)
}

// integer reads a whole number that is not negative.
func (t *table) integer(column int) (int64, error) {
	v, err := strconv.ParseInt(t.row[column], 10, 64)
	if err != nil || v < 0 {
		return 0, t.fail(column, "%q is not a whole number of at least 0", t.row[column])
	}
	return v, nil
}

// moment reads the time in the first column by one of the layouts; a time without a zone is UTC.
func (t *table) moment(layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, t.row[0]); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, t.fail(0, "%q is not a time like %q", t.row[0], layouts[0])
}
