package soak

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

// address is one name for several instances, as a Service is: each new connection goes to the next one that accepts it.
type address struct {
	listener net.Listener
	targets  []string
	next     atomic.Uint64
}

func newAddress(t *testing.T, targets ...string) *address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &address{listener: l, targets: targets}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { a.forward(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return a
}

func (a *address) forward(client net.Conn) {
	defer client.Close()
	first := a.next.Add(1)
	for i := range uint64(len(a.targets)) {
		server, err := net.Dial("tcp", a.targets[(first+i)%uint64(len(a.targets))])
		if err != nil {
			continue // this instance is down
		}
		var pair sync.WaitGroup
		pair.Go(func() { _, _ = io.Copy(server, client); server.Close() })
		pair.Go(func() { _, _ = io.Copy(client, server); client.Close() })
		pair.Wait()
		return
	}
}

func (a *address) dial(t *testing.T) pb.ExternalScalerClient {
	t.Helper()
	conn, err := dial(a.listener.Addr().String(), insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

// fleet is what two instances share.
type fleet struct {
	store      *MetricStore
	prometheus string
	api        *apiServer
	kubeconfig string
	dir        string
}

const models = 20

// nextPoll is when a client comes again after a call that failed: later than gRPC's pause after a connection that failed,
// which is a second or a little more, and far sooner than KEDA and the Cluster Autoscaler, which take ten.
const nextPoll = 3 * time.Second

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{store: NewMetricStore(models), dir: t.TempDir()}
	f.load(func(int, time.Time) float64 { return 12 })
	s := httptest.NewServer(f.store)
	t.Cleanup(s.Close)
	f.prometheus = s.URL
	f.api, f.kubeconfig = newAPIServer(t)
	if err := os.WriteFile(filepath.Join(f.dir, "token"), []byte("shared"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleet) load(of func(model int, at time.Time) float64) { f.store.SetLoad(of) }

// configuration has one service for all, sized by the requests that one replica holds.
func (f *fleet) configuration(concurrency int) string {
	text := fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %s, timeout: 30s}
evaluationInterval: 3s
caVersion: "1.35"
pools:
  - {name: gpu, class: inference, capacityType: on-demand, match: {nodeGroups: ["^gpu-"]}}
expander:
  mode: active
  workloads:
    - {name: inference, match: {podLabels: {workload-tier: inference}}, stages: [{pools: [gpu]}]}
services:
`, f.prometheus)
	for model := range models {
		text += fmt.Sprintf(`  - {name: m%d, namespace: %s, preset: vllm, selector: {model_name: m%d}, replicas: {min: 1, max: 50},
     perReplica: {concurrency: %d, maxUtilization: 1}, forecast: {mode: "off"}, scaleDown: {window: 300s}, startup: {lead: 60s}}
`, model, Namespace(model), model, concurrency)
	}
	return text
}

// instance makes one of several, or a single one.
func (f *fleet) instance(t *testing.T, name string, concurrency int, single bool) *Server {
	t.Helper()
	dir := filepath.Join(f.dir, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	var more []string
	if !single {
		more = []string{
			"--kubeconfig", f.kubeconfig, "--lease-namespace", "ns", "--identity", name,
			"--peer-token-file", filepath.Join(f.dir, "token"), "--peer-server-name", "localhost",
		}
	}
	s, err := NewServer(binary, dir, filepath.Join(f.dir, "tls"), f.configuration(concurrency), more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.Process != nil {
			_ = s.Stop(syscall.SIGKILL)
		}
		if t.Failed() && s.Process != nil {
			t.Logf("output of %s:\n%s", name, s.Output())
		}
	})
	return s
}

func start(t *testing.T, s *Server) *Server {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// one asks for the target of a model. The deadline is one that only a call which hangs does not meet.
func one(t *testing.T, client pb.ExternalScalerClient, model int, options ...grpc.CallOption) (int64, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	name := fmt.Sprintf("m%d", model)
	answer, err := client.GetMetrics(ctx, &pb.GetMetricsRequest{
		ScaledObjectRef: &pb.ScaledObjectRef{Namespace: Namespace(model), Name: name, ScalerMetadata: map[string]string{"service": name}},
		MetricName:      name + "-replicas",
	}, options...)
	if err != nil {
		return 0, err
	}
	return answer.GetMetricValues()[0].GetMetricValue(), nil
}

// reaches waits until every model has a target.
func reaches(t *testing.T, client pb.ExternalScalerClient, want int64) {
	t.Helper()
	for model := range models {
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			got, err := one(t, client, model)
			if err == nil && got == want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("m%d: %d, %v, want %d", model, got, err, want)
			}
		}
	}
}

func direct(t *testing.T, s *Server) pb.ExternalScalerClient {
	t.Helper()
	conn, err := s.Dial(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

// TestKilledUnderLoad kills the instance that computes while clients of both interfaces call. Of the calls that are under
// way then, each may fail once; the next one of the same client succeeds, with the answer that there was before. The other
// instance takes over and follows the load.
func TestKilledUnderLoad(t *testing.T) {
	f := newFleet(t)
	a, b := f.instance(t, "a", 2, false), f.instance(t, "b", 2, false)
	start(t, a)
	reaches(t, direct(t, a), 6)
	start(t, b)
	onlyB := direct(t, b)
	reaches(t, onlyB, 6)
	if holder := f.api.holder(); holder != "a" {
		t.Fatalf("%q computes, want a, which was first", holder)
	}
	keda, autoscaler := newAddress(t, a.Plain, b.Plain), newAddress(t, a.Expander, b.Expander)

	stop, killed := make(chan struct{}), make(chan struct{})
	var calling sync.WaitGroup
	var calls, lost atomic.Int64
	started := time.Now()
	repeat := func(call func() error) {
		calling.Go(func() {
			var last error
			for failed := time.Duration(-1); ; time.Sleep(10 * time.Millisecond) {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Since(started)
				err := call()
				calls.Add(1)
				if err == nil {
					failed = -1
					continue
				}
				lost.Add(1)
				select {
				case <-killed:
				default:
					t.Errorf("a call failed before anything was killed: %v", err)
				}
				if failed >= 0 {
					t.Errorf("two calls in a row failed: at %v: %v; at %v: %v", failed, last, began, err)
				}
				failed, last = began, err
				time.Sleep(nextPoll)
			}
		})
	}
	for model := range models {
		client := keda.dial(t)
		repeat(func() error {
			got, err := one(t, client, model)
			if err == nil && got != 6 {
				t.Errorf("m%d: %d, want 6 all the time", model, got)
			}
			return err
		})
	}
	request := bestOptions(t)
	client, err := caclient.Dial(localhost(autoscaler.listener.Addr().String()), a.CA, caclient.V1_35_0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	repeat(func() error {
		answer, err := client.Send(t.Context(), request)
		switch {
		case status.Code(err) == codes.DeadlineExceeded:
			return nil // its deadline is fixed, and a machine may be too busy for it
		case err == nil && len(answer.GetOptions()) != 1:
			return fmt.Errorf("%d options", len(answer.GetOptions()))
		}
		return err
	})

	waitFor(&calls, 500)
	close(killed)
	if err := a.Stop(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(&calls, calls.Load()+2000) // most of them after the pauses
	for f.api.holder() != "b" {
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	calling.Wait()
	t.Logf("%d calls, %d of them lost with the connection", calls.Load(), lost.Load())

	f.load(func(int, time.Time) float64 { return 20 })
	reaches(t, onlyB, 10)
}

func waitFor(n *atomic.Int64, want int64) {
	for n.Load() < want {
		time.Sleep(5 * time.Millisecond)
	}
}

func localhost(address string) string {
	return "localhost" + address[strings.LastIndexByte(address, ':'):]
}

func bestOptions(t *testing.T) []byte {
	t.Helper()
	message, err := load.Wave{Groups: 6, Pods: 20}.Loop().Message(caclient.V1_35_0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRollingRestart replaces both instances by ones whose configuration gives twice the target, one after the other, as a
// deployment does. Whoever asks both in turn sees the target change once, and neither go back nor pass anything else.
func TestRollingRestart(t *testing.T) {
	f := newFleet(t)
	a, b := start(t, f.instance(t, "a", 2, false)), f.instance(t, "b", 2, false)
	reaches(t, direct(t, a), 6)
	start(t, b)
	reaches(t, direct(t, b), 6)
	// The new ones have addresses of their own, as new pods do.
	a2, b2 := f.instance(t, "a2", 1, false), f.instance(t, "b2", 1, false)

	// Everybody who answers is asked, without a pause, in turn.
	instances := []*Server{a, b, a2, b2}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var seen []sighting
	asking.Go(func() {
		clients := make([]pb.ExternalScalerClient, len(instances))
		for i, s := range instances {
			clients[i] = direct(t, s)
		}
		for {
			for i, client := range clients {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				if got, err := one(t, client, 3); err == nil {
					seen = append(seen, sighting{i, got, began, time.Now()})
				}
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	start(t, b2)
	reaches(t, direct(t, b2), 6) // the old leader computes
	if err := b.Stop(syscall.SIGTERM); err != nil {
		t.Errorf("the end of b: %v", err)
	}
	start(t, a2)
	if err := a.Stop(syscall.SIGTERM); err != nil {
		t.Errorf("the end of a: %v", err)
	}
	reaches(t, direct(t, a2), 12)
	reaches(t, direct(t, b2), 12)
	close(stop)
	asking.Wait()
	checkTurn(t, seen)
}

// sighting is one answer, with when it was asked for and given.
type sighting struct {
	instance     int
	target       int64
	began, ended time.Time
}

// checkTurn wants 6 and then 12, and after the first 12 no 6 that was asked for more than an evaluation interval later.
func checkTurn(t *testing.T, seen []sighting) {
	t.Helper()
	var first time.Time
	old, answers := 0, map[int]int{}
	var longest time.Duration
	for _, s := range seen {
		answers[s.instance]++
		switch {
		case s.target == 12 && first.IsZero():
			first = s.ended
		case s.target == 6 && !first.IsZero():
			old++
			longest = max(longest, s.began.Sub(first))
		case s.target != 6 && s.target != 12:
			t.Errorf("instance %d answered %d, want 6 or 12", s.instance, s.target)
		}
	}
	if len(answers) != 4 || first.IsZero() {
		t.Errorf("answers by instance %v, the new target %v", answers, first)
	}
	if longest > 3*time.Second {
		t.Errorf("the old target was still answered %v after the new one, want at most one evaluation", longest)
	}
	t.Logf("%d answers %v, %d of the old target after the new one, for %v", len(seen), answers, old, longest)
}

// TestStateIsRebuilt takes the state away from an instance whose target is held up by its scale-down window, which is what
// only the past knows. The next process gives the same answer with the stored state, without it, and with a file that is
// not one. Meanwhile the load is a third of what the target is for.
func TestStateIsRebuilt(t *testing.T) {
	f := newFleet(t)
	s := f.instance(t, "a", 2, true)
	start(t, s)
	reaches(t, direct(t, s), 6)
	falls := time.Now()
	f.load(func(_ int, at time.Time) float64 {
		if at.Before(falls) {
			return 12
		}
		return 4
	})
	client := direct(t, s)
	for name, change := range map[string]func() error{
		"kept":    func() error { return nil },
		"deleted": func() error { return os.RemoveAll(s.Data()) },
		"damaged": func() error {
			return os.WriteFile(filepath.Join(s.Data(), "warmpool.db"), []byte("not a database"), 0o600)
		},
	} {
		if err := s.Stop(syscall.SIGTERM); err != nil {
			t.Errorf("%s: the end of the process before: %v", name, err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		start(t, s)
		for model := range models {
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
				got, err := one(t, client, model, grpc.WaitForReady(true))
				if err == nil && got != 6 {
					t.Errorf("state %s: m%d answers %d, want the 6 from before", name, model, got)
				}
				if err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("state %s: %v", name, err)
				}
			}
		}
	}
	// A second process cannot take the files of one that lives.
	second := f.instance(t, "second", 2, true)
	second.command = append(second.command, "--data-dir", s.Data())
	if err := second.Start(); err == nil || !strings.Contains(err.Error(), "give each instance its own --data-dir") {
		t.Errorf("a second instance in the same directory: %v", err)
	}
}
