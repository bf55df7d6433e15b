package signals

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

const (
	// pointsPerSlot is how often a slot of history is looked at.
	pointsPerSlot = 5
)

// Rewind reads what [Reader.Read] would have reported at each multiple of step between two times, both included, and
// reports all samples of a query at once. It serves to rebuild short windows of many services after a start, in one
// request per expression: (to-from)/step must be below [predictor.MaxQueryPoints].
func (r *Reader) Rewind(ctx context.Context, from, to time.Time, step time.Duration, services [][]config.Query, report Report) {
	from, to = ceilTo(from, step), to.Truncate(step)
	p := newPlan(services, func(q config.Query, value, age *table) ([]scaler.Sample, error) {
		return seriesSamples(q, value, age)
	})
	r.run(ctx, p, newRangeTable, r.rangeRequest(from, to, step, r.options.Timeout), report)
}

func (r *Reader) rangeRequest(from, to time.Time, step, limit time.Duration) request {
	return func(ctx context.Context, expr string) (model.Value, promv1.Warnings, error) {
		value, warnings, _, err := r.api.QueryRange(ctx, expr, promv1.Range{Start: from, End: to, Step: step},
			within(limit))
		return value, warnings, err
	}
}

// seriesSamples keeps the valid points of one row, each with the time at which it was measured.
func seriesSamples(q config.Query, value, age *table) ([]scaler.Sample, error) {
	found, failure := value.pick(q.Match)
	if failure != nil {
		return nil, failure
	}
	measured := map[model.Time]time.Time{}
	if age != nil {
		newest, failure := age.pick(q.Match)
		if failure != nil {
			return nil, failf(Age, "%v", failure)
		}
		for _, point := range newest.points {
			if at, failure := measuredAt(float64(point.Value), point.Timestamp.Time()); failure == nil {
				measured[point.Timestamp] = at
			}
		}
	}
	samples := make([]scaler.Sample, 0, len(found.points))
	for _, point := range found.points {
		at := point.Timestamp.Time()
		if age != nil {
			known, ok := measured[point.Timestamp]
			if !ok {
				continue
			}
			at = known
		}
		if s, failure := sample(at, float64(point.Value), q.Scale); failure == nil {
			samples = append(samples, s)
		}
	}
	return samples, nil
}

// History returns the mean of a query over each slot between two times, NaN where less than 70 % of a slot is known.
// Both times must be multiples of slot. Only the query's own row is transferred, about a week per request.
func (r *Reader) History(ctx context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	step := slot / pointsPerSlot
	if step <= 0 || !from.Equal(from.Truncate(slot)) || !to.Equal(to.Truncate(slot)) || to.Before(from) {
		return nil, fmt.Errorf("history from %v to %v is not aligned to slots of %v", from, to, slot)
	}
	slots := newSlots(from, to, slot)
	q.Expr, q.AgeExpr = onlyRow(q.Expr, q.Match), onlyRow(q.AgeExpr, q.Match)
	for _, part := range parts(from, to, step) {
		if err := r.fill(ctx, slots, q, part.start, part.end, step); err != nil {
			return nil, fmt.Errorf("read history from %s: %w", part.start.UTC().Format(time.RFC3339), err)
		}
	}
	return slots.means(), nil
}

// part is a piece of a history: the points after start up to end.
type part struct{ start, end time.Time }

// parts cuts a history, the points after from and up to the end, into what one request may ask for, oldest first.
func parts(from, end time.Time, step time.Duration) []part {
	ranges := predictor.Ranges(end, step, end.Sub(from)-step)
	parts := make([]part, len(ranges))
	for i, r := range ranges {
		parts[i] = part{r.Start.Add(-step), r.End}
	}
	return parts
}

// fill reads the points after start up to end: a rate at t speaks of the time before t.
func (r *Reader) fill(ctx context.Context, slots *slots, q config.Query, start, end time.Time, step time.Duration) error {
	value, failure := r.rows(ctx, q.Expr, start.Add(step), end, step)
	if failure != nil {
		return failure
	}
	var age *table
	if q.AgeExpr != "" {
		if age, failure = r.rows(ctx, q.AgeExpr, start.Add(step), end, step); failure != nil {
			return failure
		}
	}
	if failure := slots.take(q, value, age, step); failure != nil {
		return failure
	}
	return nil
}

// rows reads a table of history, for which the server has more time than for a reading.
func (r *Reader) rows(ctx context.Context, expr string, from, to time.Time, step time.Duration) (*table, *Error) {
	limit := patience * r.options.Timeout
	value, failure := r.ask(ctx, expr, limit, r.rangeRequest(from, to, step, limit))
	if failure != nil {
		return nil, failure
	}
	return newRangeTable(value)
}

// take adds the valid points of the query's row. No row is a history of nothing.
func (s *slots) take(q config.Query, value, age *table, step time.Duration) *Error {
	points, failure := value.history(q.Match)
	if failure != nil {
		return failure
	}
	fresh := func(model.Time) bool { return true }
	if age != nil {
		ages, failure := age.history(q.Match)
		if failure != nil {
			return failure
		}
		known := make(map[model.Time]bool, len(ages))
		for _, point := range ages {
			at, failure := measuredAt(float64(point.Value), point.Timestamp.Time())
			// Two steps allow for scrapes as far apart as one step; later the store repeats an old value.
			known[point.Timestamp] = failure == nil && point.Timestamp.Time().Sub(at) <= 2*step
		}
		fresh = func(t model.Time) bool { return known[t] }
	}
	for _, point := range points {
		if v, failure := sample(point.Timestamp.Time(), float64(point.Value), q.Scale); failure == nil && fresh(point.Timestamp) {
			s.add(v)
		}
	}
	return nil
}

func (t *table) history(match map[string]string) ([]model.SamplePair, *Error) {
	found, failure := t.pick(match)
	switch {
	case failure != nil && failure.class == Empty:
		return nil, nil
	case failure != nil:
		return nil, failure
	}
	return found.points, nil
}

// slots adds up points by slot.
type slots struct {
	from  time.Time
	slot  time.Duration
	sum   []float64
	count []int
}

func newSlots(from, to time.Time, slot time.Duration) *slots {
	n := int(to.Sub(from) / slot)
	return &slots{from: from, slot: slot, sum: make([]float64, n), count: make([]int, n)}
}

func (s *slots) add(point scaler.Sample) {
	// The point at the very end of a slot belongs to it.
	i := int((point.At.Sub(s.from) - 1) / s.slot)
	if i >= 0 && i < len(s.sum) {
		s.sum[i] += point.Value
		s.count[i]++
	}
}

func (s *slots) means() []float64 {
	means := make([]float64, len(s.sum))
	for i := range means {
		means[i] = math.NaN()
		if predictor.Covered(s.count[i], s.slot, s.slot/pointsPerSlot) {
			means[i] = s.sum[i] / float64(s.count[i])
		}
	}
	return means
}

// onlyRow restricts the result of any expression to one row.
func onlyRow(expr string, match map[string]string) string {
	return onlyRows(expr, []map[string]string{match})
}

// onlyRows restricts the result of any expression to some rows, which are told apart by the same labels: PromQL has no
// label filter for results, but the intersection with constants that carry the labels is one.
func onlyRows(expr string, matches []map[string]string) string {
	if expr == "" || len(matches[0]) == 0 {
		return expr
	}
	names := labelNames(matches[0])
	constants := make([]string, len(matches))
	for i, match := range matches {
		constants[i] = "vector(1)"
		for _, name := range names {
			value := strings.ReplaceAll(match[name], "$", "$$")
			constants[i] = fmt.Sprintf(`label_replace(%s, %q, %s, "", "")`, constants[i], name, strconv.Quote(value))
		}
	}
	rows := constants[0]
	if len(constants) > 1 {
		rows = "(" + strings.Join(constants, " or ") + ")"
	}
	return fmt.Sprintf("(%s) and on (%s) %s", expr, strings.Join(names, ", "), rows)
}

func ceilTo(t time.Time, step time.Duration) time.Time {
	down := t.Truncate(step)
	if down.Before(t) {
		return down.Add(step)
	}
	return down
}
