package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	n := flag.Int("n", 1000, "`kills`")
	seed := flag.Uint64("seed", 1, "`seed` of the moments")
	binary := flag.String("binary", "", "warmpool `binary`; built if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *n, *seed, *binary, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

// run kills n processes, one after the other, on one data directory.
func run(ctx context.Context, n int, seed uint64, binary string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "warmpool-kill-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			fmt.Fprintln(out, "the data directory is kept:", dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	if binary == "" {
		if binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	s, err := newStage(dir, binary)
	if err != nil {
		return err
	}
	defer s.close()
	started, random := time.Now(), rand.New(rand.NewPCG(seed, 0))
	var sum tally
	if err := s.warmUp(ctx); err != nil {
		return fmt.Errorf("first start, without a kill: %w", err)
	}
	for i := range n {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.cycle(ctx, planOf(random), &sum); err != nil {
			return fmt.Errorf("kill %d of %d, seed %d: %w", i+1, n, seed, err)
		}
		if (i+1)%50 == 0 {
			fmt.Fprintf(out, "%d kills, %v\n", i+1, time.Since(started).Round(time.Second))
		}
	}
	sum.write(out, n, seed, time.Since(started))
	return nil
}

// build makes the binary from this module.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "warmpool")
	text, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/warmpool/warmpool/cmd/warmpool").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build warmpool: %w\n%s", err, text)
	}
	return path, nil
}

// plan says when a process is killed.
type plan struct {
	// after is the time from its start, or from its first answer if it may serve.
	serve bool
	after time.Duration
	// asked ends it in order first: then it is killed while it saves everything.
	asked bool
	grace time.Duration
}

func planOf(random *rand.Rand) plan {
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	if random.IntN(10) < 3 {
		return plan{after: upTo(300 * time.Millisecond)}
	}
	return plan{serve: true, after: upTo(80 * time.Millisecond), asked: random.IntN(2) == 0, grace: upTo(40 * time.Millisecond)}
}

// tally counts what happened, so that a run that hit nothing does not pass for one that did.
type tally struct {
	early, serving, ending, ended  int
	torn, temporary, states, plans int
	choices, targets, overrides    int
	unanswered, decisions          int
}

func (t *tally) write(out io.Writer, n int, seed uint64, took time.Duration) {
	fmt.Fprintf(out, "%d kills with seed %d in %v: %d before the first answer, %d while serving, %d while ending in order (%d had just ended)\n",
		n, seed, took.Round(time.Second), t.early, t.serving, t.ending, t.ended)
	fmt.Fprintf(out, "answered meanwhile: %d choices of a node group, %d targets, %d overrides; %d calls had no answer\n", t.choices, t.targets, t.overrides, t.unanswered)
	fmt.Fprintf(out, "found: %d files that were being written, %d lines of the decision log cut off, %d decisions, %d saved states and %d saved forecasts looked at; nothing was half, nothing acknowledged was lost\n",
		t.temporary, t.torn, t.decisions, t.states, t.plans)
}

var errHalf = errors.New("neither the old content nor the new one")
