package backtest

import (
	"math"
	"strings"
	"testing"
)

// FuzzReadCSV reads any table: a series on a regular grid of bounded length, or an error.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"timestamp,value\n2031-03-04T00:00:00Z,5\n2031-03-04T00:05:00Z,\n2031-03-04T00:15:00Z,7\n", "", "a\nb,c\n", "2031-03-04T00:00:00Z,NaN\n",
		"2031-03-04T00:00:00Z,1\n2031-03-04T00:00:00Z,2\n", "0001-01-01T00:00:00Z,1\n9999-12-31T23:59:59Z,1\n0001-01-01T00:00:01Z,1\n", "\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadCSV(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		if s.Step <= 0 || len(s.Values) == 0 || len(s.Values) > maxGaps+strings.Count(text, "\n")+2 {
			t.Errorf("step %v, %d values", s.Step, len(s.Values))
		}
		for _, v := range s.Values {
			if math.IsInf(v, 0) {
				t.Errorf("a value is %v", v)
			}
		}
	})
}
