package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/report"
	"github.com/warmpool/warmpool/bench/trace"
)

// condition is one comparison of expanders.
type condition struct {
	list, load, set string
	spread          bool
	kind            string // what is changed about the pods; empty is nothing
	result          report.Placement
}

func (c *condition) name() string {
	s := c.list + " " + c.load + " on " + c.set
	if c.spread {
		s += ", spread"
	}
	if c.kind != "" {
		s += ", " + c.kind
	}
	return s
}

// of is the result of one expander.
func (c *condition) of(expander string) report.ExpanderResult {
	i := slices.IndexFunc(c.result.Expanders, func(r report.ExpanderResult) bool { return r.Expander == expander })
	return c.result.Expanders[i]
}

// The kinds of pods and autoscalers.
const (
	kindTyped = "a third tied to a model"
	kindBare  = "no CPU and memory requests"
	kindPrice = "prices wrong by 20 %"
	kindDrain = "pods may be moved"
)

var (
	lists = []string{"default", "multigpu20"}
	loads = []string{"×1", "×8", "hourly"}
	sets  = []string{"mixed", "gcp", "small", "large", "one-model"}
)

// setNames describe the sets of node groups to readers.
var setNames = map[string]string{
	"mixed": "mixed, T4 to H100", "gcp": "Google Cloud, T4 to A100", "small": "T4, A10G, L4", "large": "V100, A100, H100", "one-model": "one model (T4)",
}

func conditions() []condition {
	var out []condition
	for _, list := range lists {
		for _, load := range loads {
			for _, set := range sets {
				for _, spread := range []bool{false, true} {
					out = append(out, condition{list: list, load: load, set: set, spread: spread})
				}
			}
			for _, set := range sets[:2] {
				for _, kind := range []string{kindTyped, kindBare, kindPrice, kindDrain} {
					out = append(out, condition{list: list, load: load, set: set, kind: kind})
				}
			}
		}
	}
	return out
}

func placement(ctx context.Context, s settings, w io.Writer) error {
	pods := map[string][]trace.GPUPod{}
	for _, list := range lists {
		p, err := trace.Read(s.at("gpu/openb_pod_list_"+list+".csv"), trace.ReadGPUPods)
		if err != nil {
			return err //nolint:wrapcheck // names the file
		}
		pods[list] = p
	}
	machines, err := s.machines()
	if err != nil {
		return err
	}
	all := conditions()
	for i := range all {
		c := &all[i]
		fmt.Fprintf(s.log, "placement %d of %d: %s\n", i+1, len(all), c.name())
		groups, err := policy.Groups(c.set, machines)
		if err != nil {
			return err //nolint:wrapcheck // names the set
		}
		if c.result, err = report.RunPlacement(ctx, pods[c.list], groups, s.placementOptions(c, pods["default"])); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	writePlacement(w, s, all)
	return nil
}

func (s settings) placementOptions(c *condition, times []trace.GPUPod) report.PlacementOptions {
	o := report.PlacementOptions{Seed: s.seed, Replicates: s.replicates, Spread: c.spread}
	o.Times = times
	switch c.load {
	case "×8":
		o.Pressure = 8
	case "hourly":
		o.Hourly = true
	}
	switch c.kind {
	case kindTyped:
		o.Typed = 1.0 / 3
	case kindBare:
		o.Bare = true
	case kindPrice:
		o.PriceError = 0.2
	case kindDrain:
		o.Drain = true
	}
	return o
}

func (s settings) machines() ([]trace.Machine, error) {
	var out []trace.Machine
	for _, name := range []string{"aws_gpu_instance_types", "gcp_gpu_instance_types", "gcp_n1_prices", "gcp_attachable_gpu_prices"} {
		list, err := trace.Read(s.at("catalog/"+name+".csv"), trace.ReadCatalogue)
		if err != nil {
			return nil, err //nolint:wrapcheck // names the file
		}
		out = append(out, list...)
	}
	return out, nil
}

// pick are the conditions of a kind on some sets; packed ones only, unless spread is asked for as well.
func pick(all []condition, kind string, bothPackings bool, on ...string) []condition {
	var out []condition
	for _, c := range all {
		if c.kind == kind && (bothPackings || !c.spread) && (len(on) == 0 || slices.Contains(on, c.set)) {
			out = append(out, c)
		}
	}
	return out
}

// values are one figure of one expander over conditions.
func values(cs []condition, expander string, figure func(report.ExpanderResult) float64) []float64 {
	var out []float64
	for i := range cs {
		out = append(out, figure(cs[i].of(expander)))
	}
	return out
}

func toLeastWaste(r report.ExpanderResult) float64  { return r.ToLeastWaste }
func toClairvoyant(r report.ExpanderResult) float64 { return r.ToClairvoyant }
func toBound(r report.ExpanderResult) float64       { return r.ToInstantBound }

func writePlacement(w io.Writer, s settings, all []condition) {
	fmt.Fprintf(w, `## Node groups: recorded GPU pods against the built-in expanders

%d replicates of each condition, each a random nine tenths of the recorded pods (Alibaba openb lists; the list with more
multi-GPU pods has no times and takes those of the other). Cost is every node from order to removal over the cost of the
built-in least-waste on the same replicate; the columns are geometric means over two lists and three arrival patterns
(as recorded, eight times denser, hourly batches). The scheduler fills nodes (MostAllocated) unless said otherwise.

`, s.replicates)
	names := policy.ExpanderNames()
	t := markdown{head: append([]string{"node groups, pods"}, names...)}
	row := func(label string, cs []condition) {
		cells := []string{label}
		for _, name := range names {
			cells = append(cells, two(geometric(values(cs, name, toLeastWaste))))
		}
		t.add(cells...)
	}
	for _, set := range sets {
		row(setNames[set], pick(all, "", false, set))
	}
	for _, kind := range []string{kindTyped, kindBare, kindPrice, kindDrain} {
		for _, set := range sets[:2] {
			row(setNames[set]+", "+kind, pick(all, kind, false, set))
		}
	}
	var spread []condition
	for _, c := range all {
		if c.spread {
			spread = append(spread, c)
		}
	}
	row("all five, scheduler spreads (LeastAllocated)", spread)
	t.write(w)
	writeSpread(w, all)
	writePlacementGoals(w, all)
	writePacking(w, all)
	writePlacementWorst(w, all)
}

// writeSpread says how far replicates differ.
func writeSpread(w io.Writer, all []condition) {
	var widths []float64
	for i := range all {
		r := all[i].of("warmpool").ToLeastWasteRange
		widths = append(widths, r[1]-r[0])
	}
	fmt.Fprintf(w, "Between the replicates of one condition warmpool's figure spans %s in the median and %s at most: differences of a few per cent are noise.\n\n",
		two(median(widths)), two(slices.Max(widths)))
}

// simple are the rules with a price that need no thought.
var simple = []string{"price", "priority", "dollars-per-pod"}

// bestSimple is the best of them over some conditions.
func bestSimple(cs []condition) (name string, cost float64) {
	cost = math.Inf(1)
	for _, rule := range simple {
		if g := geometric(values(cs, rule, toLeastWaste)); g < cost {
			name, cost = rule, g
		}
	}
	return name, cost
}

func writePlacementGoals(w io.Writer, all []condition) {
	fmt.Fprintf(w, "Goals, set before the runs (mean of the replicates, nodes filled):\n\n")
	t := markdown{head: []string{"goal", "measured", "limit", ""}}
	limit := func(label string, got, most float64) { t.add(label, two(got), two(most), met(got <= most+1e-9)) }
	mixed := pick(all, "", false, "mixed", "gcp")
	limit("mixed and Google Cloud sets against least-waste, geometric mean", geometric(values(mixed, "warmpool", toLeastWaste)), 0.60)
	limit("the same, worst list and load", slices.Max(values(mixed, "warmpool", toLeastWaste)), 0.80)
	limit("a third of the pods tied to a model", geometric(values(pick(all, kindTyped, false), "warmpool", toLeastWaste)), 0.95)
	limit("T4, A10G, L4", geometric(values(pick(all, "", false, "small"), "warmpool", toLeastWaste)), 0.95)
	limit("one model", geometric(values(pick(all, "", false, "one-model"), "warmpool", toLeastWaste)), 1.02)
	packed := pick(all, "", false)
	limit("against the clairvoyant plan, geometric mean", geometric(values(packed, "warmpool", toClairvoyant)), 1.20)
	limit("the same, worst", slices.Max(values(packed, "warmpool", toClairvoyant)), 1.50)
	limit("against the bound at every moment, geometric mean", geometric(values(packed, "warmpool", toBound)), 2.1)
	both := pick(all, "", true)
	rule, cost := bestSimple(both)
	limit("against the best simple rule with prices ("+rule+"), geometric mean", geometric(values(both, "warmpool", toLeastWaste))/cost, 1.03)
	limit("the same, worst", worstAgainst(both, rule), 1.20)
	onGPU, leastWaste := 0.0, 0.0
	for i := range all {
		onGPU += all[i].of("warmpool").CPUOnGPU
		leastWaste += all[i].of("least-waste").CPUOnGPU
	}
	limit(fmt.Sprintf("CPU-only scale-ups on a GPU group (least-waste: %.0f)", leastWaste), onGPU, 0)
	bare := pick(all, kindBare, false)
	limit("GPU pods without CPU and memory requests, with prices", geometric(values(bare, "warmpool", toLeastWaste)), 0.62)
	limit("the same without prices", geometric(values(bare, "warmpool-unpriced", toLeastWaste)), 0.92)
	limit("the same, idle share of the GPUs", slices.Max(values(bare, "warmpool", func(r report.ExpanderResult) float64 { return r.IdleGPUShare })), 0.30)
	limit("prices wrong by up to 20 %: cost over that with right prices", wrongPrices(all), 1.07)
	limit("mean wait beyond that of least-waste, worst, seconds", longerWait(packed, "×1", "×8"), 5)
	limit("the same in hourly batches", longerWait(packed, "hourly"), 65)
	limit("longest wait, seconds", slices.Max(values(packed, "warmpool", func(r report.ExpanderResult) float64 { return r.Pending.Max })), 520)
	t.write(w)
}

func worstAgainst(cs []condition, rule string) float64 {
	worst := 0.0
	for i := range cs {
		worst = max(worst, cs[i].of("warmpool").ToLeastWaste/cs[i].of(rule).ToLeastWaste)
	}
	return worst
}

// wrongPrices is warmpool's cost with wrong prices over that with right ones, geometric mean.
func wrongPrices(all []condition) float64 {
	var ratios []float64
	for _, wrong := range pick(all, kindPrice, false) {
		for _, right := range pick(all, "", false, wrong.set) {
			if right.list == wrong.list && right.load == wrong.load {
				ratios = append(ratios, wrong.of("warmpool").Cost/right.of("warmpool").Cost)
			}
		}
	}
	return geometric(ratios)
}

func longerWait(cs []condition, loads ...string) float64 {
	worst := math.Inf(-1)
	for i := range cs {
		if slices.Contains(loads, cs[i].load) {
			worst = max(worst, cs[i].of("warmpool").Pending.Mean-cs[i].of("least-waste").Pending.Mean)
		}
	}
	return worst
}

// writePacking compares the two settings of the scheduler for the same expander.
func writePacking(w io.Writer, all []condition) {
	var ratios []float64
	for _, packed := range pick(all, "", false) {
		for _, c := range all {
			if c.spread && c.list == packed.list && c.load == packed.load && c.set == packed.set {
				ratios = append(ratios, packed.of("warmpool").Cost/c.of("warmpool").Cost)
			}
		}
	}
	fmt.Fprintf(w, "The scheduler matters more than the expander: with warmpool in both cases, nodes that are filled cost %s of nodes that pods are spread over (%s).\n\n",
		two(geometric(ratios)), span(ratios))
}

// writePlacementWorst lists where a simple rule is cheaper.
func writePlacementWorst(w io.Writer, all []condition) {
	type loss struct {
		name, rule string
		ratio      float64
	}
	var losses []loss
	for i := range all {
		for _, rule := range simple {
			ratio := all[i].of("warmpool").ToLeastWaste / all[i].of(rule).ToLeastWaste
			losses = append(losses, loss{all[i].name(), rule, ratio})
		}
	}
	slices.SortStableFunc(losses, func(a, b loss) int {
		if a.ratio > b.ratio {
			return -1
		}
		return 1
	})
	fmt.Fprintf(w, "Where warmpool is behind a simple rule with prices most, and what that costs:\n\n")
	t := markdown{head: []string{"condition", "cheaper rule", "warmpool costs"}}
	for _, l := range losses[:min(8, len(losses))] {
		t.add(l.name, l.rule, fmt.Sprintf("%.2f ×", l.ratio))
	}
	t.write(w)
	fmt.Fprint(w, `Where the gain comes from, and where there is none: the gain is the prices. Any rule that knows them, the built-in price
rule and a priority list in the order of node prices included, is within the noise of the others, so a cluster with a
careful price list gains nothing on plain placement. Without prices (warmpool-unpriced) there is little or no saving, except
where GPU pods request no CPU and memory. On node groups of one GPU model there is next to nothing to gain. GPU models
count as equally fast here: the large savings of the mixed sets mean that pods which any T4 serves are not put on an H100.
Where warmpool is behind the simple rules on the mixed set it is mostly one question: a few single-GPU nodes, or one node of
four GPUs at nearly the same price. Its mild preference for small nodes takes the former, and the spare GPU of the latter
would have served the next pod.

`)
}
