package signals

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
	inFlight prometheus.Gauge
	warnings prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	return &metrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "warmpool_prometheus_requests_total",
			Help: "Requests sent to the metric store, retries included, by result: ok or the class of the failure.",
		}, []string{"result"}),
		seconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "warmpool_prometheus_request_duration_seconds",
			Help:    "Time of one request to the metric store.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10},
		}),
		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_prometheus_requests_in_flight",
			Help: "Requests to the metric store that have not been answered yet.",
		}),
		warnings: factory.NewCounter(prometheus.CounterOpts{
			Name: "warmpool_prometheus_warnings_total",
			Help: "Answers of the metric store that carried a warning, such as a partial response.",
		}),
	}
}
