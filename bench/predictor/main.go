// Command predictor measures the predictor and its rivals on recorded series
// and prints the comparison as Markdown.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	_ "time/tzdata"

	"golang.org/x/sync/errgroup"

	"github.com/warmpool/warmpool/predictor"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "predictor benchmark:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("traces", "../shared/traces", "directory with rate series (timestamp,value)")
	quick := flag.Bool("quick", false, "only the predictor and the reactive policy")
	mask := flag.Bool("mask", true, "leave one-off outliers out of the analogs")
	flag.Parse()
	traces, err := loadTraces(*dir)
	if err != nil {
		return err
	}
	results := make([]result, len(traces))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range traces {
		group.Go(func() error {
			var err error
			results[i], err = measure(t, *quick, func(s *predictor.Settings) { s.KeepOutliers = !*mask })
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, r := range results {
		for _, f := range r.figures {
			if f.Failures > 0 {
				fmt.Fprintf(os.Stderr, "%s, lead %v: %s failed at %d steps, its loss is infinite\n", r.Name, f.Lead, f.Method, f.Failures)
			}
		}
	}
	printTables(os.Stdout, results)
	return nil
}
