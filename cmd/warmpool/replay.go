package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/report"
	"github.com/warmpool/warmpool/bench/trace"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	trace          string
	policies       []string
	pods, nodes    string
	times          string
	variant        report.Variant
	catalogues     []string
	groups, spot   string
	stockFailure   time.Duration
	expanders      []string
	pressure       float64
	spread         bool
	startup        time.Duration
	need           float64
	sweep          bool
	seed           uint64
	seeds          int
	output, report string
}

func newReplayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay --trace F | --pods F --catalog F",
		Short: "Play recorded traffic, or recorded GPU pods, against warmpool and its rivals",
		Long: `replay plays recorded traffic in a closed loop: requests queue before replicas that take their time to start, and
each policy decides how many there are. Every policy sees the same requests. warmpool runs through its production engine.

Traffic is scaled to a mean need of --need replicas; of traces of four days and more the second half counts, and the
time before is history. Formats: timestamp,requests; Azure LLM inference; BurstGPT; Mooncake; a client of ServeGen; the
answer of Prometheus' query_range. Files that end with .gz are read as well.

Policies: ` + strings.Join(policy.Names(), ", ") + `.

With --pods it plays a recorded list of GPU pods (Alibaba openb) through a virtual Cluster Autoscaler, with node groups
from an instance catalogue, and compares the choice of node group; --nodes relates that to the recorded cluster.
Expanders: ` + strings.Join(policy.ExpanderNames(), ", ") + `. Sets of node groups: ` + strings.Join(policy.GroupSets(), ", ") + `.`,
		Example: `  warmpool replay --trace traffic_5m.csv
  warmpool replay --trace traffic_5m.csv --sweep --report out
  warmpool replay --trace traffic_5m.csv --policy warmpool,hpa-queue,oracle -o json
  warmpool replay --pods pods.csv --nodes nodes.csv --catalog machines.csv --expander least-waste,warmpool --seeds 6`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "`file` of the traffic")
	flags.StringSliceVar(&f.policies, "policy", nil, "policies to compare, in this order (default all)")
	flags.DurationVar(&f.startup, "startup", 5*time.Minute, "time from an order to a ready replica")
	flags.Float64Var(&f.need, "need", 8, "mean need in replicas that the traffic is scaled to")
	flags.BoolVar(&f.sweep, "sweep", false, "tune every policy on the trace and compare at equal lateness")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of every draw; the same seed gives the same bytes")
	flags.IntVar(&f.seeds, "seeds", 1, "how many seeds from --seed on are averaged")
	flags.StringVar(&f.pods, "pods", "", "`file` of a GPU pod list")
	flags.StringVar(&f.nodes, "nodes", "", "`file` of the recorded cluster's nodes, for comparison")
	flags.StringSliceVar(&f.catalogues, "catalog", nil, "`file` of an instance catalogue; may be given several times")
	flags.StringVar(&f.groups, "groups", "mixed", "set of node groups from the catalogue")
	flags.StringSliceVar(&f.expanders, "expander", nil, "expanders to compare, in this order (default all)")
	flags.StringVar(&f.spot, "spot", "", "`file` of spot availability: every GPU group gets a spot twin")
	flags.DurationVar(&f.stockFailure, "stock-failure", time.Minute, "how late a missing spot node is found: 1m, or 15m where providers report nothing")
	flags.Float64Var(&f.pressure, "pressure", 1, "how many times faster pods arrive than recorded")
	flags.BoolVar(&f.spread, "spread", false, "the scheduler prefers the emptiest node, not the fullest")
	flags.StringVar(&f.times, "times", "", "`file` of a pod list whose times a list without times takes over")
	flags.BoolVar(&f.variant.Hourly, "hourly", false, "pods arrive in batches at full hours")
	flags.Float64Var(&f.variant.Typed, "typed", 0, "share of GPU pods that are tied to one GPU model")
	flags.BoolVar(&f.variant.Bare, "bare", false, "GPU pods request no CPU and memory")
	flags.Float64Var(&f.variant.PriceError, "price-error", 0, "how wrong the prices may be that expanders are told, as a share")
	flags.BoolVar(&f.variant.Drain, "drain", false, "the autoscaler may move pods off nodes that are hardly used")
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the result: text or json")
	flags.StringVar(&f.report, "report", "", "write a page with plots to this `directory`")
	return c
}

func (f *replayFlags) check() error {
	switch {
	case (f.trace == "") == (f.pods == ""):
		return errors.New("give either --trace or --pods with --catalog")
	case f.pods != "" && len(f.catalogues) == 0:
		return errors.New("--pods needs --catalog: the machines that node groups are made of")
	case !(f.pressure >= 1 && f.pressure <= 100):
		return fmt.Errorf("--pressure %v: it must be between 1 and 100", f.pressure)
	case !(f.variant.Typed >= 0 && f.variant.Typed <= 1):
		return fmt.Errorf("--typed %v: it must be between 0 and 1", f.variant.Typed)
	case !(f.variant.PriceError >= 0 && f.variant.PriceError < 1):
		return fmt.Errorf("--price-error %v: it must be at least 0 and below 1", f.variant.PriceError)
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("-o %q: it must be text or json", f.output)
	case f.startup < time.Second || f.startup > 2*time.Hour:
		return fmt.Errorf("--startup %v: it must be between 1s and 2h", f.startup)
	case !(f.need >= 0.5 && f.need <= 200):
		return fmt.Errorf("--need %v: it must be between 0.5 and 200", f.need)
	case f.seeds < 1 || f.seeds > 100:
		return fmt.Errorf("--seeds %d: it must be between 1 and 100", f.seeds)
	}
	return f.checkNames()
}

// checkNames tells about the first name that is not known.
func (f *replayFlags) checkNames() error {
	for _, name := range f.policies {
		if _, err := policy.Standard(name); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	for _, name := range f.expanders {
		if _, err := policy.NewExpander(name, nil); err != nil {
			return fmt.Errorf("--expander: %w", err)
		}
	}
	if !slices.Contains(policy.GroupSets(), f.groups) {
		return fmt.Errorf("--groups %q: choose among %s", f.groups, strings.Join(policy.GroupSets(), ", "))
	}
	return nil
}

func (f *replayFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return usageError{c.CommandPath(), err}
	}
	if f.pods != "" {
		return f.runPlacement(c)
	}
	return f.runTraffic(c)
}

func (f *replayFlags) runTraffic(c *cobra.Command) error {
	t, err := trace.ReadTraffic(f.trace)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	result, err := report.RunTraffic(c.Context(), t, report.TrafficOptions{
		Policies: f.policies, Seed: f.seed, Seeds: f.seeds, Startup: f.startup, Need: f.need, Sweep: f.sweep,
		Progress: replayProgress(c.ErrOrStderr()),
	})
	if err != nil {
		return err
	}
	return f.write(c, result)
}

func (f *replayFlags) runPlacement(c *cobra.Command) error {
	pods, err := trace.Read(f.pods, trace.ReadGPUPods)
	if err != nil {
		return fmt.Errorf("--pods: %w", err)
	}
	var machines []trace.Machine
	for _, path := range f.catalogues {
		list, err := trace.Read(path, trace.ReadCatalogue)
		if err != nil {
			return fmt.Errorf("--catalog: %w", err)
		}
		machines = append(machines, list...)
	}
	groups, err := policy.Groups(f.groups, machines)
	if err != nil {
		return fmt.Errorf("--groups: %w", err)
	}
	if f.spot != "" {
		stock, err := trace.Read(f.spot, trace.ReadAvailability)
		if err != nil {
			return fmt.Errorf("--spot: %w", err)
		}
		if groups, err = policy.Twins(groups, stock, f.stockFailure); err != nil {
			return fmt.Errorf("--spot: %w", err)
		}
	}
	o := report.PlacementOptions{
		Expanders: f.expanders, Seed: f.seed, Replicates: f.seeds, Pressure: f.pressure, Spread: f.spread, Progress: replayProgress(c.ErrOrStderr()),
	}
	o.Variant = f.variant
	if f.times != "" {
		if o.Times, err = trace.Read(f.times, trace.ReadGPUPods); err != nil {
			return fmt.Errorf("--times: %w", err)
		}
	}
	if f.nodes != "" {
		if o.Recorded, err = trace.Read(f.nodes, trace.ReadGPUNodes); err != nil {
			return fmt.Errorf("--nodes: %w", err)
		}
	}
	result, err := report.RunPlacement(c.Context(), pods, groups, o)
	if err != nil {
		return err
	}
	return f.write(c, result)
}

// written is a result in all its forms.
type written interface {
	WriteText(w io.Writer) error
	WriteHTML(w io.Writer) error
}

func (f *replayFlags) write(c *cobra.Command, result written) error {
	if err := writePage(f.report, result.WriteHTML); err != nil {
		return err
	}
	if f.output == "json" {
		return report.WriteJSON(c.OutOrStdout(), result)
	}
	return result.WriteText(c.OutOrStdout())
}

// writePage writes replay.html into a directory, which is made if it does not exist. Without a directory it does nothing.
func writePage(dir string, write func(io.Writer) error) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a report is to be read
		return fmt.Errorf("--report: %w", err)
	}
	path := filepath.Join(dir, "replay.html")
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	buffered := bufio.NewWriter(file)
	if err := errors.Join(write(buffered), buffered.Flush(), file.Close()); err != nil {
		return fmt.Errorf("--report %s: %w", path, err)
	}
	return nil
}

// replayProgress draws a bar on a terminal and says nothing otherwise.
func replayProgress(w io.Writer) report.Progress {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("replaying"),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	return func(done, total int) {
		bar.ChangeMax(total)
		_ = bar.Set(done) // a bar that cannot be drawn is no failure of the replay
	}
}
