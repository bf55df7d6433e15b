package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestCommandReference keeps docs/cli.md equal to what --help prints.
func TestCommandReference(t *testing.T) {
	const path = "../../docs/cli.md"
	for _, name := range []string{"POD_NAME", "POD_NAMESPACE", "POD_IP"} { // defaults of some flags
		t.Setenv(name, "")
	}
	var b strings.Builder
	b.WriteString("# Command line\n\nGenerated from the program's own help; `go test ./cmd/warmpool -run CommandReference -update` rewrites it.\n" +
		"Exit codes: 0 success, 1 the command failed, 2 it was called wrongly.\n")
	var describe func(c *cobra.Command)
	describe = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Hidden {
			return
		}
		c.InitDefaultHelpFlag()
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n\n%s\n```\n", c.CommandPath(), strings.TrimSpace(text), strings.TrimSpace(c.UsageString()))
		for _, sub := range c.Commands() {
			describe(sub)
		}
	}
	describe(newRootCommand())
	got := b.String()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the program says (-want +got); rewrite it with -update:\n%s", path, diff)
	}
}
