package signals

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
)

// rangeStore answers range queries: row i has the value i, measured at every step. Requests for more than most points
// are refused as Prometheus does.
type rangeStore struct {
	services, most int
	requests       atomic.Int64
	refused        atomic.Int64
	longest        atomic.Int64
}

func (s *rangeStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	query := r.FormValue("query")
	s.longest.Store(max(s.longest.Load(), int64(len(query))))
	number := func(key string) int64 {
		v, err := strconv.ParseFloat(r.FormValue(key), 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		return int64(v)
	}
	start, end, step := number("start"), number("end"), number("step")
	rows := strings.Count(query, "vector(1)")
	if points := int((end-start)/step + 1); rows*points > s.most {
		s.refused.Add(1)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var b strings.Builder
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	first := true
	for i := range s.services {
		if !strings.Contains(query, fmt.Sprintf(`"m%d"`, i)) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(&b, `{"metric":{"model_name":"m%d"},"values":[`, i)
		for at := start; at <= end; at += step {
			value := strconv.Itoa(i)
			if strings.Contains(query, "timestamp") {
				value = strconv.FormatInt(at, 10)
			}
			if at > start {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `[%d,"%s"]`, at, value)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}}")
	_, _ = w.Write([]byte(b.String()))
}

func manyRates(n int) []config.Query {
	queries := make([]config.Query, n)
	for i := range queries {
		queries[i] = config.Query{
			Expr: "sum by (model_name) (rate(x[2m]))", AgeExpr: "max by (model_name) (timestamp(x))",
			Match: map[string]string{"model_name": fmt.Sprintf("m%d", i)}, Scale: 1,
		}
	}
	return queries
}

// TestHistories reads what many services share with few requests, and in smaller parts from a server that takes no
// large ones.
func TestHistories(t *testing.T) {
	const services, days = 60, 8
	slot := 5 * time.Minute
	to := time.Unix(1_800_000_000, 0).Truncate(24 * time.Hour)
	from := to.AddDate(0, 0, -days)
	for name, c := range map[string]struct{ most, requests, failed int }{
		// Two batches, two weeks, values and ages.
		"everything is allowed": {math.MaxInt, 2 * 2 * 2, 0},
		// A week of 50 services is half a million points; a day and a half of them is not.
		"large requests are refused": {120_000, 60, 0},
		"nothing is allowed":         {0, 2 * (mostRefusals + 1), services},
	} {
		t.Run(name, func(t *testing.T) {
			store := &rangeStore{services: services, most: c.most}
			server := httptest.NewServer(store)
			defer server.Close()
			r, err := NewReader(Options{URL: server.URL, Timeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			seen, failed := map[int]bool{}, 0
			r.Histories(t.Context(), manyRates(services), from, to, slot, func(q int, means []float64, err error) {
				if seen[q] {
					t.Errorf("query %d is reported twice", q)
				}
				seen[q] = true
				if err != nil {
					failed++
					return
				}
				if len(means) != days*288 {
					t.Fatalf("%d slots", len(means))
				}
				for i, m := range means {
					if m != float64(q) {
						t.Fatalf("query %d, slot %d: %v", q, i, m)
					}
				}
			})
			if len(seen) != services || failed != c.failed {
				t.Errorf("%d of %d reported, %d failed", len(seen), services, failed)
			}
			if n := int(store.requests.Load()); n > c.requests {
				t.Errorf("%d requests (%d refused), want at most %d", n, store.refused.Load(), c.requests)
			}
			if store.longest.Load() > 16<<10 {
				t.Errorf("a query of %d characters", store.longest.Load())
			}
		})
	}
}

// TestHistoriesOfOthers gives a service without rows an empty history, one with a mistake its own error, and groups only
// what can be in one answer.
func TestHistoriesOfOthers(t *testing.T) {
	store := &rangeStore{services: 2, most: math.MaxInt}
	server := httptest.NewServer(store)
	defer server.Close()
	r, err := NewReader(Options{URL: server.URL, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	queries := manyRates(3)
	queries = append(queries, queries[1])
	queries[3].Expr, queries[3].AgeExpr = "other", ""
	to := time.Unix(1_800_000_000, 0).Truncate(time.Hour)
	got := make([]string, len(queries))
	r.Histories(t.Context(), queries, to.Add(-10*time.Minute), to, 5*time.Minute, func(q int, means []float64, err error) {
		got[q] = fmt.Sprint(means, err)
	})
	for i, want := range []string{"[0 0] <nil>", "[1 1] <nil>", "[NaN NaN] <nil>", "[1 1] <nil>"} {
		if got[i] != want {
			t.Errorf("query %d: %s, want %s", i, got[i], want)
		}
	}
	if n := store.requests.Load(); n != 3 {
		t.Errorf("%d requests, want two for the shared expression and its ages and one for the other", n)
	}
	r.Histories(t.Context(), queries[:1], to.Add(time.Second), to, 5*time.Minute, func(_ int, _ []float64, err error) {
		if err == nil {
			t.Error("times that are not aligned were taken")
		}
	})
}
