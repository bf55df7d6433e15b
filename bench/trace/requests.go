package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// Requests is recorded traffic with one entry for each request, in order of arrival.
type Requests struct {
	Name  string
	Start time.Time
	List  []Request
}

// Request is one recorded request. At counts from the start of the recording; lengths are in tokens.
type Request struct {
	At            time.Duration
	Input, Output int64
}

// Span is the time from the start to the last request.
func (r *Requests) Span() time.Duration {
	if len(r.List) == 0 {
		return 0
	}
	return r.List[len(r.List)-1].At
}

// Series counts the requests on a grid.
func (r *Requests) Series(step time.Duration) *Series {
	s := &Series{Name: r.Name, Start: r.Start, Step: step, Counts: make([]float64, int(r.Span()/step)+1)}
	for _, q := range r.List {
		s.Counts[int(q.At/step)]++
	}
	return s
}

// ReadAzure reads the Azure LLM inference traces: "TIMESTAMP,ContextTokens,GeneratedTokens", one row a request, with or
// without carriage returns and with up to seven decimals of a second. Times are UTC.
func ReadAzure(file string, r io.Reader) (*Requests, error) {
	t, err := newTable(file, r, []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
	if err != nil {
		return nil, err
	}
	return t.requests(func() (time.Time, error) { return t.moment(fineTime, time.RFC3339Nano) }, 1, 2)
}

// burstGPTColumns are the columns of BurstGPT; releases from 1.2 on put two more after the first.
var (
	burstGPTColumns = []string{"Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"}
	burstGPTWide    = []string{"Timestamp", "Session ID", "Elapsed time", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"}
)

// ReadBurstGPT reads BurstGPT: seconds since 00:00 local time of the first day, model and token counts. A row with no
// response tokens is a failed request and counts as arrived all the same. Dates are not published: the first day is
// called 2023-01-01.
func ReadBurstGPT(file string, r io.Reader) (*Requests, error) {
	t, err := newTable(file, r, burstGPTColumns, burstGPTWide)
	if err != nil {
		return nil, err
	}
	day := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func() (time.Time, error) {
		sec, err := t.number(0)
		return day.Add(time.Duration(sec * float64(time.Second))), err
	}
	return t.requests(at, t.column("Request tokens"), t.column("Response tokens"))
}

// requests reads one request a row.
func (t *table) requests(at func() (time.Time, error), input, output int) (*Requests, error) {
	out := &Requests{Name: t.file}
	for row, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		when, err := at()
		if err != nil {
			return nil, err
		}
		if len(out.List) == 0 {
			out.Start = when
		}
		q := Request{At: when.Sub(out.Start)}
		if n := len(out.List); n > 0 && q.At < out.List[n-1].At {
			return nil, t.fail(0, "%s is before the row before it", row[0])
		}
		if q.Input, err = t.integer(input); err != nil {
			return nil, err
		}
		if q.Output, err = t.integer(output); err != nil {
			return nil, err
		}
		out.List = append(out.List, q)
	}
	return out, nil
}

// ReadMooncake reads Mooncake JSON lines: timestamp in milliseconds, input_length, output_length, hash_ids (ignored).
// Dates are not published: the trace is said to begin on 2024-01-01.
func ReadMooncake(file string, r io.Reader) (*Requests, error) {
	out := &Requests{Name: file, Start: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 64<<10), 16<<20)
	for line := 1; scan.Scan(); line++ {
		if len(scan.Bytes()) == 0 {
			continue
		}
		var row struct {
			Timestamp *float64 `json:"timestamp"`
			Input     *int64   `json:"input_length"`
			Output    *int64   `json:"output_length"`
		}
		fail := func(format string, args ...any) error {
			return &FormatError{File: file, Line: line, Column: 1, Problem: fmt.Sprintf(format, args...)}
		}
		if err := json.Unmarshal(scan.Bytes(), &row); err != nil {
			return nil, fail("not a JSON object of a request: %v", err)
		}
		if row.Timestamp == nil || row.Input == nil || row.Output == nil {
			return nil, fail("timestamp, input_length and output_length are all needed")
		}
		if *row.Timestamp < 0 || math.IsInf(*row.Timestamp, 0) || *row.Input < 0 || *row.Output < 0 {
			return nil, fail("timestamp and lengths must be at least 0")
		}
		q := Request{At: time.Duration(*row.Timestamp * float64(time.Millisecond)), Input: *row.Input, Output: *row.Output}
		if n := len(out.List); n > 0 && q.At < out.List[n-1].At {
			return nil, fail("timestamp %v is before the line before it", *row.Timestamp)
		}
		out.List = append(out.List, q)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return out, nil
}
