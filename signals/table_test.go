package signals

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

func reply(body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}
}

// TestPickAgainstScan compares the index with a scan over all rows.
func TestPickAgainstScan(t *testing.T) {
	names := []string{"a", "b", "c"}
	labels := rapid.MapOf(rapid.SampledFrom(names), rapid.SampledFrom([]string{"", "x", "y"}))
	rapid.Check(t, func(t *rapid.T) {
		table := &table{}
		for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
			metric := model.Metric{}
			for name, value := range labels.Draw(t, "labels") {
				metric[model.LabelName(name)] = model.LabelValue(value)
			}
			table.rows = append(table.rows, row{labels: metric, points: []model.SamplePair{{Value: model.SampleValue(i)}}})
		}
		for range 3 {
			match := labels.Draw(t, "match")
			var want []int
			for i, row := range table.rows {
				equal := true
				for name, value := range match {
					equal = equal && string(row.labels[model.LabelName(name)]) == value
				}
				if equal {
					want = append(want, i)
				}
			}
			got, failure := table.pick(match)
			switch {
			case len(want) == 0 && (failure == nil || failure.class != Empty),
				len(want) > 1 && (failure == nil || failure.class != Ambiguous),
				len(want) == 1 && (failure != nil || got != &table.rows[want[0]]):
				t.Fatalf("match %v over %v: %v, %v; want rows %v", match, table.rows, got, failure, want)
			}
		}
	})
}

func TestSampleAndAge(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e-9, math.MaxFloat64} {
		if s, failure := sample(now, value, 10); failure == nil || failure.class != Invalid {
			t.Errorf("%v times 10 became %v", value, s)
		}
	}
	if s, failure := sample(now, 0, 0); failure != nil || s.Value != 0 {
		t.Errorf("zero became %v, %v", s, failure)
	}
	for seconds, want := range map[float64]time.Time{
		1_699_999_990.25: time.Unix(1_699_999_990, 250_000_000), 1_700_000_500: now,
	} {
		if at, failure := measuredAt(seconds, now); failure != nil || !at.Equal(want) {
			t.Errorf("age %v = %v, %v; want %v", seconds, at, failure, want)
		}
	}
	for _, seconds := range []float64{0, -1, math.NaN(), math.Inf(1), 1e30} {
		if at, failure := measuredAt(seconds, now); failure == nil {
			t.Errorf("age %v was taken for %v", seconds, at)
		}
	}
}

// TestSlots has five points a slot: four of them are enough, three are not, and the last point of a slot is its own.
func TestSlots(t *testing.T) {
	from := time.Unix(1_700_000_100, 0).Truncate(5 * time.Minute)
	slots := newSlots(from, from.Add(15*time.Minute), 5*time.Minute)
	for minute := 1; minute <= 13; minute++ {
		if minute == 2 {
			continue
		}
		slots.add(scaler.Sample{At: from.Add(time.Duration(minute) * time.Minute), Value: float64(minute)})
	}
	got := slots.means()
	// (1+3+4+5)/4, (6+7+8+9+10)/5, and only 11, 12, 13.
	if got[0] != 3.25 || got[1] != 8 || !math.IsNaN(got[2]) {
		t.Errorf("means %v, want 3.25, 8, NaN", got)
	}
}

// FuzzAnswer lets any body pass as an answer: no panic, and only finite values that are not negative.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		vector(vectorRow("1", "a", "x")), vector(vectorRow("NaN")), vector(vectorRow("1"), vectorRow("2")),
		`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"],[2,"-3"]]}]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1"}]}]}}`,
		`{"status":"error"}`, `{`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r, err := newReader(Options{URL: "http://prometheus"}.withDefaults(), roundTripper(func(*http.Request) (*http.Response, error) {
			return reply(body), nil
		}), func() {})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1_700_000_000, 0)
		aged := query("b", "a", "x")
		aged.AgeExpr = "c"
		services := [][]config.Query{{query("a"), aged}}
		reports := 0
		check := func(_, _ int, samples []scaler.Sample, err error) {
			reports++
			if len(samples) == 0 && err == nil {
				return // a range without a valid point
			}
			for _, s := range samples {
				if !(s.Value >= 0) || math.IsInf(s.Value, 0) {
					t.Errorf("%q gave %v", body, s)
				}
			}
		}
		r.Read(t.Context(), now, services, check)
		r.Rewind(t.Context(), now.Add(-time.Minute), now, time.Second, services, check)
		if reports != 4 {
			t.Errorf("%d reports, want 4", reports)
		}
	})
}
