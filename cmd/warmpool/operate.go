package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// adminClient calls the admin listener of a running server.
type adminClient struct {
	server, tokenFile, by, output string
	trust                         trustFlags
}

func (a *adminClient) register(flags *pflag.FlagSet) {
	flags.StringVar(&a.server, "server", cmp.Or(os.Getenv("WARMPOOL_SERVER"), "http://127.0.0.1:8080"), "`URL` of the admin listener, or $WARMPOOL_SERVER")
	flags.StringVar(&a.tokenFile, "admin-token-file", os.Getenv("WARMPOOL_ADMIN_TOKEN_FILE"), "`file` with the token of the admin listener, or $WARMPOOL_ADMIN_TOKEN_FILE")
	a.trust.register(flags)
	flags.StringVar(&a.by, "by", userName(), "your `name`, for the record")
	flags.StringVarP(&a.output, "output", "o", "text", "`format`: text or json")
}

func userName() string {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

func (a *adminClient) check() error {
	u, err := url.Parse(a.server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("--server %q: it must be a URL such as http://127.0.0.1:8080", a.server)
	}
	if a.output != "text" && a.output != "json" {
		return fmt.Errorf("--output %q: it must be text or json", a.output)
	}
	return nil
}

// call sends a request and copies the answer. An answer that is no success is an error with what the server says.
func (a *adminClient) call(c *cobra.Command, method, path string, parameters url.Values, body any) error {
	if err := a.check(); err != nil {
		return usageError{c.CommandPath(), err}
	}
	if parameters == nil {
		parameters = url.Values{}
	}
	parameters.Set("format", a.output)
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(c.Context(), method, strings.TrimSuffix(a.server, "/")+path+"?"+parameters.Encode(), content)
	if err != nil {
		return err
	}
	if a.tokenFile != "" {
		token, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return fmt.Errorf("--admin-token-file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	client, err := a.trust.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.Timeout = 10 * time.Second
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("call %s: %w; --server has to be the admin listener of a running server", a.server, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("answer of %s: %w", a.server, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

func newOverrideCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "override",
		Short: "Change the limits of a service for a while, on a running server",
		Long: `override changes the limits of a service for a while, for launches and incidents. It needs no change of the
configuration, ends by itself, survives a restart with a data directory, and shows in every decision and in the record
of decisions. Where an override in the configuration file is in force, the limits that it gives count.`,
	}
	root.AddCommand(newOverrideSetCommand(), newOverrideClearCommand(), newOverrideListCommand())
	return root
}

func newOverrideSetCommand() *cobra.Command {
	var a adminClient
	var least, most int
	var from, to, reason string
	var span time.Duration
	c := &cobra.Command{
		Use:   "set SERVICE --min N --max N --for D --reason TEXT",
		Short: "Set an override of NAME or NAMESPACE/NAME",
		Example: `  warmpool override set ml/llama --min 12 --for 3h --reason "launch of the new model" --admin-token-file token
  warmpool override set ml/llama --max 4 --to 2026-08-03T18:00:00Z --reason "no more cards in this zone"`,
		Args: cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		order := map[string]any{"service": args[0], "reason": reason, "by": a.by}
		var errs []error
		for name, text := range map[string]string{"from": from, "to": to} {
			if text == "" {
				continue
			}
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s %q: it must be a time such as 2026-08-03T18:00:00Z", name, text))
			}
			order[name] = at
		}
		if span != 0 {
			order["for"] = span.String()
		}
		for name, value := range map[string]int{"min": least, "max": most} {
			if c.Flags().Changed(name) {
				order[name] = value
			}
		}
		if err := errors.Join(errs...); err != nil {
			return usageError{c.CommandPath(), err}
		}
		return a.call(c, http.MethodPost, "/api/v1/overrides", nil, order)
	}
	a.register(c.Flags())
	c.Flags().IntVar(&least, "min", 0, "smallest target in `replicas`")
	c.Flags().IntVar(&most, "max", 0, "largest target in `replicas`")
	c.Flags().StringVar(&from, "from", "", "first `moment` (RFC 3339); by default now")
	c.Flags().StringVar(&to, "to", "", "end, as a `moment` (RFC 3339)")
	c.Flags().DurationVar(&span, "for", 0, "end, as a `time` after the first moment")
	c.Flags().StringVar(&reason, "reason", "", "why, for the record (required)")
	return c
}

func newOverrideClearCommand() *cobra.Command {
	var a adminClient
	var reason string
	c := &cobra.Command{
		Use: "clear ID", Short: "End an override, by the id that list shows", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c, http.MethodDelete, "/api/v1/overrides/"+url.PathEscape(args[0]), url.Values{"by": {a.by}, "reason": {reason}}, nil)
		},
	}
	a.register(c.Flags())
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func newOverrideListCommand() *cobra.Command {
	var a adminClient
	c := &cobra.Command{
		Use: "list", Short: "List the overrides in force and to come that were set at run time", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.call(c, http.MethodGet, "/api/v1/overrides", nil, nil)
		},
	}
	a.register(c.Flags())
	return c
}

func newFreezeCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "freeze",
		Short: "Hold every target, or keep every option, on a running server",
		Long: `freeze on scaler holds every replica target as it is; freeze on expander passes every request of the Cluster
Autoscaler through. It survives a restart with a data directory, and shows in every decision and in the record of
decisions. A freeze in the configuration file holds whatever is set here.`,
	}
	for _, on := range []bool{true, false} {
		root.AddCommand(newFreezeSwitch(on))
	}
	return root
}

// oneHalf wants the name of one half.
func oneHalf(_ *cobra.Command, args []string) error {
	if len(args) != 1 || (args[0] != "expander" && args[0] != "scaler") {
		return fmt.Errorf("%q: name one half, expander or scaler", strings.Join(args, " "))
	}
	return nil
}

func newFreezeSwitch(on bool) *cobra.Command {
	var a adminClient
	var reason string
	name, short := "off", "End the freeze of a half"
	if on {
		name, short = "on", "Freeze a half"
	}
	c := &cobra.Command{
		Use: name + " expander|scaler --reason TEXT", Short: short, Args: oneHalf,
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c, http.MethodPost, "/api/v1/freeze", nil, map[string]any{"half": args[0], "on": on, "reason": reason, "by": a.by})
		},
	}
	a.register(c.Flags())
	c.Flags().StringVar(&reason, "reason", "", "why, for the record (required)")
	return c
}
