package faults

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// base is when the runs begin.
var base = time.Now().Truncate(time.Hour)

var theTwins twins

// quiet is held while a fault of the whole process is there, and shared by all other runs.
var quiet sync.RWMutex

func allFaults() []*fault {
	return slices.Concat(metricFaults, clusterFaults, diskFaults, certificateFaults, clientFaults, configFaults, clockFaults)
}

// hold keeps faults of the whole process away from other runs.
func hold(t *testing.T, faults ...*fault) {
	if slices.ContainsFunc(faults, func(f *fault) bool { return f.alone }) {
		quiet.Lock()
		t.Cleanup(quiet.Unlock)
		return
	}
	quiet.RLock()
	t.Cleanup(quiet.RUnlock)
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Runs wait for connections much more than they compute.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestFaults injects each fault by itself and checks every column of its row.
func TestFaults(t *testing.T) {
	twin := theTwins.of(t, base)
	for _, f := range allFaults() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			hold(t, f)
			w := newWorld(t, f.String(), base)
			seen := w.run(f)
			invariants(w, seen, twin, f)
			r := recordOf(w, seen, twin)
			for _, c := range slices.Concat(f.clients, f.decided, []claim{f.recovers}) {
				if err := c.check(r); err != nil {
					t.Errorf("not so: %s\n%v", c.text, err)
				}
			}
			if t.Failed() {
				for _, o := range seen {
					fmt.Println(f, o.tick, o.keda, twin[o.tick].keda, o.kept, o.ca)
				}
			}
		})
	}
}
