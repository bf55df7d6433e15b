// Command suite runs the benchmark on recorded traces and writes the page of results.
//
// Every number on the page is measured by the command that the page names; the same seeds give the same bytes.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// settings are the size of the benchmark.
type settings struct {
	traces     string
	full       bool
	seed       uint64
	replicates int
	seeds      int
	// series limits the traffic to some recordings; empty is the whole selection.
	series string
	log    io.Writer
}

func main() {
	var s settings
	out := flag.String("out", "", "`file` to write; empty is the standard output")
	only := flag.String("only", "", "comma-separated `parts` to run: placement, spot, traffic; empty is all")
	flag.StringVar(&s.series, "series", "", "comma-separated `names` of the recordings of traffic to play, as tables name them; empty is the whole selection")
	flag.StringVar(&s.traces, "traces", "../shared/traces", "`directory` of the recorded traces")
	flag.BoolVar(&s.full, "full", false, "every series, both needs, three start-up times, 24 replicates")
	flag.Uint64Var(&s.seed, "seed", 1, "first seed of every draw")
	flag.Parse()
	s.log = os.Stderr
	s.replicates, s.seeds = 6, 2
	if s.full {
		s.replicates, s.seeds = 24, 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, only, out string) error {
	var page bytes.Buffer
	s.head(&page, only)
	for _, part := range []struct {
		name string
		do   func(context.Context, settings, io.Writer) error
	}{{"placement", placement}, {"spot", spot}, {"traffic", traffic}} {
		if only != "" && !strings.Contains(","+only+",", ","+part.name+",") {
			continue
		}
		start := time.Now()
		if err := part.do(ctx, s, &page); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintf(s.log, "%s took %s\n", part.name, time.Since(start).Round(time.Second))
	}
	if out == "" {
		_, err := page.WriteTo(os.Stdout)
		return err //nolint:wrapcheck // the error names standard output
	}
	if err := os.WriteFile(out, page.Bytes(), 0o644); err != nil { //nolint:gosec // a page to be read
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (s settings) head(w io.Writer, only string) {
	command := "make bench"
	if s.full {
		command = "make bench-full"
	}
	if only != "" || s.series != "" {
		command = "go run ./bench/suite"
		for _, f := range []struct{ name, value string }{{"only", only}, {"series", s.series}} {
			if f.value != "" {
				command += " -" + f.name + " " + f.value
			}
		}
		if s.full {
			command += " -full"
		}
	}
	fmt.Fprintf(w, `# Benchmarks

Written by %s; it measures every number below. Seeds from %d on. The same command on the
same traces gives the same bytes. The traces are public recordings that are not part of this repository; their
addresses, commits, checksums and licences are in bench/trace/manifest.json.

`, "`"+command+"`", s.seed)
}

// at is a file of the traces.
func (s settings) at(name string) string { return filepath.Join(s.traces, filepath.FromSlash(name)) }
