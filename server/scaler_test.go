package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/scaler"
)

func ref(service string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Name: "so", Namespace: "ml", ScalerMetadata: map[string]string{"service": service, "scalerAddress": "x:1"}}
}

func TestValueAndActivityOfEveryTarget(t *testing.T) {
	r := run(t, nil)
	client := pb.NewExternalScalerClient(r.dial(t, "scaler"))
	for n := range 121 {
		r.board.set("ml/llama", n)
		got, err := client.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref("llama"), MetricName: "llama-replicas"})
		want := &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: "llama-replicas", MetricValue: int64(n), MetricValueFloat: float64(n)}}}
		if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
			t.Fatalf("target %d: %v\n%s", n, err, diff)
		}
		active, err := client.IsActive(t.Context(), ref("llama"))
		if err != nil || active.GetResult() != (n > 0) {
			t.Fatalf("target %d: active %v, %v", n, active.GetResult(), err)
		}
	}
}

// TestBeforeTheFirstSample is keda-7729: the spec does not need a source, the value does.
func TestBeforeTheFirstSample(t *testing.T) {
	r := run(t, nil)
	client := pb.NewExternalScalerClient(r.dial(t, "scaler"))
	if _, err := client.GetMetricSpec(t.Context(), ref("warm-up")); err != nil { // connects
		t.Fatal(err)
	}
	// The fastest of a few calls: on a machine that is busy with other things the first one may wait for its turn.
	var spec *pb.GetMetricSpecResponse
	var err error
	took := time.Hour
	for range 20 {
		start := time.Now()
		spec, err = client.GetMetricSpec(t.Context(), ref("llama"))
		if took = min(took, time.Since(start)); took <= 100*time.Millisecond {
			break
		}
	}
	want := &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "llama-replicas", TargetSize: 1, TargetSizeFloat: 1}}}
	if diff := cmp.Diff(want, spec, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("spec: %v\n%s", err, diff)
	}
	if took > 100*time.Millisecond {
		t.Errorf("GetMetricSpec took %v", took)
	}
	_, err = client.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref("llama"), MetricName: "llama-replicas"})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("GetMetrics: %v", err)
	}
	if _, err = client.IsActive(t.Context(), ref("llama")); status.Code(err) != codes.Unavailable {
		t.Errorf("IsActive: %v", err)
	}
	r.board.put(scaler.Decision{Service: "ml/llama", Replicas: 4, Unavailable: "every source is older than 90s", Time: time.Now()})
	if _, err = client.IsActive(t.Context(), ref("llama")); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "older than 90s") {
		t.Errorf("IsActive with old data: %v", err)
	}
}

func TestStatusCodes(t *testing.T) {
	r := run(t, nil)
	client := pb.NewExternalScalerClient(r.dial(t, "scaler"))
	r.board.set("ml/llama", 3)
	metrics := func(r *pb.ScaledObjectRef, name string) error {
		_, err := client.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: r, MetricName: name})
		return err
	}
	secret := ref("llama")
	secret.ScalerMetadata["bad"] = "s3cr3t-value"
	huge := ref(strings.Repeat("x", maxMessage))
	for _, test := range []struct {
		name string
		err  error
		code codes.Code
		text string
	}{
		{"ok", metrics(ref("llama"), "llama-replicas"), codes.OK, ""},
		{"names are compared without regard to case", metrics(ref("llama"), "LLAMA-Replicas"), codes.OK, ""},
		{"unknown metric", metrics(ref("llama"), "s0-llama-replicas"), codes.InvalidArgument, `"llama-replicas"`},
		{"unknown service", metrics(ref("none"), "x"), codes.NotFound, "ml/none"},
		{"unknown key", metrics(secret, "x"), codes.InvalidArgument, "bad"},
		{"panic", metrics(ref("panic"), "x"), codes.Internal, "internal error"},
		{"after the panic", metrics(ref("llama"), "llama-replicas"), codes.OK, ""},
		{"too large", metrics(huge, "x"), codes.ResourceExhausted, ""},
	} {
		if status.Code(test.err) != test.code || test.err != nil && !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v, want %v with %q", test.name, test.err, test.code, test.text)
		}
	}
	stream, err := client.StreamMetricSpec(t.Context(), ref("llama"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("StreamMetricSpec: %v", err)
	}
	if strings.Contains(r.logs.String(), "s3cr3t-value") {
		t.Error("a metadata value is in the log")
	}
	if got := counter(t, r.options.Registry, "warmpool_server_panics_total"); got != 1 {
		t.Errorf("panics counted: %v", got)
	}
}

func counter(t testing.TB, g prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func TestMetricName(t *testing.T) {
	for service, want := range map[string]string{
		"ml/llama":       "llama-replicas",
		"ml/a.b_c-9":     "a.b_c-9-replicas",
		"ml/x%y:z é":     "x-y-z---replicas",
		"ml/vllm:7b/..a": "..a-replicas",
	} {
		if got := metricName(service); got != want {
			t.Errorf("metricName(%q) = %q, want %q", service, got, want)
		}
	}
}

// TestManyScaledObjects is keda-2665: 200 objects, three calls each at once over one connection, while every source
// takes 5 s. The board does not care. On a machine that is busy with other things the bound is what the same number of
// health checks takes, which do nothing at all.
func TestManyScaledObjects(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.Logger = nil })
	conn := r.dial(t, "scaler")
	client := pb.NewExternalScalerClient(conn)
	for i := range 200 {
		r.board.set("ml/"+objectName(i), i)
	}
	health := grpc_health_v1.NewHealthClient(conn)
	check := func() error { _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); return err }
	if err := check(); err != nil { // connects
		t.Fatal(err)
	}
	var p99, bound time.Duration
	for range 5 {
		_, idle := atOnce(t, slices.Repeat([]func() error{check}, 600))
		var p50 time.Duration
		p50, p99 = atOnce(t, callsOf(t, client))
		bound = max(100*time.Millisecond, 3*idle)
		t.Logf("600 calls: p50 %v, p99 %v; 600 health checks: p99 %v", p50, p99, idle)
		if p99 < bound {
			return
		}
	}
	t.Errorf("p99 %v in the last of 5 rounds, want below %v", p99, bound)
}

func objectName(i int) string { return fmt.Sprintf("s%d", i) }

// callsOf are the calls of 200 objects.
func callsOf(t *testing.T, client pb.ExternalScalerClient) []func() error {
	var calls []func() error
	for i := range 200 {
		object := ref(objectName(i))
		calls = append(calls,
			func() error { _, err := client.GetMetricSpec(t.Context(), object); return err },
			func() error {
				got, err := client.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: object, MetricName: objectName(i) + "-replicas"})
				if err == nil && got.GetMetricValues()[0].GetMetricValue() != int64(i) {
					t.Errorf("object %d got %v", i, got)
				}
				return err
			},
			func() error { _, err := client.IsActive(t.Context(), object); return err })
	}
	return calls
}

// atOnce makes calls in parallel and returns the median and the 99th percentile of the time that they took.
func atOnce(t *testing.T, calls []func() error) (p50, p99 time.Duration) {
	t.Helper()
	took := make([]time.Duration, len(calls))
	var wait sync.WaitGroup
	for i, call := range calls {
		wait.Go(func() {
			start := time.Now()
			if err := call(); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(start)
		})
	}
	wait.Wait()
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// sent is the server's side of a push stream without a network, so that its time can be virtual.
type sent struct {
	grpc.ServerStreamingServer[pb.IsActiveResponse]
	ctx context.Context
	t0  time.Time

	mu  sync.Mutex
	at  []time.Duration
	all []bool
}

func (s *sent) Context() context.Context { return s.ctx }

func (s *sent) Send(m *pb.IsActiveResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Since(s.t0))
	s.all = append(s.all, m.GetResult())
	return nil
}

func (s *sent) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at)
}

// TestPushStream is keda-6986: true at once and with every heartbeat while the target is above zero, at the change
// itself, and never false.
func TestPushStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := newBoard(), make(chan struct{})
		s := &scalerService{scaler: b, heartbeat: 10 * time.Second, stop: stop, metrics: newMetrics(prometheus.NewRegistry())}
		out := &sent{ctx: t.Context(), t0: time.Now()}
		b.set("ml/llama", 2)
		done := make(chan error, 1)
		go func() { done <- s.StreamIsActive(ref("llama"), out) }()

		at := func(second float64, n int) {
			time.Sleep(time.Duration(second*float64(time.Second)) - time.Since(out.t0))
			synctest.Wait()
			if n >= 0 {
				b.set("ml/llama", n)
			}
			synctest.Wait()
		}
		at(0, -1)
		if got := out.times(); len(got) != 1 || got[0] != 0 {
			t.Fatalf("at the start: %v", got)
		}
		at(60.5, 3)
		at(119.5, -1)
		if got := out.times(); len(got) != 12 { // at 0 s and every 10 s to 110 s: a changed number is no news
			t.Errorf("until 119.5 s: %v", got)
		}
		at(119.6, 0)
		at(180, -1)
		if got := out.times(); len(got) != 12 {
			t.Errorf("while inactive: %v", got[12:])
		}
		at(183.2, 1) // noctaya-42: the arrival is pushed, nobody waits for a poll
		if got := out.times(); len(got) != 13 || got[12] != 183200*time.Millisecond {
			t.Errorf("after the arrival: %v", got[12:])
		}
		close(stop)
		if err := <-done; err != nil {
			t.Errorf("at the end of the server: %v", err)
		}
		if slices.Contains(out.all, false) {
			t.Error("false was sent")
		}
	})
}

// TestPushStreamWithoutData stays open and silent, and wakes up with the first valid target.
func TestPushStreamWithoutData(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.Heartbeat = 20 * time.Millisecond })
	client := pb.NewExternalScalerClient(r.dial(t, "scaler-insecure", plaintext()))
	stream, err := client.StreamIsActive(t.Context(), ref("llama"))
	if err != nil {
		t.Fatal(err)
	}
	for counter(t, r.options.Registry, "warmpool_scaler_push_streams") != 1 {
		time.Sleep(time.Millisecond)
	}
	r.board.put(scaler.Decision{Service: "ml/llama", Replicas: 5, Unavailable: "no data"})
	r.board.set("ml/llama", 2)
	for range 3 { // the first at once, then heartbeats
		if m, err := stream.Recv(); err != nil || !m.GetResult() {
			t.Fatalf("got %v, %v", m, err)
		}
	}
	// The drain ends the stream without an error, after what was sent before.
	r.end()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("at shutdown: %v, want a clean end", err)
	}

	unknown, err := run(t, nil).pushed(t, "none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unknown.Recv(); status.Code(err) != codes.NotFound {
		t.Errorf("unknown service: %v", err)
	}
}

func (r *running) pushed(t *testing.T, service string) (grpc.ServerStreamingClient[pb.IsActiveResponse], error) {
	return pb.NewExternalScalerClient(r.dial(t, "scaler")).StreamIsActive(t.Context(), ref(service))
}
