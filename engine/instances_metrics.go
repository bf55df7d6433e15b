package engine

import "github.com/prometheus/client_golang/prometheus"

// instancesCollector reports the part of this instance among several.
type instancesCollector struct{ engine *Engine }

var (
	descLeading   = prometheus.NewDesc("warmpool_instance_leading", "1 if this instance computes, 0 if it serves the board of another one or of none.", nil, nil)
	descFollowers = prometheus.NewDesc("warmpool_instance_followers", "Instances that follow the board of this one.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (instancesCollector) Describe(out chan<- *prometheus.Desc) {
	out <- descLeading
	out <- descFollowers
}

// Collect implements [prometheus.Collector].
func (c instancesCollector) Collect(out chan<- prometheus.Metric) {
	s, _ := c.engine.Instances()
	out <- prometheus.MustNewConstMetric(descLeading, prometheus.GaugeValue, oneIf(s.Leading))
	out <- prometheus.MustNewConstMetric(descFollowers, prometheus.GaugeValue, float64(s.Followers))
}
