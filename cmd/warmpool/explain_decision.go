package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// decisionFlags are those of explain decision.
type decisionFlags struct {
	liveFlags
	config string
	replay bool
}

func newExplainDecisionCommand() *cobra.Command {
	var f decisionFlags
	c := &cobra.Command{
		Use:   "decision ID",
		Short: "One recorded decision in full, or replayed with another configuration",
		Long: `decision asks a running server for one recorded decision. With --config it also fetches what the decision depended on
and makes it again, here, with that configuration: what would have been decided, and why. --replay makes a replica target
again with the policy of then, which must give the same decision in every number. The newest 256 choices and the newest
256 targets can be replayed.

A replayed target uses the service of the configuration with the same namespace and name; keys in a trigger's metadata
are not applied to it. The override and the freeze of then, and the order of the forecast, stay as they were.`,
		Example: `  warmpool explain decision 0662089dfb0c80
  warmpool explain decision 0662089dfb0c80 --config changed.yaml
  warmpool explain decision 0662089dfb0c80 --replay`,
		Args: oneName("decision id"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.register(c.Flags())
	c.Flags().StringVar(&f.config, "config", "", "configuration `file` to replay the decision with")
	c.Flags().BoolVar(&f.replay, "replay", false, "replay a replica target with the policy of then")
	return c
}

func (f *decisionFlags) run(c *cobra.Command, id string) error {
	if err := f.checkOutput(c); err != nil {
		return err
	}
	if f.config != "" && f.replay {
		return usageError{c.CommandPath(), errors.New("--replay takes the policy of then: leave --config out, or it")}
	}
	var r decisions.Record
	if err := f.get(c.Context(), "decisions/"+url.PathEscape(id), &r); err != nil {
		return err
	}
	switch {
	case f.config != "" || f.replay:
		return f.again(c, &r)
	case f.output == "json":
		return writeJSON(c.OutOrStdout(), r)
	case r.Expander != nil:
		return decisions.WriteExpander(c.OutOrStdout(), *r.Expander)
	case r.Scaler != nil:
		return decisions.WriteScaler(c.OutOrStdout(), *r.Scaler)
	case r.Operation != nil:
		return decisions.WriteOperation(c.OutOrStdout(), *r.Operation)
	}
	return fmt.Errorf("decision %s holds nothing that this version knows", id)
}

// again makes a recorded decision once more.
func (f *decisionFlags) again(c *cobra.Command, was *decisions.Record) error {
	var settings *config.Config
	if f.config != "" {
		var err error
		if settings, err = config.Load(f.config); err != nil {
			return err
		}
	}
	if was.Operation != nil {
		return fmt.Errorf("%s is what an operator did: there is nothing to replay", was.ID)
	}
	var s engine.Situation
	if err := f.get(c.Context(), "situations/"+url.PathEscape(was.ID), &s); err != nil {
		return err
	}
	if s.Target != nil {
		return f.targetAgain(c, was, &s, settings)
	}
	if settings == nil {
		return fmt.Errorf("%s is a choice of a node group: give --config to replay it with", was.ID)
	}
	if settings.Expander == nil {
		return fmt.Errorf("%s has no expander section: there is no choice to make", f.config)
	}
	d, _ := expander.Select(settings.Expander, s.View, s.Request, s.History, s.At)
	now := d
	if was.Expander != nil {
		now.PolicyHash = was.Expander.PolicyHash
	}
	f.compare(c, was.Summary, was.Expander, &now)
	return writeChoice(c.OutOrStdout(), f.output, d)
}

func (f *decisionFlags) targetAgain(c *cobra.Command, was *decisions.Record, s *engine.Situation, settings *config.Config) error {
	policy := s.Target.Policy
	if settings != nil {
		i := slices.IndexFunc(settings.Services, func(x config.Service) bool {
			return x.Policy.Namespace == policy.Namespace && x.Policy.Name == policy.Name
		})
		if i < 0 {
			return fmt.Errorf("%s has no service %s/%s: its policy was in the metadata of its trigger; write it under services to try another one", f.config, policy.Namespace, policy.Name)
		}
		changed := settings.Services[i].Policy
		changed.Override, changed.Frozen, changed.FrozenReason = policy.Override, policy.Frozen, policy.FrozenReason
		policy = changed
	}
	d, _ := scaler.Evaluate(policy, s.Target.State, s.Target.Inputs, s.At)
	now := d
	if was.Scaler != nil {
		now.PolicyHash = was.Scaler.PolicyHash
	}
	f.compare(c, was.Summary, was.Scaler, &now)
	if f.output == "json" {
		return writeJSON(c.OutOrStdout(), d)
	}
	return decisions.WriteScaler(c.OutOrStdout(), d)
}

// compare says what was recorded, and whether a decision is the same but for the name of the configuration.
func (f *decisionFlags) compare(c *cobra.Command, summary string, was, now any) {
	if f.output != "text" {
		return
	}
	with := f.config
	if f.replay {
		with = "the policy of then"
	}
	fmt.Fprintf(c.OutOrStdout(), "recorded: %s\nwith %s:\n", summary, with)
	left, errLeft := json.Marshal(was)
	right, errRight := json.Marshal(now)
	if errLeft == nil && errRight == nil && string(left) == string(right) {
		fmt.Fprintln(c.OutOrStdout(), "the same decision in every number")
	}
}
