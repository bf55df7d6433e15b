package report

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
)

// PlacementOptions are the settings of a comparison of expanders.
type PlacementOptions struct {
	// Expanders are compared in this order; empty means all.
	Expanders []string
	Seed      uint64
	// Replicates above 1 play that many random samples of nine pods in ten; 1 plays the list as it is.
	Replicates int
	// Pressure divides the gaps between pods and caps their run time at twelve hours; 1 leaves gaps and caps at a day.
	Pressure float64
	// Spread lets the scheduler prefer the emptiest node (its default) in place of the fullest.
	Spread bool
	// Recorded is the cluster that the pods ran on, for comparison; it may be empty.
	Recorded []trace.GPUNode
	Variant
	Progress Progress
}

// Placement is the result of a comparison of expanders.
type Placement struct {
	Pods       int     `json:"pods"`
	Seed       uint64  `json:"seed"`
	Replicates int     `json:"replicates"`
	Pressure   float64 `json:"pressure"`
	Packing    string  `json:"packing"`
	// LowerBoundCost is the resource-hours on fractions of nodes: no expander can be cheaper.
	LowerBoundCost float64 `json:"lowerBoundCost"`
	// InstantBoundCost is the same at every moment, and ClairvoyantCost a plan by someone who knows when pods end.
	InstantBoundCost float64 `json:"instantBoundCost"`
	ClairvoyantCost  float64 `json:"clairvoyantCost"`
	// Variant names what was changed about the pods and the autoscaler; empty is nothing.
	Variant   string           `json:"variant,omitempty"`
	Expanders []ExpanderResult `json:"expanders"`
	// Unplaceable pods fit no group and are left out.
	Unplaceable int `json:"unplaceable"`
	// Recorded is the cluster that the pods ran on; nil if it was not given.
	Recorded *RecordedCluster `json:"recordedCluster,omitempty"`
}

// RecordedCluster is a fixed cluster over the time of the list.
type RecordedCluster struct {
	Nodes    int     `json:"nodes"`
	GPUs     int64   `json:"gpus"`
	GPUHours float64 `json:"gpuHours"`
}

// recorded sums up the cluster that the pods ran on, over the time in which they were created, at the same pressure.
func recorded(nodes []trace.GPUNode, pods []sim.PodSpec) *RecordedCluster {
	if len(nodes) == 0 || len(pods) == 0 {
		return nil
	}
	c := &RecordedCluster{Nodes: len(nodes)}
	for _, n := range nodes {
		c.GPUs += n.GPUs
	}
	first, last := pods[0].Created, pods[0].Created
	for _, p := range pods {
		if p.Created.Before(first) {
			first = p.Created
		}
		if p.Created.After(last) {
			last = p.Created
		}
	}
	c.GPUHours = float64(c.GPUs) * last.Sub(first).Hours()
	return c
}

// ExpanderResult is one expander, averaged over the replicates.
type ExpanderResult struct {
	Expander string  `json:"expander"`
	Cost     float64 `json:"cost"`
	GPUHours float64 `json:"gpuHours"`
	// IdleGPUShare is the share of the paid GPU-hours without a pod.
	IdleGPUShare float64 `json:"idleGPUShare"`
	// Pending is the wait of GPU pods for a node.
	Pending      PendingSeconds `json:"pendingSeconds"`
	NodesStarted float64        `json:"nodesStarted"`
	// StockOuts counts nodes that a provider could not give, WaitedLong the GPU pods that waited over ten minutes, and
	// SpotCostShare the share of the cost that went to spot; all 0 without spot groups.
	StockOuts     float64 `json:"stockOuts"`
	WaitedLong    float64 `json:"waitedOver10Minutes"`
	SpotCostShare float64 `json:"spotCostShare"`
	ScaleUps      float64 `json:"scaleUps"`
	// CPUOnGPU counts scale-ups of a GPU group for pods without GPU demand although another group was offered.
	CPUOnGPU float64 `json:"cpuOnGPU"`
	// ToLeastWaste is the cost over that of least-waste on the same replicate, mean and range; 0 without least-waste.
	ToLeastWaste      float64    `json:"toLeastWaste,omitempty"`
	ToLeastWasteRange [2]float64 `json:"toLeastWasteRange,omitzero"`
	// ToClairvoyant and ToInstantBound are the cost over the bounds' on the same replicate, mean.
	ToClairvoyant  float64 `json:"toClairvoyant"`
	ToInstantBound float64 `json:"toInstantBound"`
}

// PendingSeconds are the mean and quantiles of the wait.
type PendingSeconds struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

const baseline = "least-waste"

// RunPlacement compares expanders on a list of pods.
func RunPlacement(ctx context.Context, pods []trace.GPUPod, groups []sim.GroupSpec, o PlacementOptions) (Placement, error) {
	if len(o.Expanders) == 0 {
		o.Expanders = policy.ExpanderNames()
	}
	o.Replicates, o.Pressure = max(o.Replicates, 1), max(o.Pressure, 1)
	lists := make([][]sim.PodSpec, o.Replicates)
	out := Placement{Pods: len(pods), Seed: o.Seed, Replicates: o.Replicates, Pressure: o.Pressure, Packing: "most-allocated", Variant: o.Variant.String()}
	packing := sim.MostAllocated
	if o.Spread {
		packing, out.Packing = sim.LeastAllocated, "least-allocated"
	}
	for i := range lists {
		all := podSpecs(sample(pods, o, i), groups, o, uint64(i))
		lists[i] = sim.Placeable(all, groups)
		out.Unplaceable = max(out.Unplaceable, len(all)-len(lists[i]))
	}
	bounds := make([][3]float64, len(lists))
	runs := make([]sim.Placement, len(o.Expanders)*o.Replicates)
	err := each(ctx, len(runs)+len(lists), o.Progress, func(i int) error {
		if i >= len(runs) {
			list := lists[i-len(runs)]
			bounds[i-len(runs)] = [3]float64{sim.LowerBound(list, groups), sim.InstantBound(list, groups), sim.Clairvoyant(list, groups)}
			return nil
		}
		name, replicate := o.Expanders[i/o.Replicates], i%o.Replicates
		choose, err := policy.NewExpander(name, o.believed(groups, uint64(replicate)))
		if err != nil {
			return err
		}
		runs[i] = sim.Place(lists[replicate], groups, sim.Options{
			Start: placementStart, Seed: o.Seed + uint64(replicate), Packing: packing, Drain: o.Drain,
		}, choose)
		return nil
	})
	if err != nil {
		return Placement{}, err
	}
	for _, b := range bounds {
		out.LowerBoundCost += b[0] / float64(o.Replicates)
		out.InstantBoundCost += b[1] / float64(o.Replicates)
		out.ClairvoyantCost += b[2] / float64(o.Replicates)
	}
	base := slices.Index(o.Expanders, baseline)
	for i, name := range o.Expanders {
		r := summarise(name, runs[i*o.Replicates:(i+1)*o.Replicates])
		if base >= 0 {
			r.compare(runs[i*o.Replicates:(i+1)*o.Replicates], runs[base*o.Replicates:(base+1)*o.Replicates])
		}
		for replicate, b := range bounds {
			cost := runs[i*o.Replicates+replicate].Cost / float64(o.Replicates)
			r.ToClairvoyant += cost / b[2]
			r.ToInstantBound += cost / b[1]
		}
		out.Expanders = append(out.Expanders, r)
	}
	out.Recorded = recorded(o.Recorded, lists[0])
	return out, nil
}

func summarise(name string, runs []sim.Placement) ExpanderResult {
	out := ExpanderResult{Expander: name}
	n := float64(len(runs))
	for _, r := range runs {
		waits := slices.Sorted(slices.Values(r.Waits))
		at := func(p float64) float64 {
			if len(waits) == 0 {
				return 0
			}
			return waits[min(len(waits)-1, int(p*float64(len(waits))))].Seconds()
		}
		out.Cost += r.Cost / n
		out.GPUHours += r.GPUHours / n
		if r.GPUHours > 0 {
			out.IdleGPUShare += (1 - r.BusyGPUHours/r.GPUHours) / n
		}
		out.Pending.P50 += at(0.5) / n
		out.Pending.P95 += at(0.95) / n
		out.Pending.P99 += at(0.99) / n
		var sum time.Duration
		for _, w := range waits {
			sum += w
		}
		if len(waits) > 0 {
			out.Pending.Mean += sum.Seconds() / float64(len(waits)) / n
		}
		out.StockOuts += float64(r.StockOuts) / n
		out.SpotCostShare += r.SpotCost / r.Cost / n
		for _, w := range waits {
			if w > 10*time.Minute {
				out.WaitedLong += 1 / n
			}
		}
		out.Pending.Max = max(out.Pending.Max, at(1))
		out.NodesStarted += float64(r.Nodes) / n
		out.ScaleUps += float64(r.ScaleUps) / n
		out.CPUOnGPU += float64(r.CPUOnGPU) / n
	}
	return out
}

// compare relates each replicate to the baseline on the same pods.
func (r *ExpanderResult) compare(runs, base []sim.Placement) {
	for i := range runs {
		ratio := runs[i].Cost / base[i].Cost
		r.ToLeastWaste += ratio / float64(len(runs))
		if i == 0 {
			r.ToLeastWasteRange = [2]float64{ratio, ratio}
		}
		r.ToLeastWasteRange = widen(r.ToLeastWasteRange, ratio)
	}
}

func (p Placement) facts() string {
	return fmt.Sprintf("%d pods, %d left out because no group holds them; scheduler %s; load ×%g; %d replicate(s) from seed %d%s; clairvoyant plan %.0f $, bound at every moment %.0f $, bound in all %.0f $",
		p.Pods, p.Unplaceable, p.Packing, p.Pressure, p.Replicates, p.Seed, p.Variant, p.ClairvoyantCost, p.InstantBoundCost, p.LowerBoundCost) + p.Recorded.facts()
}

func (c *RecordedCluster) facts() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("; the recorded cluster kept %d nodes with %d GPUs: %.0f GPU-hours in that time", c.Nodes, c.GPUs, c.GPUHours)
}

func (p Placement) head() []string {
	return []string{"expander", "cost $", "÷ least-waste", "range", "÷ clairvoyant", "÷ bound", "GPU-hours", "idle GPU", "wait p95", "p99", "max", "> 10 min", "nodes", "no stock", "spot $", "CPU on GPU"}
}

func (r ExpanderResult) row() []string {
	return []string{
		r.Expander, fmt.Sprintf("%.0f", r.Cost), fmt.Sprintf("%.3f", r.ToLeastWaste), fmt.Sprintf("%.2f–%.2f", r.ToLeastWasteRange[0], r.ToLeastWasteRange[1]),
		fmt.Sprintf("%.2f", r.ToClairvoyant), fmt.Sprintf("%.2f", r.ToInstantBound), fmt.Sprintf("%.0f", r.GPUHours), fmt.Sprintf("%.1f %%", 100*r.IdleGPUShare),
		seconds(r.Pending.P95), seconds(r.Pending.P99), seconds(r.Pending.Max), fmt.Sprintf("%.0f", r.WaitedLong), fmt.Sprintf("%.0f", r.NodesStarted),
		fmt.Sprintf("%.0f", r.StockOuts), fmt.Sprintf("%.0f %%", 100*r.SpotCostShare), fmt.Sprintf("%.0f", r.CPUOnGPU),
	}
}

// WriteText writes a table for people.
func (p Placement) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", p.facts()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	rows := table{}
	rows.add(p.head()...)
	for _, r := range p.Expanders {
		rows.add(r.row()...)
	}
	return rows.write(w)
}

// WriteHTML writes one page with everything in it.
func (p Placement) WriteHTML(w io.Writer) error {
	d := pageData{Title: "Placement replay", Facts: p.facts(), Head: p.head(), Footnote: "Cost: every node from order to removal. " +
		"Idle GPU: paid GPU-hours that no pod holds. The bound buys fractions of nodes and is out of reach; one run shows nothing below 10 %."}
	best := -1
	bars := plot{title: "cost relative to least-waste", width: 920, height: 220}
	for i, r := range p.Expanders {
		d.Rows = append(d.Rows, r.row())
		colour := palette[i%len(palette)]
		d.Legend = append(d.Legend, legend{r.Expander, colour})
		x := float64(i)
		bars.lines = append(bars.lines, line{name: r.Expander, colour: colour, fill: true, x: []float64{x + 0.1, x + 0.9}, y: []float64{r.ToLeastWaste, r.ToLeastWaste}})
		bars.xTicks = append(bars.xTicks, tick{x + 0.5, r.Expander})
		if best < 0 || r.Cost < p.Expanders[best].Cost {
			best = i
		}
	}
	if best >= 0 {
		r := p.Expanders[best]
		d.Verdict = []string{fmt.Sprintf("%s is cheapest: %.0f $, %.2f × least-waste.", r.Expander, r.Cost, r.ToLeastWaste)}
	}
	if slices.ContainsFunc(p.Expanders, func(r ExpanderResult) bool { return r.ToLeastWaste > 0 }) {
		d.Plots = append(d.Plots, bars.svg())
	}
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
