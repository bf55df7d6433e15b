package main

import (
	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/bench/demo"
)

// runDemo plays a day. It takes only what the demonstration leaves open: how long the day takes, the addresses when
// they are asked for, and the server's own log when its level is.
func (f *serveFlags) runDemo(c *cobra.Command) error {
	logger, err := f.logger(c.ErrOrStderr())
	if err != nil {
		return err
	}
	o := demo.Options{For: f.span, From: f.from, Out: c.OutOrStdout()}
	given := c.Flags().Changed
	if given("expander-listen") {
		o.Listen = f.expander
	}
	if given("admin-listen") {
		o.AdminListen = f.admin
	}
	if given("log-level") {
		o.Log = logger
	}
	return demo.Run(c.Context(), o)
}
