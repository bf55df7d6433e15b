package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/wire"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	config, request, state, output, at string
}

func newExplainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain --config F --request R.binpb",
		Short: "Say why: a service, a node group or a decision of a running server, or one captured request offline",
		Long: `explain service, group and decision ask a running server. Without one of them explain reads a captured BestOptionsRequest (the bare protobuf message, as grpcurl or a proxy records it) and
shows what this configuration chooses for it and why. It needs no cluster and no network, and shows the choice in
observe mode too.

The state file, in YAML, adds what the request does not say. Both parts are optional:

  view:                        # what is known of the cluster; left out: no cluster view
    at: 2026-08-03T12:00:00Z   # when it was read
    groups:
      gpu-l4: {nodes: 3, registered: 3, target: 3, min: 0, max: 20, readyNodes: 3, reclaimsPerHour: 0.01,
               cacheNodes: {model-cache.ai/llama: 3},
               backoff: {class: STOCK, code: RESOURCE_POOL_EXHAUSTED, since: 2026-08-03T11:58:00Z}}
    failures: [{at: 2026-08-03T11:58:00Z, group: gpu-l4, class: STOCK, reason: ScaleUpTimedOut}]
    zoneNodes: {zone-a: 4}
    poolZoneNodes: {inference: {zone-a: 4}}
    capacityReplicas: {inference: {spot: 3, on-demand: 1}}
  history: {}                  # what was learnt, as JSON or YAML, in the form of the data directory`,
		Example: `  warmpool explain --config warmpool.yaml --request request.binpb
  warmpool explain --config warmpool.yaml --request request.binpb --state state.yaml -o json --at 2026-08-03T12:00:00Z
  warmpool explain service llm-7b --server http://127.0.0.1:8080`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	c.AddCommand(newExplainServiceCommand(), newExplainGroupCommand(), newExplainDecisionCommand())
	flags := c.Flags()
	flags.StringVar(&f.config, "config", "", "configuration `file` (required)")
	flags.StringVar(&f.request, "request", "", "captured request `file` (required)")
	flags.StringVar(&f.state, "state", "", "state `file`: cluster view and history")
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the answer: text or json")
	flags.StringVar(&f.at, "at", "", "`time` of the request, RFC 3339 (default: view.at of the state file, else now)")
	return c
}

func (f *explainFlags) run(c *cobra.Command) error {
	if f.output != "text" && f.output != "json" {
		return usageError{c.CommandPath(), fmt.Errorf("-o %q: it must be text or json", f.output)}
	}
	if f.config == "" || f.request == "" {
		return usageError{c.CommandPath(), errors.New("--config and --request are required")}
	}
	settings, err := config.Load(f.config)
	if err != nil {
		return err
	}
	if settings.Expander == nil {
		return fmt.Errorf("%s has no expander section: there is no choice to explain", f.config)
	}
	request, err := readRequest(f.request)
	if err != nil {
		return err
	}
	state, err := readState(f.state)
	if err != nil {
		return err
	}
	now, err := f.time(c, state)
	if err != nil {
		return err
	}
	d, _ := expander.Select(settings.Expander, state.view, request, state.history, now)
	return writeChoice(c.OutOrStdout(), f.output, d)
}

// time is when the request is taken to have come.
func (f *explainFlags) time(c *cobra.Command, s state) (time.Time, error) {
	switch {
	case f.at != "":
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return at, usageError{c.CommandPath(), fmt.Errorf("--at %q: it must be a time such as 2026-08-03T12:00:00Z", f.at)}
		}
		return at, nil
	case !s.view.At.IsZero():
		return s.view.At, nil
	}
	return time.Now(), nil
}

func readRequest(path string) (expander.Request, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return expander.Request{}, fmt.Errorf("read request: %w", err)
	}
	request, _, err := wire.Decode(wire.Bytes(data), wire.Limits{})
	if err != nil {
		return request, fmt.Errorf("read request %s: %w: it must be a bare BestOptionsRequest message, without the 5 bytes of the gRPC frame", path, err)
	}
	return request, nil
}

func writeChoice(out io.Writer, format string, d expander.Decision) error {
	if format == "text" {
		return decisions.WriteExpander(out, d)
	}
	// Programs that read the lists get lists, not null.
	d.Selected = append([]string{}, d.Selected...)
	d.Answer = append([]string{}, d.Answer...)
	d.Workloads = append([]expander.WorkloadDecision{}, d.Workloads...)
	d.Candidates = append([]expander.Candidate{}, d.Candidates...)
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("write decision: %w", err)
	}
	return nil
}
