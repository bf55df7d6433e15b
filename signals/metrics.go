package signals

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
	inFlight prometheus.Gauge
	warnings prometheus.Counter
	skew     prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		requests: register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "warmpool_prometheus_requests_total",
			Help: "Requests sent to the metric store, retries included, by result: ok or the class of the failure.",
		}, []string{"result"})),
		seconds: register(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "warmpool_prometheus_request_duration_seconds",
			Help:    "Time of one request to the metric store.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10},
		})),
		inFlight: register(r, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_prometheus_requests_in_flight",
			Help: "Requests to the metric store that have not been answered yet.",
		})),
		warnings: register(r, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warmpool_prometheus_warnings_total",
			Help: "Answers of the metric store that carried a warning, such as a partial response.",
		})),
		skew: register(r, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_prometheus_clock_skew_seconds",
			Help: "How far the own clock was ahead of the metric store's at the last answer, negative when it was behind; beyond two minutes nothing that it answers is used.",
		})),
	}
}

// register lets a reader that replaces another, after a change of the configuration, go on with its metrics.
func register[C prometheus.Collector](r prometheus.Registerer, collector C) C {
	if r == nil {
		return collector
	}
	err := r.Register(collector)
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := known.ExistingCollector.(C); ok {
			return same
		}
	}
	if err != nil {
		panic(err) // two metrics of one name in one program
	}
	return collector
}
