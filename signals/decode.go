package signals

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

// quickly decodes an answer in the very form that Prometheus writes it: a vector or a matrix of numbers, without white
// space, escapes, warnings or anything else. It is not ok for every other answer, which the client library then decodes;
// that takes ten times as long, and 10,000 services read a hundred megabytes after a start.
func quickly(body []byte) (value model.Value, ok bool) {
	s := scanner{rest: string(body)}
	switch {
	case s.skip(`{"status":"success","data":{"resultType":"vector","result":[`):
		value, ok = s.vector()
	case s.skip(`{"status":"success","data":{"resultType":"matrix","result":[`):
		value, ok = s.matrix()
	}
	s.rest = strings.TrimSuffix(s.rest, "\n")
	if !ok || !s.skip("]}}") || s.rest != "" {
		return nil, false
	}
	return value, true
}

// scanner is what is left of an answer.
type scanner struct{ rest string }

// skip takes a text from the front, if it is there.
func (s *scanner) skip(text string) bool {
	after, found := strings.CutPrefix(s.rest, text)
	if found {
		s.rest = after
	}
	return found
}

func (s *scanner) vector() (model.Vector, bool) {
	out := model.Vector{}
	for len(s.rest) > 0 && s.rest[0] != ']' {
		if len(out) > 0 && !s.skip(",") {
			return nil, false
		}
		labels, ok := s.metric()
		if !ok || !s.skip(`,"value":`) {
			return nil, false
		}
		point, ok := s.point()
		if !ok || !s.skip("}") {
			return nil, false
		}
		out = append(out, &model.Sample{Metric: labels, Timestamp: point.Timestamp, Value: point.Value})
	}
	return out, true
}

func (s *scanner) matrix() (model.Matrix, bool) {
	out := model.Matrix{}
	for len(s.rest) > 0 && s.rest[0] != ']' {
		if len(out) > 0 && !s.skip(",") {
			return nil, false
		}
		labels, ok := s.metric()
		if !ok || !s.skip(`,"values":[`) {
			return nil, false
		}
		var points []model.SamplePair
		if len(out) > 0 {
			points = make([]model.SamplePair, 0, len(out[len(out)-1].Values)) // mostly as many as the row before
		}
		for first := true; first || s.skip(","); first = false {
			point, ok := s.point()
			if !ok {
				return nil, false
			}
			points = append(points, point)
		}
		if !s.skip("]}") {
			return nil, false
		}
		out = append(out, &model.SampleStream{Metric: labels, Values: points})
	}
	return out, true
}

// metric reads the beginning of a row.
func (s *scanner) metric() (model.Metric, bool) {
	if !s.skip(`{"metric":{`) {
		return nil, false
	}
	labels := model.Metric{}
	if s.skip("}") {
		return labels, true
	}
	for first := true; first || s.skip(","); first = false {
		name, ok := s.text()
		if !ok || !model.LegacyValidation.IsValidLabelName(name) || !s.skip(":") {
			return nil, false
		}
		value, ok := s.text()
		if _, twice := labels[model.LabelName(name)]; !ok || twice {
			return nil, false
		}
		labels[model.LabelName(name)] = model.LabelValue(value)
	}
	return labels, s.skip("}")
}

// text reads a string without escapes.
func (s *scanner) text() (string, bool) {
	if !s.skip(`"`) {
		return "", false
	}
	end := strings.IndexByte(s.rest, '"')
	if end < 0 {
		return "", false
	}
	text := s.rest[:end]
	for i := range len(text) {
		if text[i] < ' ' || text[i] == '\\' {
			return "", false
		}
	}
	s.rest = s.rest[end+1:]
	return text, utf8.ValidString(text)
}

// point reads a time in seconds, with three decimals at most, and a value.
func (s *scanner) point() (p model.SamplePair, ok bool) {
	if !s.skip("[") {
		return p, false
	}
	end := strings.IndexByte(s.rest, ',')
	if end < 0 {
		return p, false
	}
	if p.Timestamp, ok = milliseconds(s.rest[:end]); !ok {
		return p, false
	}
	s.rest = s.rest[end+1:]
	text, ok := s.text()
	if !ok || strings.ContainsAny(text, "xX_") {
		return p, false
	}
	value, err := strconv.ParseFloat(text, 64)
	p.Value = model.SampleValue(value)
	return p, err == nil && s.skip("]")
}

// milliseconds reads a time such as 1800000000.123.
func milliseconds(text string) (model.Time, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" || len(whole) > 12 || len(fraction) > 3 || whole != "0" && whole[0] == '0' || strings.HasSuffix(text, ".") {
		return 0, false
	}
	digits := func(text string) (n int64, ok bool) {
		for i := range len(text) {
			if text[i] < '0' || text[i] > '9' {
				return 0, false
			}
			n = 10*n + int64(text[i]-'0')
		}
		return n, true
	}
	seconds, ok := digits(whole)
	part, fine := digits(fraction)
	return model.Time(1000*seconds + part*int64(math.Pow10(3-len(fraction)))), ok && fine
}
