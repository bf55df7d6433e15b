package demo

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// tally counts what the summary tells.
type tally struct {
	polls, asked, failures int
	prewarms               int
	chosen                 map[string]int
	// fallbacks are choices past the first stage, refused requests that were vetoed.
	fallbacks, refused         int
	stockOuts, reclaims, nodes int
}

func (t *tally) event(e sim.Event) {
	switch e.Kind {
	case sim.NodeFailed:
		t.stockOuts++
	case sim.NodeReclaimed:
		t.reclaims++
	case sim.NodeReady:
		t.nodes++
	}
}

func (t *tally) choice(d *expander.Decision) {
	if t.chosen == nil {
		t.chosen = map[string]int{}
	}
	if d.Outcome == expander.Veto {
		t.refused++
	}
	for _, id := range d.Selected {
		t.chosen[id]++
	}
	for _, w := range d.Workloads {
		if w.Served && w.Stage > 2 {
			t.fallbacks++
		}
	}
}

func machineOf(id string) machine {
	return machines[slices.IndexFunc(machines, func(m machine) bool { return m.id == id })]
}

// decision is the newest replica target of the service.
func (d *driver) decision() *scaler.Decision {
	records := d.log.List(decisions.Filter{Kind: decisions.KindScaler, Limit: 1})
	if len(records) == 0 {
		return nil
	}
	return records[0].Scaler
}

func (d *driver) opening() {
	n := d.narrator
	n.printf("%s\n", n.paint(bold, "warmpool demo: one day of traffic on a virtual GPU cluster."))
	n.printf("Cluster and traffic are simulated; the server is the real one, asked over TLS as the Cluster Autoscaler and KEDA ask it.\n\n")
	n.printf("  gRPC     %s   (expander and external scaler)\n", d.server.Addr("expander"))
	n.printf("  page     http://%s/\n", d.server.Addr("admin"))
	n.printf("  metrics  http://%s/metrics\n", d.server.Addr("admin"))
	n.printf("  pace     1 real second is %.0f virtual minutes\n\n", d.options.Speed/60)
	n.printf("  %s serves %d to %d replicas, one GPU each. Its node groups, in order of preference:\n", n.paint(bold, service), smallest, largest)
	for i, id := range []string{"inference-g5", "elastic-spot-g5", "elastic-g5"} {
		m := machineOf(id)
		about := "on-demand"
		if m.spot {
			about = "spot, for everybody; now and then there is none to be had"
		}
		n.printf("    %d. %-16s $%.2f an hour, up to %d, %s\n", i+1, m.id, m.hourlyCost, m.max, about)
	}
	n.printf("  Analytics jobs tolerate every taint, but their policy gives them spot nodes only.\n\n")
}

func (d *driver) closing(at time.Time) {
	n, w := d.narrator, d.world
	traffic, usage := w.queue.Record(), w.cluster.Usage()
	until := at.Format("15:04")
	if !at.Before(d.options.Start.Add(24 * time.Hour)) {
		until = "midnight"
	}
	n.printf("\n%s\n", n.paint(bold, "Until "+until))
	n.printf("  requests      %d, of which %s got a slot within %s; %d waited longer or gave up\n", traffic.Requests, onTime(traffic), sim.MaxWait, traffic.Late)
	n.printf("  GPUs          %.0f GPU-hours paid, %.0f %% of them with a pod; $%.0f in all, $%.0f of it for spot\n",
		usage.GPUHours, 100*usage.BusyGPUHours/max(usage.GPUHours, 1e-9), usage.Cost, usage.SpotCost)
	n.printf("  scaler        asked %d times by KEDA; %d times the forecast ordered replicas before the queue could\n", d.tally.polls, d.tally.prewarms)
	n.printf("  expander      asked %d times by the Cluster Autoscaler:", d.tally.asked)
	for _, m := range machines {
		if c := d.tally.chosen[m.id]; c > 0 {
			n.printf(" %d × %s", c, m.id)
		}
	}
	if d.tally.refused > 0 {
		n.printf("; %d times it kept a job off nodes that are not its own", d.tally.refused)
	}
	n.printf("\n  spot          %d nodes had no capacity, %d were taken back; on-demand stood in: %d\n", d.tally.stockOuts, d.tally.reclaims, d.tally.fallbacks)
	n.printf("  push          %d activations streamed; failed calls: %d\n", d.keda.pushes.Load(), d.tally.failures)
}
