package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// liveFlags are those of the commands that ask a running server.
type liveFlags struct {
	server, tokenFile, output string
	trust                     trustFlags
}

func (f *liveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", cmp.Or(os.Getenv("WARMPOOL_SERVER"), "http://127.0.0.1:8080"), "`URL` of the admin listener, or $WARMPOOL_SERVER")
	flags.StringVar(&f.tokenFile, "admin-token-file", os.Getenv("WARMPOOL_ADMIN_TOKEN_FILE"), "`file` with the token of the admin listener, or $WARMPOOL_ADMIN_TOKEN_FILE")
	f.trust.register(flags)
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the answer: text or json")
}

// oneName takes one argument and says what it should be.
func oneName(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{c.CommandPath(), fmt.Errorf("one %s is required", what)}
		}
		return nil
	}
}

func newExplainServiceCommand() *cobra.Command {
	var f liveFlags
	c := &cobra.Command{
		Use:   "service NAME",
		Short: "Why a service has its replica target, by a running server",
		Long: `service asks a running server for one service: the target with every vote, the signals, what limited it, the forecast
with its plan and record, and what another allowed shortage would order. NAME is namespace/name, or the name alone where
it is unique.`,
		Example: `  warmpool explain service ai-prod/llm-7b
  warmpool explain service llm-7b --server http://127.0.0.1:8080 -o json`,
		Args: oneName("service name"),
		RunE: func(c *cobra.Command, args []string) error { return f.service(c, args[0]) },
	}
	f.register(c.Flags())
	return c
}

func newExplainGroupCommand() *cobra.Command {
	var f liveFlags
	c := &cobra.Command{
		Use:   "group ID",
		Short: "Why a node group is or is not grown, by a running server",
		Long: `group asks a running server for one node group: its pool, nodes and price, whether it is held back and until when, and
the last choice that it was an option of.`,
		Example: `  warmpool explain group elastic-spot-g5`,
		Args:    oneName("node group id"),
		RunE:    func(c *cobra.Command, args []string) error { return f.group(c, args[0]) },
	}
	f.register(c.Flags())
	return c
}

const liveTimeout = 15 * time.Second

// largestAnswer bounds what is read of a server: a situation may hold a large request.
const largestAnswer = 256 << 20

var errNotFound = errors.New("not found")

// get asks for one path below /api/v1/ and decodes the answer into value.
func (f *liveFlags) get(ctx context.Context, path string, value any) error {
	address, err := f.address(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("--server %q: %w", f.server, err)
	}
	token, err := f.token()
	if err != nil {
		return err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client, err := f.trust.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask %s: %w: is warmpool running there, and is the port forwarded?", f.server, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return fmt.Errorf("ask %s: %w", f.server, err)
	}
	if answer.StatusCode != http.StatusOK {
		return refusal(answer.StatusCode, data)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("ask %s: the answer cannot be read: %w: is that the admin listener of a warmpool of the same version?", f.server, err)
	}
	return nil
}

func (f *liveFlags) address(path string) (string, error) {
	base, err := url.Parse(f.server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return "", fmt.Errorf("--server %q: give an address such as http://127.0.0.1:8080", f.server)
	}
	return strings.TrimSuffix(f.server, "/") + "/api/v1/" + path, nil
}

func (f *liveFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--admin-token-file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// refusal turns an error of the server into one with what it said.
func refusal(code int, data []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(data, &said) != nil || said.Error == "" {
		said.Error = strings.TrimSpace(string(data))
	}
	switch code {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %s", errNotFound, said.Error)
	case http.StatusUnauthorized:
		return errors.New("the server asks for its token: give --admin-token-file or WARMPOOL_ADMIN_TOKEN_FILE")
	}
	return fmt.Errorf("the server answered %d: %s", code, said.Error)
}

// escape makes a path of an id: its slashes stay.
func escape(id string) string {
	parts := strings.Split(id, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func (f *liveFlags) checkOutput(c *cobra.Command) error {
	if f.output != "text" && f.output != "json" {
		return usageError{c.CommandPath(), fmt.Errorf("-o %q: it must be text or json", f.output)}
	}
	return nil
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
