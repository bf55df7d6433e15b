package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// demonstration runs the virtual cluster against a real server of this process until the context ends, and writes what
// was asked, answered and why. A build that links one sets it; admin is the address for pages and metrics.
var demonstration func(ctx context.Context, out io.Writer, logger *slog.Logger, admin string) error

func (f *serveFlags) runDemo(ctx context.Context, c *cobra.Command, logger *slog.Logger) error {
	if demonstration == nil {
		return errors.New("this build has no demonstration: use a release, or build ./cmd/warmpool")
	}
	admin := f.admin
	if !c.Flags().Changed("admin-listen") {
		admin = "127.0.0.1:0" // several at a time must not disturb each other; the address is printed
	}
	return demonstration(ctx, c.OutOrStdout(), logger, admin)
}
