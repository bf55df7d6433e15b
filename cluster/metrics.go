package cluster

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	starts *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, c *Cluster) *metrics {
	m := &metrics{starts: promauto.With(registerer).NewHistogramVec(prometheus.HistogramOpts{
		Name:    "warmpool_unit_start_seconds",
		Help:    "Time from the creation of a scale unit until it was ready, by scale target, GPU model and path: cold ones had to wait for a new node.",
		Buckets: []float64{5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 3600},
	}, []string{"namespace", "target", "gpu", "path"})}
	if registerer != nil {
		registerer.MustRegister(collector{c})
	}
	return m
}

func (m *metrics) started(namespace, target string, s Start) {
	path := "warm"
	if s.Cold {
		path = "cold"
	}
	m.starts.WithLabelValues(namespace, target, s.GPU, path).Observe(s.Took.Seconds())
}

// collector turns the view into metrics when it is asked.
type collector struct{ cluster *Cluster }

var (
	descAge = prometheus.NewDesc("warmpool_cluster_view_age_seconds",
		"Age of the view of the cluster; 0 while the connection stands.", nil, nil)
	descSource = prometheus.NewDesc("warmpool_cluster_source_up",
		"1 if a part of the cluster can be read, by part.", []string{"source"}, nil)
	descStatus = prometheus.NewDesc("warmpool_cluster_autoscaler_status_timestamp_seconds",
		"When the Cluster Autoscaler last wrote its status; absent without one.", nil, nil)
	descNodes = prometheus.NewDesc("warmpool_cluster_group_nodes",
		"Nodes of a node group, by state: nodes, ready, registered, target, max; unknown ones are absent.", []string{"group", "state"}, nil)
	descGPUs = prometheus.NewDesc("warmpool_cluster_group_accelerators",
		"Accelerators of the nodes of a group, by state: offered, held.", []string{"group", "state"}, nil)
	descReclaims = prometheus.NewDesc("warmpool_cluster_group_reclaims",
		"Spot nodes of a group that the provider took back within a day.", []string{"group"}, nil)
	descPending = prometheus.NewDesc("warmpool_pending_gpu_pods",
		"Pods that the scheduler finds no node with a GPU for.", nil, nil)
	descPendingAge = prometheus.NewDesc("warmpool_pending_gpu_pods_oldest_seconds",
		"How long the first of them has waited; 0 without any.", nil, nil)
	descCall = prometheus.NewDesc("warmpool_expander_last_call_timestamp_seconds",
		"Newest request of the Cluster Autoscaler that any instance answered; absent if none is known.", nil, nil)
	descCosts = prometheus.NewDesc("warmpool_pod_deletion_cost_writes_total",
		"Deletion costs written on pods so that fall-back nodes empty first, by result: ok, error.", []string{"result"}, nil)
	descStall = prometheus.NewDesc("warmpool_expander_stalled",
		"1 if pods wait for a GPU and nothing happens, by reason: upcoming-nodes, no-option, autoscaler-silent, no-call.", []string{"reason"}, nil)
)

// Describe implements [prometheus.Collector].
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descAge, descSource, descStatus, descNodes, descGPUs, descReclaims, descPending, descPendingAge, descCall, descStall, descCosts} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (m collector) Collect(out chan<- prometheus.Metric) {
	c, now := m.cluster, time.Now()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(descAge, c.Age(now).Seconds())
	for _, s := range c.sources {
		gauge(descSource, one(s.readable() && s.lost().IsZero()), s.name)
	}
	if c.options.WriteCosts {
		written, failed := c.CostWrites()
		out <- prometheus.MustNewConstMetric(descCosts, prometheus.CounterValue, float64(written), "ok")
		out <- prometheus.MustNewConstMetric(descCosts, prometheus.CounterValue, float64(failed), "error")
	}
	s := c.current.Load()
	if !s.statusAt.IsZero() {
		gauge(descStatus, seconds(s.statusAt))
	}
	for id := range s.view.Groups {
		g := s.view.Groups[id]
		for _, count := range []struct {
			state string
			n     int
		}{{"nodes", g.Nodes}, {"ready", g.ReadyNodes}, {"registered", g.Registered}, {"target", g.Target}, {"max", g.Max}} {
			if count.n >= 0 {
				gauge(descNodes, float64(count.n), id, count.state)
			}
		}
	}
	for id, a := range s.accelerators {
		gauge(descGPUs, float64(a.offered), id, "offered")
		gauge(descGPUs, float64(a.held), id, "held")
	}
	for id, n := range c.reclaims.lostBy() {
		gauge(descReclaims, float64(n), id)
	}
	m.collectStalls(gauge, now)
}

func (m collector) collectStalls(gauge func(*prometheus.Desc, float64, ...string), now time.Time) {
	if !m.cluster.options.WatchStalls {
		return
	}
	f := m.cluster.Stalls()
	gauge(descPending, float64(f.Pods))
	waited := 0.0
	if !f.PendingSince.IsZero() {
		waited = now.Sub(f.PendingSince).Seconds()
	}
	gauge(descPendingAge, waited)
	if !f.LastCall.IsZero() {
		gauge(descCall, seconds(f.LastCall))
	}
	for _, reason := range allStalls {
		gauge(descStall, one(f.Stall == reason), string(reason))
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
