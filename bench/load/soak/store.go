package soak

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MetricStore is a Prometheus as far as the vLLM preset asks for it: a number of models whose load goes up and down. It
// answers every aggregated expression with one row for each model.
type MetricStore struct {
	models int
	// load gives the running requests of a model at a time.
	mu   sync.RWMutex
	load func(model int, at time.Time) float64
}

// NewMetricStore makes a store of models named m0, m1 and so on, in namespaces of [Namespace].
func NewMetricStore(models int) *MetricStore { return &MetricStore{models: models, load: wave} }

// SetLoad gives every model the load of a function.
func (m *MetricStore) SetLoad(load func(model int, at time.Time) float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load = load
}

// wave has a period of ten minutes, each model at a phase of its own, so that replica targets change all the time.
func wave(model int, at time.Time) float64 {
	phase := float64(at.UnixMilli())/600e3 + float64(model)*0.618
	return math.Round(float64(5+model%60) * (1.1 + math.Sin(2*math.Pi*phase)))
}

// namespaces is how many there are.
const namespaces = 20

// Namespace is where a model is served.
func Namespace(model int) string { return "team-" + strconv.Itoa(model%namespaces) }

func (m *MetricStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	rows := m.rows(query)
	w.Header().Set("Content-Type", "application/json")
	m.mu.RLock()
	load := m.load
	m.mu.RUnlock()
	value := func(model int, at time.Time) float64 { return valueOf(query, load(model, at), at) }
	var body []byte
	if strings.HasSuffix(r.URL.Path, "/query_range") {
		body = matrix(rows, secondsOf(r.FormValue("start")), secondsOf(r.FormValue("end")), stepOf(r.FormValue("step")), value)
	} else {
		body = vector(rows, secondsOf(r.FormValue("time")), value)
	}
	_, _ = w.Write(body)
}

var named = regexp.MustCompile(`"model_name", "\\?"?m(\d+)`)

// rows are the models that an expression asks for: none where it is not about models, all of them, or those it names.
func (m *MetricStore) rows(query string) []int {
	if !strings.Contains(query, "by (namespace, model_name)") {
		return nil
	}
	var rows []int
	for _, match := range named.FindAllStringSubmatch(query, -1) {
		if model, err := strconv.Atoi(match[1]); err == nil && model < m.models {
			rows = append(rows, model)
		}
	}
	if rows == nil {
		for model := range m.models {
			rows = append(rows, model)
		}
	}
	return rows
}

// valueOf is what an expression gives at a load.
func valueOf(query string, load float64, at time.Time) float64 {
	switch {
	case strings.Contains(query, "timestamp("):
		return float64(at.UnixMilli()) / 1000
	case strings.Contains(query, "rate("):
		if strings.Contains(query, "_seconds_sum") {
			return 2.5 // of one request
		}
		return load / 2.5
	case strings.Contains(query, "DCGM"):
		return math.Min(100, 20+load)
	case strings.Contains(query, "cache_usage"):
		return math.Min(0.95, load/100)
	case strings.Contains(query, "waiting"):
		return math.Max(0, load-60)
	}
	return load
}

func secondsOf(text string) time.Time {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Now()
	}
	return time.UnixMilli(int64(seconds * 1000))
}

func stepOf(text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		seconds = 60
	}
	return max(time.Second, time.Duration(seconds*float64(time.Second)))
}

const (
	opened = `{"status":"success","data":{"resultType":"`
	closed = `]}}`
)

func vector(rows []int, at time.Time, value func(int, time.Time) float64) []byte {
	body := append(make([]byte, 0, 100+100*len(rows)), opened+`vector","result":[`...)
	for i, model := range rows {
		body = append(labels(body, i, model), `"value":`...)
		body = append(point(body, at, value(model, at)), '}')
	}
	return append(body, closed...)
}

func matrix(rows []int, from, to time.Time, step time.Duration, value func(int, time.Time) float64) []byte {
	body := append(make([]byte, 0, 1<<20), opened+`matrix","result":[`...)
	for i, model := range rows {
		body = append(labels(body, i, model), `"values":[`...)
		for at := from; !at.After(to); at = at.Add(step) {
			if !at.Equal(from) {
				body = append(body, ',')
			}
			body = point(body, at, value(model, at))
		}
		body = append(body, "]}"...)
	}
	return append(body, closed...)
}

func labels(body []byte, i, model int) []byte {
	if i > 0 {
		body = append(body, ',')
	}
	body = append(append(body, `{"metric":{"namespace":"`...), Namespace(model)...)
	return append(strconv.AppendInt(append(body, `","model_name":"m`...), int64(model), 10), `"},`...)
}

func point(body []byte, at time.Time, value float64) []byte {
	body = strconv.AppendFloat(append(body, '['), float64(at.UnixMilli())/1000, 'f', 3, 64)
	return append(strconv.AppendFloat(append(body, `,"`...), value, 'f', -1, 64), `"]`...)
}
