package report

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
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
	LowerBoundCost float64          `json:"lowerBoundCost"`
	Expanders      []ExpanderResult `json:"expanders"`
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
}

// PendingSeconds are quantiles of the wait.
type PendingSeconds struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

const baseline = "least-waste"

// RunPlacement compares expanders on a list of pods.
func RunPlacement(ctx context.Context, pods []trace.GPUPod, groups []sim.GroupSpec, o PlacementOptions) (Placement, error) {
	if len(o.Expanders) == 0 {
		o.Expanders = policy.ExpanderNames()
	}
	o.Replicates, o.Pressure = max(o.Replicates, 1), max(o.Pressure, 1)
	lists := make([][]sim.PodSpec, o.Replicates)
	out := Placement{Pods: len(pods), Seed: o.Seed, Replicates: o.Replicates, Pressure: o.Pressure, Packing: "most-allocated"}
	packing := sim.MostAllocated
	if o.Spread {
		packing, out.Packing = sim.LeastAllocated, "least-allocated"
	}
	for i := range lists {
		lists[i] = podSpecs(sample(pods, o, i), o, uint64(i))
		out.LowerBoundCost += sim.LowerBound(lists[i], groups) / float64(o.Replicates)
	}
	runs := make([]sim.Placement, len(o.Expanders)*o.Replicates)
	err := each(ctx, len(runs), o.Progress, func(i int) error {
		name, replicate := o.Expanders[i/o.Replicates], i%o.Replicates
		choose, err := policy.NewExpander(name, groups)
		if err != nil {
			return err
		}
		runs[i] = sim.Place(lists[replicate], groups, sim.Options{Start: placementStart, Seed: o.Seed + uint64(replicate), Packing: packing}, choose)
		return nil
	})
	if err != nil {
		return Placement{}, err
	}
	base := slices.Index(o.Expanders, baseline)
	for i, name := range o.Expanders {
		r := summarise(name, runs[i*o.Replicates:(i+1)*o.Replicates])
		if base >= 0 {
			r.compare(runs[i*o.Replicates:(i+1)*o.Replicates], runs[base*o.Replicates:(base+1)*o.Replicates])
		}
		out.Expanders = append(out.Expanders, r)
	}
	out.Unplaceable = runs[0].Unplaceable
	out.Recorded = recorded(o.Recorded, lists[0])
	return out, nil
}

// placementStart is when the lists begin; they only know seconds.
var placementStart = time.Unix(0, 0).UTC()

// sample takes nine pods in ten when there are several replicates.
func sample(pods []trace.GPUPod, o PlacementOptions, replicate int) []trace.GPUPod {
	if o.Replicates == 1 {
		return pods
	}
	rng := rand.New(rand.NewPCG(o.Seed, uint64(replicate)+1))
	var out []trace.GPUPod
	for _, p := range pods {
		if rng.Float64() < 0.9 {
			out = append(out, p)
		}
	}
	return out
}

// Lists without times get Poisson arrivals and exponential run times (judgement); the shape of the pods is recorded.
const (
	drawnGap = 5 * time.Minute
	drawnRun = 6 * time.Hour
)

// podSpecs turns recorded pods into pods of the virtual cluster. A share of a GPU counts as a whole card.
func podSpecs(pods []trace.GPUPod, o PlacementOptions, replicate uint64) []sim.PodSpec {
	rng := rand.New(rand.NewPCG(o.Seed, 1000+replicate))
	longest := 24 * time.Hour
	if o.Pressure > 1 {
		longest = 12 * time.Hour
	}
	var drawn time.Duration
	out := make([]sim.PodSpec, 0, len(pods))
	for _, p := range pods {
		created, run := p.Created, p.Deleted-p.Created
		if !p.Timed {
			drawn += time.Duration(rng.ExpFloat64() * float64(drawnGap))
			created, run = drawn, time.Duration(rng.ExpFloat64()*float64(drawnRun))
		}
		r := expander.Resources{MilliCPU: p.MilliCPU, Memory: p.MemoryMi << 20, Extended: map[string]int64{}}
		if p.GPUs > 0 {
			r.Extended[sim.GPU] = p.GPUs
		}
		out = append(out, sim.PodSpec{
			Pod:     expander.Pod{UID: p.Name, Name: p.Name, Namespace: "recorded", Requests: r},
			Created: placementStart.Add(time.Duration(float64(created) / o.Pressure).Truncate(time.Second)),
			Run:     min(max(run, time.Second), longest),
		})
	}
	return out
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
	return fmt.Sprintf("%d pods, %d left out because no group holds them; scheduler %s; load ×%g; %d replicate(s) from seed %d; lower bound %.0f $",
		p.Pods, p.Unplaceable, p.Packing, p.Pressure, p.Replicates, p.Seed, p.LowerBoundCost) + p.Recorded.facts()
}

func (c *RecordedCluster) facts() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("; the recorded cluster kept %d nodes with %d GPUs: %.0f GPU-hours in that time", c.Nodes, c.GPUs, c.GPUHours)
}

func (p Placement) head() []string {
	return []string{"expander", "cost $", "÷ least-waste", "range", "÷ bound", "GPU-hours", "idle GPU", "wait p95", "p99", "max", "> 10 min", "nodes", "no stock", "spot $", "CPU on GPU"}
}

func (r ExpanderResult) row(bound float64) []string {
	return []string{
		r.Expander, fmt.Sprintf("%.0f", r.Cost), fmt.Sprintf("%.3f", r.ToLeastWaste), fmt.Sprintf("%.2f–%.2f", r.ToLeastWasteRange[0], r.ToLeastWasteRange[1]),
		fmt.Sprintf("%.2f", r.Cost/bound), fmt.Sprintf("%.0f", r.GPUHours), fmt.Sprintf("%.1f %%", 100*r.IdleGPUShare),
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
		rows.add(r.row(p.LowerBoundCost)...)
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
		d.Rows = append(d.Rows, r.row(p.LowerBoundCost))
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
