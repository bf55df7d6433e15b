package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes: 0 is success, 1 that the command failed, 2 that it was called wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program. The first signal ends it in order, the second one at once.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := misnamed(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "warmpool:", strings.TrimSpace(err.Error()))
	if usage, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "Run %q for its commands and flags.\n", usage.command+" --help")
		return exitUsage
	}
	return exitFailed
}

// usageError is a command that was called wrongly.
type usageError struct {
	command string
	error
}

func (e usageError) Unwrap() error { return e.error }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "warmpool",
		Short: "Keeps GPU inference on Kubernetes warm",
		Long: `warmpool answers the Cluster Autoscaler which node group to grow for pending GPU pods, and KEDA how many
replicas of an inference service to run, and records why.`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.AddCommand(newServeCommand(), newExplainCommand(), newBacktestCommand(), newReplayCommand(), newCheckConfigCommand(), newLintCommand(), newOverrideCommand(), newFreezeCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{c.CommandPath(), err} })
	strictArgs(root)
	return root
}

// misnamed finds a name that is no command where one is wanted. The library takes it for an argument of a group of
// commands, which only prints its help, and that is a success: "freeze scaler" would freeze nothing and tell nobody.
func misnamed(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return usageError{root.CommandPath(), err}
	}
	if c.Runnable() || !c.HasSubCommands() || c.ParseFlags(rest) != nil || c.Flags().NArg() == 0 {
		return nil
	}
	name, hint := c.Flags().Arg(0), ""
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(name); len(near) > 0 {
		hint = " (did you mean " + near[0] + "?)"
	}
	return usageError{c.CommandPath(), fmt.Errorf("unknown command %q for %q%s", name, c.CommandPath(), hint)}
}

// strictArgs makes a wrong number of arguments a usage error in every command; none are allowed where none are named.
func strictArgs(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		args := c.Args
		c.Args = func(c *cobra.Command, given []string) error {
			if args == nil {
				args = cobra.NoArgs
			}
			if err := args(c, given); err != nil {
				return usageError{c.CommandPath(), err}
			}
			return nil
		}
		strictArgs(c)
	}
}
