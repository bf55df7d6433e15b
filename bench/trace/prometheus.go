package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// jsonError names the offset of a syntax error as well as JSON allows.
func jsonError(file string, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &FormatError{File: file, Line: 1, Column: int(syntax.Offset), Problem: err.Error()}
	}
	return &FormatError{File: file, Line: 1, Problem: err.Error()}
}

// ReadQueryRange reads the answer of Prometheus' /api/v1/query_range. The result must hold exactly one series: sum over
// the labels in the query. Values are rates in requests per second and become counts; a missing point, NaN or an
// infinite value was not recorded.
func ReadQueryRange(file string, r io.Reader) (*Series, error) {
	var body struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Values [][2]json.RawMessage `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r).Decode(&body); err != nil {
		return nil, jsonError(file, err)
	}
	fail := func(format string, args ...any) error {
		return &FormatError{File: file, Line: 1, Problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case body.Status != "success":
		return nil, fail("the query failed: status %q, error %q", body.Status, body.Error)
	case body.Data.Type != "matrix":
		return nil, fail("resultType is %q; expected matrix, the answer of query_range", body.Data.Type)
	case len(body.Data.Result) != 1:
		return nil, fail("the result holds %d series; expected one: sum over the labels in the query", len(body.Data.Result))
	}
	var (
		times  []time.Time
		values []float64
		lines  []int
	)
	for i, point := range body.Data.Result[0].Values {
		var sec float64
		var text string
		if err := errors.Join(json.Unmarshal(point[0], &sec), json.Unmarshal(point[1], &text)); err != nil {
			return nil, fail("value %d is not a time and a text: %v", i, err)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v < 0 {
			return nil, fail("value %d: %q is not a rate of at least 0", i, text)
		}
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		at := time.UnixMilli(int64(math.Round(sec * 1000))).UTC()
		if n := len(times); n > 0 && !at.After(times[n-1]) {
			return nil, fail("value %d is not after the one before it", i)
		}
		times, values, lines = append(times, at), append(values, v), append(lines, 1)
	}
	if len(times) < 2 {
		return nil, fail("a series needs at least two values")
	}
	s, err := onGrid(file, times, values, lines)
	if err != nil {
		return nil, err
	}
	return s.Scale(s.Step.Seconds()), nil
}
