package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// servegenStart is the date that ServeGen series are said to begin on; the true dates are not published, only that
// second 0 is a local midnight. It is a Monday.
var servegenStart = time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)

// ReadServeGenRates reads one client of ServeGen: rows without a header of start second, requests per second,
// coefficient of variation, family (Gamma, Weibull or empty) and two parameters. The rows must be evenly spaced.
func ReadServeGenRates(file string, r io.Reader) (*Series, error) {
	t := headlessTable(file, r, 6)
	s := &Series{Name: file, Start: servegenStart}
	var seconds []int64
	for _, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		sec, err := t.integer(0)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, sec)
		if n := len(seconds); n > 1 && (sec-seconds[n-2] != seconds[1]-seconds[0] || sec <= seconds[n-2]) {
			return nil, t.fail(0, "second %d breaks the even spacing of %d s", sec, seconds[1]-seconds[0])
		}
		rate, err := t.number(1)
		if err != nil {
			return nil, err
		}
		burst, err := t.burst(rate)
		if err != nil {
			return nil, err
		}
		s.Counts, s.Bursts = append(s.Counts, rate), append(s.Bursts, burst)
	}
	if len(seconds) < 2 {
		return nil, &FormatError{File: file, Line: 1, Problem: "a series needs at least two rows"}
	}
	s.Start = s.Start.Add(time.Duration(seconds[0]) * time.Second)
	s.Step = time.Duration(seconds[1]-seconds[0]) * time.Second
	return s.Scale(s.Step.Seconds()), nil
}

func (t *table) burst(rate float64) (Burst, error) {
	cv, err := t.number(2)
	if err != nil {
		return Burst{}, err
	}
	switch family := Family(t.row[3]); {
	case family == Gamma || family == Weibull:
		if cv == 0 {
			return Burst{}, t.fail(2, "a %s process needs a coefficient of variation above 0", family)
		}
		return Burst{Family: family, CV: cv}, nil
	case family == "" && rate == 0, family == Exponential, family == "" && cv == 0:
		return Burst{Family: Exponential, CV: 1}, nil
	default:
		return Burst{}, t.fail(3, "%q is not a known family; expected Gamma, Weibull or nothing", t.row[3])
	}
}

// Lengths is a distribution of token counts.
type Lengths struct {
	// Tokens ascend; Cumulative holds the probability of at most that many, and ends with 1.
	Tokens     []int64
	Cumulative []float64
}

// At is the quantile of a probability between 0 and 1.
func (l Lengths) At(p float64) int64 {
	i, _ := slices.BinarySearch(l.Cumulative, p)
	return l.Tokens[min(i, len(l.Tokens)-1)]
}

// LengthWindow is the token counts of the requests from one second on; a nil distribution was idle.
type LengthWindow struct {
	Second        int64
	Input, Output *Lengths
}

// ReadServeGenLengths reads the token-length distributions of one client: an object of start second to input_tokens and
// output_tokens, each a text of "{tokens: probability, ...}". The result ascends by second.
func ReadServeGenLengths(file string, r io.Reader) ([]LengthWindow, error) {
	var raw map[string]map[string]string
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, jsonError(file, err)
	}
	var out []LengthWindow
	for key, window := range raw {
		sec, err := strconv.ParseInt(key, 10, 64)
		if err != nil || sec < 0 {
			return nil, &FormatError{File: file, Line: 1, Problem: fmt.Sprintf("the key %q is not a start second", key)}
		}
		w := LengthWindow{Second: sec}
		for name, into := range map[string]**Lengths{"input_tokens": &w.Input, "output_tokens": &w.Output} {
			text, ok := window[name]
			if !ok {
				return nil, &FormatError{File: file, Line: 1, Problem: fmt.Sprintf("second %d has no %s", sec, name)}
			}
			l, err := parseLengths(text)
			if err != nil {
				return nil, &FormatError{File: file, Line: 1, Problem: fmt.Sprintf("second %d, %s: %v", sec, name, err)}
			}
			*into = l
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b LengthWindow) int { return int(a.Second - b.Second) })
	return out, nil
}

// parseLengths reads "{81: 0.25, 82: 0.75}"; an empty pair of braces is nil. Probabilities are normalised, as rounding
// leaves them a little off 1.
func parseLengths(text string) (*Lengths, error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	if !ok || !strings.HasSuffix(body, "}") {
		return nil, fmt.Errorf("%.20q is not a list in braces", text)
	}
	body = strings.TrimSpace(strings.TrimSuffix(body, "}"))
	if body == "" {
		return nil, nil
	}
	weights := map[int64]float64{}
	var total float64
	for pair := range strings.SplitSeq(body, ",") {
		tokens, share, ok := strings.Cut(pair, ":")
		n, err := strconv.ParseInt(strings.TrimSpace(tokens), 10, 64)
		w, werr := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if !ok || err != nil || werr != nil || n < 0 || w < 0 || math.IsInf(w, 0) || math.IsNaN(w) {
			return nil, fmt.Errorf("%q is not tokens and a probability", pair)
		}
		weights[n] += w
		total += w
	}
	if total <= 0 {
		return nil, fmt.Errorf("the probabilities sum to %v", total)
	}
	l := &Lengths{}
	for n := range weights {
		l.Tokens = append(l.Tokens, n)
	}
	slices.Sort(l.Tokens)
	var cum float64
	for _, n := range l.Tokens {
		cum += weights[n] / total
		l.Cumulative = append(l.Cumulative, cum)
	}
	l.Cumulative[len(l.Cumulative)-1] = 1
	return l, nil
}
