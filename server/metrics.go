package server

import (
	"math"
	"strings"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/grpc/codes"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// metrics of the edge. Labels take configured names and codes only, never what an unauthenticated peer sends.
type metrics struct {
	calls        *grpcprom.ServerMetrics
	rejected     *prometheus.CounterVec
	failed       *prometheus.CounterVec
	requestBytes prometheus.Histogram
	answerAge    prometheus.Histogram
	noAnswer     prometheus.Counter
	streams      prometheus.Gauge
	panics       prometheus.Counter
	refused      *prometheus.CounterVec
}

func newMetrics(r *prometheus.Registry) *metrics {
	with := promauto.With(r)
	m := &metrics{
		calls: grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(
			grpcprom.WithHistogramBuckets([]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}))),
		rejected: with.NewCounterVec(prometheus.CounterOpts{
			Name: "warmpool_expander_rejected_options_total", Help: "Options that were rejected, by reason code.",
		}, []string{"reason"}),
		failed: with.NewCounterVec(prometheus.CounterOpts{
			Name: "warmpool_expander_calls_failed_total",
			Help: "Calls that ended with an error, after which the Cluster Autoscaler keeps every option, by status code.",
		}, []string{"code"}),
		requestBytes: with.NewHistogram(prometheus.HistogramOpts{
			Name: "warmpool_expander_request_bytes", Help: "Size of expander requests.",
			Buckets: prometheus.ExponentialBuckets(16<<10, 4, 8),
		}),
		answerAge: with.NewHistogram(prometheus.HistogramOpts{
			Name: "warmpool_scaler_answer_age_seconds", Help: "Age of the board entry in answers to KEDA.",
			Buckets: []float64{1, 2.5, 5, 10, 15, 20, 30, 60, 90, 120, 300, 900},
		}),
		noAnswer: with.NewCounter(prometheus.CounterOpts{
			Name: "warmpool_scaler_unavailable_total", Help: "Calls of KEDA that got Unavailable because no valid data was there.",
		}),
		streams: with.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_scaler_push_streams", Help: "Open StreamIsActive calls.",
		}),
		panics: with.NewCounter(prometheus.CounterOpts{
			Name: "warmpool_server_panics_total", Help: "Panics in handlers; each call failed and the process lived.",
		}),
		refused: with.NewCounterVec(prometheus.CounterOpts{
			Name: "warmpool_server_refused_total",
			Help: "Connections and calls that were refused before they were read, by listener and limit; those that begin with client are of one address.",
		}, []string{"listener", "limit"}),
	}
	// Series that alerts look at exist from the start: a rate over a series that appears with its first increase is 0.
	for _, code := range []codes.Code{codes.InvalidArgument, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Canceled, codes.Internal} {
		m.failed.WithLabelValues(code.String())
	}
	r.MustRegister(m.calls)
	return m
}

func (m *metrics) chose(d expander.Decision) {
	for _, c := range d.Candidates {
		// The code alone: what follows the colon names a workload or a stage.
		if code, _, _ := strings.Cut(c.Rejected, ":"); code != "" {
			m.rejected.WithLabelValues(code).Inc()
		}
	}
}

func (m *metrics) answered(d *scaler.Decision) {
	if d.Unavailable != "" {
		m.noAnswer.Inc()
		return
	}
	m.answerAge.Observe(time.Since(d.Time).Seconds())
}

func (m *metrics) streamOpened() (closed func()) {
	m.streams.Inc()
	return m.streams.Dec
}

// logCollector reports the counters of the decision log.
type logCollector struct{ log *decisions.Log }

var (
	descRecorded = prometheus.NewDesc("warmpool_decisions_recorded_total", "Decisions recorded.", nil, nil)
	descLost     = prometheus.NewDesc("warmpool_decisions_lost_total", "Decisions that did not reach a reader, by reader.", []string{"reader"}, nil)
	descFile     = prometheus.NewDesc("warmpool_decisions_file_errors_total", "Failures of the decision log file.", nil, nil)
	descSaved    = prometheus.NewDesc("warmpool_expander_cost_difference_dollars_per_hour",
		"Sum over the recorded choices of their hourly cost minus that of least-waste, of the last 62 days; negative is cheaper.", nil, nil)
)

func (logCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descRecorded, descLost, descFile, descSaved} {
		ch <- d
	}
}

func (c logCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.log.Stats()
	ch <- prometheus.MustNewConstMetric(descRecorded, prometheus.CounterValue, float64(s.Recorded))
	ch <- prometheus.MustNewConstMetric(descLost, prometheus.CounterValue, float64(s.WatchersLost), "watcher")
	ch <- prometheus.MustNewConstMetric(descLost, prometheus.CounterValue, float64(s.FileLost), "file")
	ch <- prometheus.MustNewConstMetric(descFile, prometheus.CounterValue, float64(s.FileErrors))
	if d := c.log.Comparison().Sum().Difference(); !math.IsNaN(d) {
		ch <- prometheus.MustNewConstMetric(descSaved, prometheus.GaugeValue, d)
	}
}
