package signals

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warmpool/warmpool/scaler"
)

// table is the answer to one expression: rows that services pick theirs from by labels.
type table struct {
	rows []row
	// scalar is set for a result without labels: it cannot be told apart by them.
	scalar bool
	// indexes hold the rows by the values of a set of labels, built when that set is first asked for.
	indexes map[string]map[string][]int
}

type row struct {
	labels model.Metric
	points []model.SamplePair
	// histogram is set if the row holds native histograms, which are no numbers.
	histogram bool
}

func newTable(value model.Value) (*table, *Error) {
	switch v := value.(type) {
	case *model.Scalar:
		return &table{scalar: true, rows: []row{{points: []model.SamplePair{{Timestamp: v.Timestamp, Value: v.Value}}}}}, nil
	case model.Vector:
		t := &table{rows: make([]row, 0, len(v))}
		for _, s := range v {
			t.rows = append(t.rows, row{
				labels:    s.Metric,
				points:    []model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}},
				histogram: s.Histogram != nil,
			})
		}
		return t, nil
	case nil:
		return nil, failf(Answer, "not an answer of the Prometheus API: no result")
	default:
		return nil, failf(WrongType, "the query gives a %s; an instant vector or a scalar is needed", value.Type())
	}
}

func newRangeTable(value model.Value) (*table, *Error) {
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, failf(WrongType, "a range query must give a matrix")
	}
	t := &table{rows: make([]row, 0, len(matrix))}
	for _, series := range matrix {
		t.rows = append(t.rows, row{
			labels: series.Metric, points: series.Values, histogram: len(series.Histograms) > 0,
		})
	}
	return t, nil
}

// pick returns the only row whose labels equal match. A label that a row does not have is empty, as in PromQL.
func (t *table) pick(match map[string]string) (*row, *Error) {
	if len(match) > 0 && t.scalar {
		return nil, failf(WrongType, "a scalar has no labels to find %s by; group the query instead", describe(match))
	}
	found := t.find(match)
	switch {
	case len(found) == 0 && len(t.rows) == 0:
		return nil, failf(Empty, "no data")
	case len(found) == 0:
		return nil, failf(Empty, "no data for %s among %d rows", describe(match), len(t.rows))
	case len(found) > 1 && len(match) == 0:
		return nil, failf(Ambiguous, "%d rows where one is expected; aggregate the query", len(found))
	case len(found) > 1:
		return nil, failf(Ambiguous, "%d rows for %s; aggregate the query by its labels", len(found), describe(match))
	case t.rows[found[0]].histogram:
		return nil, failf(WrongType, "the result is a native histogram; use histogram_quantile or histogram_sum")
	}
	return &t.rows[found[0]], nil
}

func (t *table) find(match map[string]string) []int {
	names := labelNames(match)
	set := strings.Join(names, separator)
	index, ok := t.indexes[set]
	if !ok {
		index = make(map[string][]int, len(t.rows))
		for i := range t.rows {
			key := valuesOf(names, func(name string) string { return string(t.rows[i].labels[model.LabelName(name)]) })
			index[key] = append(index[key], i)
		}
		if t.indexes == nil {
			t.indexes = map[string]map[string][]int{}
		}
		t.indexes[set] = index
	}
	return index[valuesOf(names, func(name string) string { return match[name] })]
}

// separator is a byte that UTF-8 text does not contain.
const separator = "\xff"

func labelNames(match map[string]string) []string {
	names := make([]string, 0, len(match))
	for name := range match {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func valuesOf(names []string, value func(string) string) string {
	var key strings.Builder
	for _, name := range names {
		key.WriteString(value(name))
		key.WriteString(separator)
	}
	return key.String()
}

func describe(match map[string]string) string {
	var text strings.Builder
	for i, name := range labelNames(match) {
		if i > 0 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, "%s=%q", name, match[name])
	}
	return text.String()
}

// sample checks one value. scale of 0 means 1.
func sample(at time.Time, value, scale float64) (scaler.Sample, *Error) {
	if scale != 0 {
		value *= scale
	}
	switch {
	case math.IsNaN(value):
		return scaler.Sample{}, failf(Invalid, "NaN, as from a division by zero or by a missing series")
	case math.IsInf(value, 0):
		return scaler.Sample{}, failf(Invalid, "%v", value)
	case value < 0:
		return scaler.Sample{}, failf(Invalid, "negative value %v", value)
	}
	return scaler.Sample{At: at, Value: value}, nil
}

// measuredAt reads a Unix time in seconds and limits it to the time of the query: clocks of targets may be ahead.
func measuredAt(seconds float64, query time.Time) (time.Time, *Error) {
	if !(seconds > 0) || seconds > math.MaxInt32*4 {
		return time.Time{}, failf(Age, "%v is no Unix time in seconds; the age query must use timestamp()", seconds)
	}
	whole, fraction := math.Modf(seconds)
	at := time.Unix(int64(whole), int64(fraction*1e3)*1e6)
	if at.After(query) {
		return query, nil
	}
	return at, nil
}
