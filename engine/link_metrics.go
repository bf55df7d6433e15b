package engine

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/link"
)

// linkCollector tells what services run on, as their last evaluations found it.
type linkCollector struct{ engine *Engine }

var (
	descCapacity = serviceDesc("warmpool_capacity_replicas",
		"Replicas that have a node, by capacity type: reserved, on-demand, spot or unknown; absent without a view of the nodes.", "capacity_type")
	descWaiting = serviceDesc("warmpool_waiting_replicas", "Replicas that wait for a node, by state: ordered, late (longer than the pool usually takes) or not-ordered.", "state")
	descDoomed  = serviceDesc("warmpool_doomed_replicas", "Replicas whose machine was given notice of its end.")
	descReplace = serviceDesc("warmpool_replacing_replicas", "What the target has on top for replicas that were given notice or whose node is late.")
	descSupply  = serviceDesc("warmpool_supply_exhausted", "1 while no pool of the service's workload can deliver, else 0.")
	descCost    = serviceDesc("warmpool_cost_dollars_per_hour", "Price of the nodes under the replicas of a service; those without a known price are left out.")
	descBoots   = prometheus.NewDesc("warmpool_group_boot_seconds", "Time within which 90 % of the recorded boots of a node group ended; absent until five are recorded.", []string{"group"}, nil)
)

// Describe implements [prometheus.Collector].
func (linkCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descCapacity, descWaiting, descDoomed, descReplace, descSupply, descCost, descBoots} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c linkCollector) Collect(out chan<- prometheus.Metric) {
	services := c.engine.services.list()
	l := &c.engine.links
	l.mu.Lock()
	defer l.mu.Unlock()
	for group := range l.boots {
		if usual, ok := l.boots.Quantile(group, 0.9); ok {
			out <- prometheus.MustNewConstMetric(descBoots, prometheus.GaugeValue, usual.Seconds(), group)
		}
	}
	for _, s := range services {
		if one := l.byID[s.id]; one != nil && l.crossing != nil && !one.at.IsZero() && s.trigger != nil {
			labels := []string{namespaceOf(s.id), s.trigger.ScaledObject, serviceName(s.id), s.id}
			gauge := func(d *prometheus.Desc, v float64, more ...string) {
				out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append(slices.Clip(labels), more...)...)
			}
			if line := s.entry.Load(); line != nil {
				gauge(descReplace, float64(line.decision.Replacing))
			}
			one.collect(gauge, account{crossing: l.crossing, workload: one.workload})
		}
	}
}

func (o *linked) collect(gauge func(*prometheus.Desc, float64, ...string), a account) {
	counts := map[link.Capacity]int{link.Reserved: 0, link.OnDemand: 0, link.Spot: 0, link.Unknown: 0}
	for i := range o.target.Replicas {
		if r := &o.target.Replicas[i]; r.Node != "" {
			counts[r.Capacity]++
		}
	}
	for capacity, n := range counts {
		name := string(capacity)
		if capacity == link.Unknown {
			name = "unknown"
		}
		gauge(descCapacity, float64(n), name)
	}
	late, ordered := map[uint64]bool{}, 0
	for _, l := range o.late {
		late[l.Attempt] = true
	}
	overdue := 0
	for _, w := range o.waiting {
		switch {
		case w.Attempt == 0:
		case late[w.Attempt]:
			overdue++
		default:
			ordered++
		}
	}
	gauge(descWaiting, float64(ordered), "ordered")
	gauge(descWaiting, float64(overdue), "late")
	gauge(descWaiting, float64(len(o.waiting)-ordered-overdue), "not-ordered")
	gauge(descDoomed, float64(link.Watch(o.target.Replicas).Replicas))
	gauge(descSupply, oneIf(o.supply.None))
	var account link.Ledger
	account.Hold(o.target.Replicas, a.price)
	gauge(descCost, account.HourlyCost)
}
