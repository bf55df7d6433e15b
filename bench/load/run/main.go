// Command run puts the real server under load for a while and says what it measured; see package soak.
//
//	go run ./bench/load/run -binary bin/warmpool                      the run that docs/reliability.md reports
//	go run ./bench/load/run -binary bin/warmpool -objects 10000 -warmup 2m -for 4m
//
// With -write the table goes into a document, between the markers <!-- generated: load NAME --> and <!-- end -->.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/warmpool/warmpool/bench/load/soak"
)

// constantCommand is the argument that makes this program the constant server.
const constantCommand = "serve-constant"

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	if len(args) == 5 && args[0] == constantCommand {
		return soak.ServeConstant(args[1], args[2], args[3], args[4])
	}
	o := soak.Defaults()
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.StringVar(&o.Binary, "binary", "bin/warmpool", "the `program` to run")
	flags.StringVar(&o.Dir, "dir", "", "`directory` for its configuration, data and log; by default one that is removed at the end")
	flags.IntVar(&o.Objects, "objects", o.Objects, "scaled objects")
	flags.IntVar(&o.Few, "few", o.Few, "connections without TLS that half of them share")
	flags.IntVar(&o.Many, "many", o.Many, "connections with TLS that the others share")
	flags.IntVar(&o.Streams, "streams", o.Streams, "scaled objects with a push stream")
	flags.IntVar(&o.Forecasts, "forecasts", o.Forecasts, "scaled objects with a forecast")
	flags.DurationVar(&o.Warmup, "warmup", o.Warmup, "time before anything is measured")
	flags.DurationVar(&o.For, "for", o.For, "measured time")
	flags.IntVar(&o.Wave.Groups, "groups", o.Wave.Groups, "node groups of a BestOptions request")
	flags.IntVar(&o.Wave.Pods, "pods", o.Wave.Pods, "pods of a BestOptions request")
	flags.DurationVar(&o.Burst, "burst", o.Burst, "time between two BestOptions requests")
	write := flags.String("write", "", "`document` to write the table into")
	name := flags.String("name", "", "`name` of the table in the document; by default the number of objects")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Log = slog.New(slog.NewTextHandler(progress, nil))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Constant = []string{self, constantCommand}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "warmpool-load-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(o.Dir) }()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	result, err := soak.Run(ctx, o)
	if err != nil {
		return err
	}
	table := tableOf(result)
	fmt.Fprint(out, table)
	if *write != "" {
		if *name == "" {
			*name = fmt.Sprint(o.Objects)
		}
		if err := writeTable(*write, *name, table); err != nil {
			return err
		}
	}
	if len(result.Problems) > 0 {
		return errors.New("the run is not passed")
	}
	return nil
}

func tableOf(r *soak.Result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| %d scaled objects | %s %s/%s, %d processors |\n|---|---|\n", r.Options.Objects, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, row := range r.Rows() {
		fmt.Fprintf(&text, "| %s | %s |\n", row[0], row[1])
	}
	return text.String()
}
