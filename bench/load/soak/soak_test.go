package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/load"
)

// binary is the program under test, built once unless WARMPOOL_BINARY names one.
var binary string

const constantCommand = "serve-constant"

func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == constantCommand {
		fmt.Fprintln(os.Stderr, ServeConstant(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
		os.Exit(1)
	}
	os.Exit(testAll(m))
}

func testAll(m *testing.M) int {
	if binary = os.Getenv("WARMPOOL_BINARY"); binary == "" {
		dir, err := os.MkdirTemp("", "warmpool-soak-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "warmpool")
		build := exec.Command("go", "build", "-o", binary, "github.com/warmpool/warmpool/cmd/warmpool")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// TestSmoke is a run of a few seconds: everything that a long one does, and nothing that depends on how fast the machine
// is.
func TestSmoke(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Binary: binary, Constant: []string{self, constantCommand},
		Objects: 24, Few: 2, Many: 6, Streams: 6, Forecasts: 3, Poll: time.Second, Evaluate: time.Second,
		Wave: load.Wave{Groups: 6, Pods: 20}, Burst: time.Second, WarmupBurst: 500 * time.Millisecond,
		Warmup: 4 * time.Second, For: 3 * time.Second, Sample: 700 * time.Millisecond, CallLimit: time.Minute,
	}
	var r *Result
	for range 3 { // longer where the machine is too busy to get anywhere
		o.Dir = t.TempDir()
		if r, err = Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if r.First.Calls > 0 {
			break
		}
		o.Warmup, o.For = 4*o.Warmup, 4*o.For
	}
	for what, n := range r.Failed {
		if !strings.Contains(what, "DeadlineExceeded") {
			t.Errorf("%d times %s", n, what)
		}
	}
	for _, method := range []string{"GetMetricSpec", "BestOptions"} {
		if r.Calls[method] == 0 {
			t.Errorf("%s was not called; calls %v", method, r.Calls)
		}
	}
	if r.First.Calls == 0 || r.Resident.Most < 1<<20 || r.Goroutines.Most == 0 || r.Descriptors.Most == 0 {
		t.Errorf("nothing measured: %+v", r)
	}
	t.Log(r.Rows())
}

// TestLeakCheck tells what grows from what goes up and down.
func TestLeakCheck(t *testing.T) {
	const minutes = 10
	for name, test := range map[string]struct {
		at   func(minute float64) float64
		want bool
	}{
		"level":                 {func(float64) float64 { return 100 }, false},
		"saw tooth":             {func(m float64) float64 { return 100 + 80*(m*3-float64(int(m*3))) }, false},
		"one peak at the end":   {func(m float64) float64 { return map[bool]float64{true: 300, false: 100}[m > 9.8] }, false},
		"grows":                 {func(m float64) float64 { return 100 + 6*m }, true},
		"grows under saw tooth": {func(m float64) float64 { return 100 + 12*m + 40*(m*3-float64(int(m*3))) }, true},
		"falls":                 {func(m float64) float64 { return 100 - 6*m }, false},
		"grows within limits":   {func(m float64) float64 { return 100 + m/2 }, false},
	} {
		var readings []Reading
		for at := time.Duration(0); at < minutes*time.Minute; at += 7 * time.Second {
			readings = append(readings, Reading{At: at, Heap: test.at(at.Minutes())})
		}
		g := growthOf(readings, func(r Reading) float64 { return r.Heap })
		if got := g.leaked(minutes*time.Minute, 0.1, 16); got != test.want {
			t.Errorf("%s: leaked %v, want %v: %+v", name, got, test.want, g)
		}
	}
}

// TestOnlyThisMachine refuses to talk to any other.
func TestOnlyThisMachine(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "10.0.0.1:1": false, "example.com:443": false, "0.0.0.0:1": false, "x": false} {
		if got := onLoopback(address) == nil; got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// TestRows takes the models that an expression names, or all.
func TestRows(t *testing.T) {
	m := NewMetricStore(5)
	const all = "sum by (namespace, model_name) (vllm:num_requests_waiting)"
	for query, want := range map[string]string{
		all: "[0 1 2 3 4]",
		"(" + all + `) and on (model_name, namespace) (label_replace(vector(1), "model_name", "m3", "", "") or label_replace(vector(1), "model_name", "m1", "", ""))`: "[3 1]",
		"max by (namespace, workload) (kube_deployment_spec_replicas)": "[]",
	} {
		if got := fmt.Sprint(m.rows(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
