package signals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/config"
)

const (
	// largestBatch is how many services one request asks for: a week of them in steps of a minute is half a million points.
	largestBatch = 50
	// shortestSpan is the shortest part of a history that is asked for by itself, and mostRefusals how many requests of a
	// batch may be too much for the server before the batch is given up.
	shortestSpan = 24 * time.Hour
	mostRefusals = 20
	// patience is by how much longer than a reading a request for history may take.
	patience = 5
)

// Histories reads what [Reader.History] reads for many queries that share an expression, such as those of all services
// of a preset, with few requests: fifty services and a week in each, less when that is too much for the server. One
// request is under way at a time, so that readings keep their turns. Each query is reported exactly once.
func (r *Reader) Histories(ctx context.Context, queries []config.Query, from, to time.Time, slot time.Duration,
	report func(query int, means []float64, err error),
) {
	for _, group := range shared(queries) {
		for batch := range slices.Chunk(group, largestBatch) {
			b := &historyBatch{reader: r, queries: queries, members: batch, slot: slot}
			err := b.read(ctx, from, to)
			for i, member := range batch {
				if err != nil {
					report(member, nil, err)
					continue
				}
				report(member, b.slots[i].means(), b.failures[i])
			}
		}
	}
}

// shared groups queries whose rows are in one answer.
func shared(queries []config.Query) [][]int {
	var groups [][]int
	by := map[string]int{}
	for i, q := range queries {
		key := strings.Join(append(labelNames(q.Match), q.Expr, q.AgeExpr), separator)
		g, ok := by[key]
		if !ok {
			g = len(groups)
			by[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// historyBatch reads the histories of some queries that share an expression.
type historyBatch struct {
	reader   *Reader
	queries  []config.Query
	members  []int
	slot     time.Duration
	slots    []*slots
	failures []error
	refusals int
}

func (b *historyBatch) read(ctx context.Context, from, to time.Time) error {
	step := b.slot / pointsPerSlot
	if step <= 0 || !from.Equal(from.Truncate(b.slot)) || !to.Equal(to.Truncate(b.slot)) || to.Before(from) {
		return fmt.Errorf("history from %v to %v is not aligned to slots of %v", from, to, b.slot)
	}
	b.failures = make([]error, len(b.members))
	for range b.members {
		b.slots = append(b.slots, newSlots(from, to, b.slot))
	}
	all := make([]int, len(b.members))
	for i := range all {
		all[i] = i
	}
	for _, part := range parts(from, to, step) {
		if err := b.fill(ctx, all, part.start, part.end); err != nil {
			return fmt.Errorf("read history from %s: %w", part.start.UTC().Format(time.RFC3339), err)
		}
	}
	return nil
}

// fill reads a span for some members, given by their places in the batch. What is too much for the server is asked for
// in halves, first of the time and then of the services.
func (b *historyBatch) fill(ctx context.Context, of []int, start, end time.Time) error {
	failure := b.ask(ctx, of, start, end)
	if failure == nil {
		return nil
	}
	b.refusals++
	if !failure.tooMuch() || b.refusals > mostRefusals || ctx.Err() != nil {
		return failure
	}
	if middle := start.Add(end.Sub(start) / 2).Truncate(b.slot); end.Sub(start) > shortestSpan && middle.After(start) {
		if err := b.fill(ctx, of, start, middle); err != nil {
			return err
		}
		return b.fill(ctx, of, middle, end)
	}
	if len(of) == 1 {
		return failure
	}
	if err := b.fill(ctx, of[:len(of)/2], start, end); err != nil {
		return err
	}
	return b.fill(ctx, of[len(of)/2:], start, end)
}

// tooMuch tells whether half of the request may be answered: too many samples, too large an answer, too long a time.
func (e *Error) tooMuch() bool {
	switch e.class {
	case Timeout, Unavailable, Refused:
		return true
	default:
		return false
	}
}

// ask reads the points after start up to end in one request, and their ages in another.
func (b *historyBatch) ask(ctx context.Context, of []int, start, end time.Time) *Error {
	matches := make([]map[string]string, len(of))
	for i, m := range of {
		matches[i] = b.queries[b.members[m]].Match
	}
	step := b.slot / pointsPerSlot
	read := func(expr string) (*table, *Error) {
		return b.reader.rows(ctx, onlyRows(expr, matches), start.Add(step), end, step)
	}
	first := b.queries[b.members[of[0]]]
	value, failure := read(first.Expr)
	if failure != nil {
		return failure
	}
	var age *table
	if first.AgeExpr != "" {
		if age, failure = read(first.AgeExpr); failure != nil {
			return failure
		}
	}
	for _, m := range of {
		if failure := b.slots[m].take(b.queries[b.members[m]], value, age, step); failure != nil {
			b.failures[m] = failure // of this service alone: the others have their own rows
		}
	}
	return nil
}
