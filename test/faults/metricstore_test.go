package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metricStore answers queries as a Prometheus would that scrapes two services every 15 s, and that looks back five
// minutes for the newest sample. It is wrong in the ways that are switched on.
type metricStore struct {
	now    func() time.Time // the true time
	demand func(model string, at time.Time) float64

	mu sync.Mutex
	// status, if not 0, is all that is answered.
	status int
	// odd answers every query with a body of another kind.
	odd bool
	// ahead is added to the time stamps of the samples.
	ahead time.Duration
	// gone are the models whose series are not there.
	gone map[string]bool
	// since is when the oldest sample was taken.
	since time.Time

	asked int
}

const (
	scrapeInterval = 15 * time.Second
	lookBack       = 5 * time.Minute
)

var models = []string{"m", "q"}

func (m *metricStore) set(change func(*metricStore)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *metricStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", m.now().UTC().Format(http.TimeFormat))
	switch {
	case m.status != 0:
		http.Error(w, "the metric store is told to fail", m.status)
	case m.odd:
		fmt.Fprint(w, oddAnswers[m.asked%len(oddAnswers)])
	case strings.HasSuffix(r.URL.Path, "/query_range"):
		m.answerRange(w, r)
	default:
		var rows []map[string]any
		at := timeOf(r.FormValue("time"))
		for _, model := range models {
			if value, ok := m.value(r.FormValue("query"), model, at); ok {
				rows = append(rows, map[string]any{"metric": labelsOf(model), "value": []any{secondsOf(at), value}})
			}
		}
		writeResult(w, "vector", rows)
	}
}

// oddAnswers have a wrong type, a wrong shape, or numbers that are none.
var oddAnswers = []string{
	`{"status":"success","data":{"resultType":"string","result":[1,"12"]}}`,
	`{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}`,
	`{"status":"success","data":{"resultType":"vector","result":{"metric":{},"value":[1,"0"]}}}`,
	`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"namespace":"ml","model_name":"m"},"value":[1,"NaN"]},{"metric":{"namespace":"ml","model_name":"q"},"value":[1,"-Inf"]}]}}`,
	`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"namespace":"ml","model_name":"m"},"value":[1,"-3"]},{"metric":{"namespace":"ml","model_name":"q"},"value":[1,-3]}]}}`,
	`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"namespace":"ml","model_name":"m"},"values":[[1,"0"]]}]}}`,
	`{"status":"success","data":[]}`,
	`<html><body>Sign in</body></html>`,
	`null`,
	``,
}

func (m *metricStore) answerRange(w http.ResponseWriter, r *http.Request) {
	from, to := timeOf(r.FormValue("start")), timeOf(r.FormValue("end"))
	step, err := strconv.ParseFloat(r.FormValue("step"), 64)
	if err != nil || step <= 0 {
		http.Error(w, "no step", http.StatusBadRequest)
		return
	}
	var rows []map[string]any
	for _, model := range models {
		var values []any
		for at := from; !at.After(to); at = at.Add(time.Duration(step * float64(time.Second))) {
			if value, ok := m.value(r.FormValue("query"), model, at); ok {
				values = append(values, []any{secondsOf(at), value})
			}
		}
		if len(values) > 0 {
			rows = append(rows, map[string]any{"metric": labelsOf(model), "values": values})
		}
	}
	writeResult(w, "matrix", rows)
}

// value is what a query for a model gives as of a time, if there is a sample.
func (m *metricStore) value(query, model string, at time.Time) (string, bool) {
	sample := at.Truncate(scrapeInterval)
	if newest := m.now().Truncate(scrapeInterval); sample.After(newest) {
		sample = newest
	}
	if m.gone[model] || at.Sub(sample) > lookBack || sample.Before(m.since) {
		return "", false
	}
	demand := m.demand(model, sample)
	switch {
	case strings.Contains(query, "timestamp("):
		return fmt.Sprint(secondsOf(sample.Add(m.ahead))), true
	case strings.Contains(query, "request_success_total"): // arrivals: requests take a second
		return fmt.Sprint(demand), true
	case strings.Contains(query, "inference_time"):
		return "1", true
	case strings.Contains(query, "running|swapped"):
		return fmt.Sprint(demand), true
	}
	return "0", true
}

func labelsOf(model string) map[string]string {
	return map[string]string{"namespace": "ml", "model_name": model}
}

func writeResult(w http.ResponseWriter, kind string, rows []map[string]any) {
	if rows == nil {
		rows = []map[string]any{}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": rows}})
}

func timeOf(text string) time.Time {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(seconds * 1000))
}

func secondsOf(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
