package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// demand is the number of running requests of every service, and so the right target.
const demand = 5

// serveMetrics answers queries as a metric store would whose values never change.
func serveMetrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.FormValue("query")
	if !strings.HasSuffix(r.URL.Path, "/query_range") {
		now := seconds(time.Now())
		writeResult(w, "vector", func(string) any { return []any{now, valueOf(query, now)} }, "value")
		return
	}
	from, _ := strconv.ParseFloat(r.FormValue("start"), 64)
	to, _ := strconv.ParseFloat(r.FormValue("end"), 64)
	step, err := strconv.ParseFloat(r.FormValue("step"), 64)
	if err != nil || step <= 0 {
		http.Error(w, "no step", http.StatusBadRequest)
		return
	}
	var values []any
	for at := from; at <= to; at += step {
		values = append(values, []any{at, valueOf(query, at)})
	}
	writeResult(w, "matrix", func(string) any { return values }, "values")
}

func valueOf(query string, at float64) string {
	switch {
	case strings.Contains(query, "timestamp("):
		return fmt.Sprint(at)
	case strings.Contains(query, "running|swapped"), strings.Contains(query, "request_success_total"):
		return strconv.Itoa(demand)
	case strings.Contains(query, "inference_time"):
		return "1"
	}
	return "0"
}

func writeResult(w http.ResponseWriter, kind string, of func(model string) any, key string) {
	rows := make([]map[string]any, 0, len(services))
	for _, name := range services {
		rows = append(rows, map[string]any{"metric": map[string]string{"namespace": "ml", "model_name": name}, key: of(name)})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": rows}})
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
