package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// metrics are all metrics of the engine. Those of single services are collected from the board, see boardCollector.
type metrics struct {
	ticks       *prometheus.HistogramVec
	skipped     prometheus.Counter
	evaluations *prometheus.CounterVec
	// answered and unavailable are its usual outcomes, looked up once.
	answered, unavailable prometheus.Counter
	signalErrors          *prometheus.CounterVec
	saves                 *prometheus.CounterVec
	backfills             *prometheus.CounterVec

	decided  *prometheus.CounterVec
	stages   *prometheus.CounterVec
	duration prometheus.Histogram
	failOpen *prometheus.CounterVec

	reloadOK   prometheus.Gauge
	reloadTime prometheus.Gauge
	reloads    *prometheus.CounterVec
	info       *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer, e *Engine) *metrics {
	f := promauto.With(registerer)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		ticks: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "warmpool_tick_duration_seconds",
			Help:    "Time of one round over the services: evaluation of all, activation of those at zero, or a notice of those on machines that end.",
			Buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2, 5, 10, 15, 30},
		}, []string{"kind"}),
		skipped: f.NewCounter(prometheus.CounterOpts{
			Name: "warmpool_ticks_skipped_total", Help: "Evaluations left out because the one before was still running.",
		}),
		evaluations: counter("warmpool_evaluations_total",
			"Evaluations of services by outcome: answered, unavailable, or panic (a fault; the last answer, or the answer without forecast or pods, stands).", "outcome"),
		signalErrors: counter("warmpool_signal_errors_total",
			"Readings that were not valid, by signal and class of the failure.", "signal", "class"),
		saves: counter("warmpool_saves_total",
			"Attempts to store what was learnt, by what (history, state) and result (ok, error).", "what", "result"),
		backfills: counter("warmpool_forecast_backfills_total",
			"Attempts to read the history of a forecast from the metric store, by result (ok, error).", "result"),
		decided: counter("warmpool_expander_decisions_total",
			"Choices of a node group by outcome (selected, passthrough, veto) and mode.", "outcome", "mode"),
		stages: counter("warmpool_expander_stage_total",
			"Stages used by the workloads of decided requests; 0 means that no stage had an option.", "workload", "stage"),
		duration: f.NewHistogram(prometheus.HistogramOpts{
			Name: "warmpool_expander_duration_seconds", Help: "Time of one choice of a node group, waiting for its turn not included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		failOpen: counter("warmpool_expander_fail_open_total",
			"Requests that kept every option because of a fault of warmpool, by cause: busy, panic, self-check.", "cause"),
		reloadOK: f.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_config_last_reload_successful", Help: "1 if the last configuration could be loaded, else 0.",
		}),
		reloadTime: f.NewGauge(prometheus.GaugeOpts{
			Name: "warmpool_config_last_reload_success_timestamp_seconds", Help: "When the configuration in force was loaded.",
		}),
		reloads: counter("warmpool_config_reloads_total", "Attempts to load the configuration by result (ok, error).", "result"),
		info: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "warmpool_config_info", Help: "1 for the hash of the configuration in force; equal on every instance.",
		}, []string{"hash"}),
	}
	// Series that alerts look at exist from the start: a rate over a series that appears with its first increase is 0.
	for _, cause := range []string{causeBusy, causePanic, causeCheck} {
		m.failOpen.WithLabelValues(cause)
	}
	m.answered, m.unavailable = m.evaluations.WithLabelValues("answered"), m.evaluations.WithLabelValues("unavailable")
	m.evaluations.WithLabelValues("panic")
	if registerer != nil {
		registerer.MustRegister(boardCollector{e})
		registerer.MustRegister(linkCollector{e})
	}
	return m
}

func (m *metrics) chose(d *expander.Decision, took time.Duration) {
	m.duration.Observe(took.Seconds())
	m.decided.WithLabelValues(string(d.Outcome), string(d.Mode)).Inc()
	for _, w := range d.Workloads {
		m.stages.WithLabelValues(w.Name, strconv.Itoa(w.Stage)).Inc()
	}
}

func (m *metrics) saved(what string, err error) { m.saves.WithLabelValues(what, result(err)).Inc() }

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

func (m *metrics) loaded(c *config.Config) {
	m.reloadOK.Set(1)
	m.reloadTime.SetToCurrentTime()
	m.reloads.WithLabelValues("ok").Inc()
	m.info.Reset()
	m.info.WithLabelValues(c.Hash).Set(1)
}

func (m *metrics) reloadFailed() {
	m.reloadOK.Set(0)
	m.reloads.WithLabelValues("error").Inc()
}

// boardCollector turns the board into metrics when it is asked, so that series of forgotten services end.
type boardCollector struct{ engine *Engine }

var serviceLabels = []string{"namespace", "scaled_object", "service", "id"}

func serviceDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(slices.Clip(serviceLabels), more...), nil)
}

var (
	descServices  = prometheus.NewDesc("warmpool_services", "Services on the board, by origin: config or trigger.", []string{"origin"}, nil)
	descBoardAge  = prometheus.NewDesc("warmpool_board_age_seconds", "Time since the instant of the last whole evaluation; absent before the first.", nil, nil)
	descTarget    = prometheus.NewDesc("warmpool_target_replicas", "Replica target as answered; absent while there is no answer.", serviceLabels, nil)
	descReady     = prometheus.NewDesc("warmpool_ready_replicas", "Ready replicas as the last evaluation knew them.", serviceLabels, nil)
	descAvailable = prometheus.NewDesc("warmpool_target_available", "1 if there is an answer for the service, else 0.", serviceLabels, nil)

	descStarting = serviceDesc("warmpool_starting_replicas", "Replicas that are starting, stuck ones included, as the last evaluation knew them.")
	descStuck    = serviceDesc("warmpool_stuck_replicas", "Starting replicas that are older than 99 % of the recorded starts.")
	descHeld     = serviceDesc("warmpool_target_held_by_tolerance", "1 while the autoscaler does not follow the target because the change is within its tolerance, else 0.")
	descLead     = serviceDesc("warmpool_lead_seconds", "How long before its need a replica is ordered.", "source")
	descStartup  = serviceDesc("warmpool_startup_seconds", "Time within which 90 % of the recorded starts ended; absent until five are recorded.")
	descSignals  = serviceDesc("warmpool_signals_unusable", "Signals of a service that vote with an old value (stale) or not at all (missing).", "state")
	descForecast = serviceDesc("warmpool_forecast_replicas", "Replicas that the forecast orders, used or not; absent without a forecast.")
	descUsed     = serviceDesc("warmpool_forecast_used", "1 while the forecast votes, 0 while it is only recorded; absent without a forecast.")
	descSlots    = serviceDesc("warmpool_forecast_slots_total", "Five-minute slots whose arrivals were compared with the bound forecast one lead before.")
	descWithin   = serviceDesc("warmpool_forecast_slots_within_bound_total", "Compared slots whose arrivals stayed within the 0.9 bound; nine of ten should.")
	descPrewarms = serviceDesc("warmpool_prewarms", "Prewarms of the last 24 hours by outcome: open, hit, late (the load came before the replicas), miss.", "outcome")
	descHeldBack = prometheus.NewDesc("warmpool_expander_groups_held_back",
		"Node groups that are held back because they recently failed to grow, by pool and capacity type; absent while none is.", []string{"pool", "capacity_type"}, nil)
)

// Describe implements [prometheus.Collector].
func (boardCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descServices, descBoardAge, descTarget, descReady, descAvailable,
		descStarting, descStuck, descHeld, descLead, descStartup, descSignals, descForecast, descUsed, descSlots, descWithin, descPrewarms,
		descHeldBack,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c boardCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if last := c.engine.lastTick.Load(); last != 0 {
		gauge(descBoardAge, c.engine.clock().Sub(time.Unix(0, last)).Seconds())
	}
	origins := map[string]int{"config": 0, "trigger": 0}
	rest := c.engine.slices()
	for _, s := range c.engine.services.list() {
		origin, object := "config", ""
		if s.trigger != nil {
			origin, object = "trigger", s.trigger.ScaledObject
		}
		origins[origin]++
		line := s.entry.Load()
		if line == nil {
			continue
		}
		d := &line.decision
		labels := []string{namespaceOf(s.id), object, serviceName(s.id), s.id}
		available := 0.0
		if d.Unavailable == "" && !line.expired(c.engine.clock()) {
			available = 1
			gauge(descTarget, float64(d.Replicas), labels...)
			gauge(descReady, float64(d.Ready), labels...)
		}
		gauge(descAvailable, available, labels...)
		line.collect(out, labels)
		rest()
	}
	for k, n := range c.engine.placement.heldBack.count(c.engine.clock()) {
		gauge(descHeldBack, float64(n), k.pool, string(k.capacity))
	}
	for origin, n := range origins {
		gauge(descServices, float64(n), origin)
	}
}

// collect reports what the last evaluation of a service found.
func (l *entry) collect(out chan<- prometheus.Metric, labels []string) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, more ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, v, append(slices.Clip(labels), more...)...)
	}
	gauge := func(desc *prometheus.Desc, v float64, more ...string) { send(desc, prometheus.GaugeValue, v, more...) }
	d := &l.decision
	gauge(descStarting, float64(d.Starting))
	gauge(descStuck, float64(d.Stuck))
	gauge(descHeld, oneIf(d.HeldByTolerance))
	gauge(descLead, d.Lead.Seconds, d.Lead.Source)
	if d.Lead.StartSeconds > 0 {
		gauge(descStartup, d.Lead.StartSeconds)
	}
	gauge(descSignals, float64(len(d.Stale)), "stale")
	gauge(descSignals, float64(len(d.Missing)), "missing")
	if f := d.Forecast; f != nil {
		gauge(descForecast, float64(f.Replicas))
		gauge(descUsed, oneIf(f.Used))
	}
	if c := l.coverage; c != nil {
		within := c.within.Load() // read first, so that it never exceeds the other
		send(descSlots, prometheus.CounterValue, float64(c.slots.Load()))
		send(descWithin, prometheus.CounterValue, float64(within))
	}
	if p := d.Prewarm; p != nil {
		gauge(descPrewarms, float64(p.Open), "open")
		gauge(descPrewarms, float64(p.Hits), scaler.PrewarmHit)
		gauge(descPrewarms, float64(p.Late), scaler.PrewarmLate)
		gauge(descPrewarms, float64(p.Misses), scaler.PrewarmMiss)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
