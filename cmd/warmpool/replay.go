package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		Use:   "replay --trace F",
		Short: "Play recorded traffic against warmpool and its rivals",
		Long: `replay plays recorded traffic in a closed loop: requests queue before replicas that take their time to start, and
each policy decides how many there are. Every policy sees the same requests. warmpool runs through its production engine.

Traffic is scaled to a mean need of --need replicas; of traces of four days and more the second half counts, and the
time before is history. Formats: timestamp,requests; Azure LLM inference; BurstGPT; Mooncake; a client of ServeGen; the
answer of Prometheus' query_range. Files that end with .gz are read as well.

Policies: ` + strings.Join(policy.Names(), ", ") + `.`,
		Example: `  warmpool replay --trace traffic_5m.csv
  warmpool replay --trace traffic_5m.csv --sweep --report out
  warmpool replay --trace traffic_5m.csv --policy warmpool,hpa-queue,oracle -o json`,
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
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the result: text or json")
	flags.StringVar(&f.report, "report", "", "write a page with plots to this `directory`")
	return c
}

func (f *replayFlags) check() error {
	switch {
	case f.trace == "":
		return errors.New("give --trace")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("-o %q: it must be text or json", f.output)
	case f.startup < time.Second || f.startup > 2*time.Hour:
		return fmt.Errorf("--startup %v: it must be between 1s and 2h", f.startup)
	case !(f.need >= 0.5 && f.need <= 200):
		return fmt.Errorf("--need %v: it must be between 0.5 and 200", f.need)
	case f.seeds < 1 || f.seeds > 100:
		return fmt.Errorf("--seeds %d: it must be between 1 and 100", f.seeds)
	}
	for _, name := range f.policies {
		if _, err := policy.Standard(name); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	return nil
}

func (f *replayFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return usageError{c.CommandPath(), err}
	}
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
