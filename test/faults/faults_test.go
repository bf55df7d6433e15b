package faults

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
)

// allPairs runs every pair of faults; without it each fault is paired with one other.
var allPairs = flag.Bool("pairs", false, "inject every pair of faults, not a sample")

// shard is the part of the pairs that is run, for machines that are shared.
var shard = flag.String("shard", "0/1", "run the pairs whose number modulo N is `K/N`")

// base is when the runs begin.
var base = time.Now().Truncate(time.Hour)

var theTwins twins

// childKey names the faults of a run that has a process of its own.
const childKey = "WARMPOOL_FAULTS"

func allFaults() []*fault {
	return slices.Concat(metricFaults, clusterFaults, diskFaults, certificateFaults, configFaults, clientFaults, clockFaults, zoneFaults, processFaults)
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Runs wait for connections much more than they compute.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// TestFaults injects each fault by itself and checks every column of its row.
func TestFaults(t *testing.T) {
	for _, f := range allFaults() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			inject(t, f)
		})
	}
}

// TestPairs injects two faults together and checks what holds under all of them.
func TestPairs(t *testing.T) {
	var number, k, n int
	if _, err := fmt.Sscanf(*shard, "%d/%d", &k, &n); err != nil || n < 1 {
		t.Fatalf("-shard %s: it must be like 2/7", *shard)
	}
	all := allFaults()
	for i, a := range all {
		for after, b := range all[i+1:] {
			// In the sample every fault meets one other, of another part.
			if sampled := after+1 == len(all)/2; a.excluding(b) || !*allPairs && !sampled {
				continue
			}
			if number++; number%n != k {
				continue
			}
			t.Run(a.String()+" + "+b.String(), func(t *testing.T) {
				t.Parallel()
				inject(t, a, b)
			})
		}
	}
}

// TestChild is one run, in the process that another test starts for it.
func TestChild(t *testing.T) {
	names := os.Getenv(childKey)
	if names == "" {
		t.Skip("there is nothing to do for a process of its own")
	}
	var faults []*fault
	for _, f := range allFaults() {
		if slices.Contains(strings.Split(names, "\n"), f.String()) {
			faults = append(faults, f)
		}
	}
	observe(t, faults...)
}

// inject makes a run with one fault or two, in a process of its own if one of them is a fault of the whole process.
func inject(t *testing.T, faults ...*fault) {
	t.Helper()
	if !slices.ContainsFunc(faults, func(f *fault) bool { return f.alone }) {
		observe(t, faults...)
		return
	}
	var names []string
	for _, f := range faults {
		names = append(names, f.String())
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=5m")
	child.Env = append(os.Environ(), childKey+"="+strings.Join(names, "\n"))
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
}

// observe makes a run and holds it against the twin.
func observe(t *testing.T, faults ...*fault) {
	t.Helper()
	from := base
	for _, f := range faults {
		if !f.from.IsZero() {
			from = f.from
		}
	}
	twin := theTwins.of(t, from)
	w := newWorld(t, t.Name(), from)
	seen := w.run(faults...)
	invariants(w, seen, twin, faults...)
	if len(faults) == 1 {
		f, r := faults[0], recordOf(w, seen, twin)
		for _, c := range slices.Concat(f.clients, f.decided, []claim{f.recovers}) {
			if err := c.check(r); err != nil {
				t.Errorf("not so: %s\n%v", c.text, err)
			}
		}
	}
	if t.Failed() {
		for i, o := range seen {
			t.Log(o.tick, o.keda, "right:", twin[i].keda, o.kept, o.ca)
		}
	}
}

// excluding tells whether two faults cannot be there at the same time.
func (f *fault) excluding(other *fault) bool {
	return f.takes != "" && f.takes == other.takes || f.part == other.part && (slices.Contains(f.excludes, other.name) || slices.Contains(other.excludes, f.name))
}
