package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/warmpool/warmpool/expander"
)

// textValue is a value that is written as one scalar. Its errors say what is allowed and never repeat the text, so that
// they may be shown for trigger metadata too.
type textValue interface {
	parseText(text string) error
	// kind names the form for the reference.
	kind() string
}

// duration is written as a Go duration.
type duration time.Duration

func (d *duration) parseText(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		if _, numberErr := strconv.ParseFloat(text, 64); numberErr == nil {
			return errors.New("needs a unit, such as 90s, 15m or 2h")
		}
		return errors.New("must be a duration such as 500ms, 90s, 15m or 2h (days are not a unit: write 24h)")
	}
	if parsed < 0 {
		return errors.New("must not be negative")
	}
	*d = duration(parsed)
	return nil
}

func (duration) kind() string { return "duration" }

func (d duration) String() string { return shortDuration(time.Duration(d)) }

// shortDuration drops the zero parts that time.Duration prints: 15m, not 15m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// share is a part of a whole from 0 to 1, written as a percentage or as a fraction.
type share float64

func (s *share) parseText(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	value, err := parseNumber(number)
	if err != nil {
		return errors.New("must be a percentage such as 20% or a fraction such as 0.2")
	}
	if percent {
		value /= 100
	} else if value > 1 {
		return errors.New("must be a fraction from 0 to 1, or carry a percent sign")
	}
	if value < 0 || value > 1 {
		return errors.New("must be between 0% and 100%")
	}
	*s = share(value)
	return nil
}

func (share) kind() string { return "share" }

// countOrShare is a whole number, or a percentage.
type countOrShare struct {
	Count int
	Share float64
}

func (c *countOrShare) parseText(text string) error {
	if strings.HasSuffix(text, "%") {
		var s share
		if err := s.parseText(text); err != nil {
			return err
		}
		*c = countOrShare{Share: float64(s)}
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return errors.New("must be a count such as 2 or a percentage such as 20%")
	}
	*c = countOrShare{Count: int(n)}
	return nil
}

func (countOrShare) kind() string { return "count or percentage" }

// byteSize is a Kubernetes quantity of bytes.
type byteSize int64

func (b *byteSize) parseText(text string) error {
	// The parser of Kubernetes needs seconds for an exponent of some millions, and more memory than there is.
	if _, err := expander.ParseQuantity(text); err != nil {
		return errors.New("must be a quantity of bytes such as 64Mi or 2Gi")
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return errors.New("must be a quantity of bytes such as 64Mi or 2Gi")
	}
	value, exact := q.AsInt64()
	if !exact || value < 0 {
		return errors.New("must be a whole number of bytes between 0 and 8Ei, such as 64Mi")
	}
	*b = byteSize(value)
	return nil
}

func (byteSize) kind() string { return "quantity" }

const learned = "learned"

// learnedNumber is a number above 0, or the word learned.
type learnedNumber struct{ Value float64 }

func (l *learnedNumber) parseText(text string) error {
	if text == learned {
		*l = learnedNumber{}
		return nil
	}
	value, err := parseNumber(text)
	if err != nil || value <= 0 {
		return errors.New("must be a number above 0, or the word learned")
	}
	*l = learnedNumber{Value: value}
	return nil
}

func (learnedNumber) kind() string { return "number or learned" }

// learnedDuration is a duration above 0, or the word learned.
type learnedDuration struct{ Value duration }

func (l *learnedDuration) parseText(text string) error {
	if text == learned {
		*l = learnedDuration{}
		return nil
	}
	var d duration
	if err := d.parseText(text); err != nil {
		return fmt.Errorf("%w, or the word learned", err)
	}
	if d <= 0 {
		return errors.New("must be above 0, or the word learned")
	}
	*l = learnedDuration{Value: d}
	return nil
}

func (learnedDuration) kind() string { return "duration or learned" }

// instant is a point in time with its offset from UTC.
type instant struct{ time.Time }

func (i *instant) parseText(text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("must be a time with its offset, such as 2027-03-01T08:00:00+01:00 or 2027-03-01T07:00:00Z")
	}
	*i = instant{t}
	return nil
}

func (instant) kind() string { return "time" }

// pattern is an RE2 regular expression. It is matched anywhere in the text unless it is anchored.
type pattern string

func (p *pattern) parseText(text string) error {
	if text == "" {
		return errors.New("must not be empty: it would match everything")
	}
	if len(text) > 1000 {
		return errors.New("must not be longer than 1000 characters")
	}
	if _, err := regexp.Compile(text); err != nil {
		return errors.New("must be an RE2 regular expression: " + explainRegexp(text, err))
	}
	*p = pattern(text)
	return nil
}

func (pattern) kind() string { return "RE2" }

// parseNumber reads a finite decimal number.
func parseNumber(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || strings.ContainsAny(text, "xX_pP") {
		return 0, errors.New("must be a number")
	}
	return value, nil
}

// date is a calendar day.
type date struct {
	Year  int
	Month time.Month
	Day   int
}

func (d *date) parseText(text string) error {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return errors.New("must be a date such as 2027-12-25")
	}
	d.Year, d.Month, d.Day = t.Date()
	return nil
}

func (date) kind() string { return "date" }
