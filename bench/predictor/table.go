package main

import (
	"fmt"
	"io"
)

func printTables(w io.Writer, results []result) {
	for _, r := range results {
		fmt.Fprintf(w, "%-34s %-10s %.2f", r.Name, r.group, r.season)
		for _, m := range []string{reactive, holtWinters, profile, reactiveScale, warmpool} {
			fmt.Fprintf(w, " | ")
			for l := 0; l < 3; l++ {
				if f, ok := r.find(m, l); ok {
					fmt.Fprintf(w, "%.2f ", f.Open.CostAt(0.02))
				} else {
					fmt.Fprintf(w, "- ")
				}
			}
		}
		fmt.Fprintf(w, " | .5%%: ")
		for l := 0; l < 3; l++ {
			if f, ok := r.find(warmpool, l); ok {
				fmt.Fprintf(w, "%.2f ", f.Open.CostAt(0.005))
			}
		}
		f, _ := r.find(warmpool, 1)
		g, _ := r.find(reactive, 1)
		fmt.Fprintf(w, " | %.3f (%.3f) cov %.3f on %.2f%% %.2f closed %.2f\n", f.WAPE, g.WAPE, f.Coverage, 100*f.Online.Short, f.Online.Cost, f.Closed.CostAt(0.02))
	}
}
