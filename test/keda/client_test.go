package keda

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	v2 "k8s.io/api/autoscaling/v2"
)

func trigger(name string, metadata, auth map[string]string) *scalersconfig.ScalerConfig {
	return &scalersconfig.ScalerConfig{
		ScalableObjectName: name, ScalableObjectNamespace: "ai", ScalableObjectType: "ScaledObject",
		TriggerType: "external", MetricType: v2.AverageValueMetricType,
		TriggerMetadata: metadata, AuthParams: auth,
	}
}

func pull(t *testing.T, address, service string) scalers.Scaler {
	t.Helper()
	s, err := scalers.NewExternalScaler(trigger(service, map[string]string{"scalerAddress": address, "service": service}, nil))
	if err != nil {
		t.Fatalf("KEDA refused the trigger: %v", err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// read asks as the horizontal pod autoscaler's path does: spec, metrics and activity.
func read(ctx context.Context, s scalers.Scaler) (value float64, active bool, err error) {
	specs := s.GetMetricSpecForScaling(ctx)
	if len(specs) != 1 {
		return 0, false, fmt.Errorf("%d metric specs, want 1", len(specs))
	}
	if q := specs[0].External.Target.AverageValue; q == nil || q.AsApproximateFloat64() != 1 {
		return 0, false, fmt.Errorf("target %v, want the constant 1", specs[0].External.Target)
	}
	metrics, active, err := s.GetMetricsAndActivity(ctx, specs[0].External.Metric.Name)
	if err != nil {
		return 0, false, err
	}
	if len(metrics) != 1 {
		return 0, false, fmt.Errorf("%d values, want 1", len(metrics))
	}
	return metrics[0].Value.AsApproximateFloat64(), active, nil
}

// eventually repeats until the answer has no error; the first evaluation needs a tick.
func eventually(t *testing.T, s scalers.Scaler) (float64, bool) {
	t.Helper()
	var err error
	for range 400 {
		var value float64
		var active bool
		if value, active, err = read(t.Context(), s); err == nil {
			return value, active
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no answer within 40 s: %v", err)
	return 0, false
}

func TestEveryTargetIsReadExactly(t *testing.T) {
	_, url := prometheus(t)
	w := start(t, configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir())
	for n := range services {
		value, active := eventually(t, pull(t, w.address, fmt.Sprintf("s%d", n)))
		if value != float64(n) || active != (n > 0) {
			t.Errorf("service s%d: KEDA reads %v, active %v; the board holds %d", n, value, active, n)
		}
	}
}

func TestTLSWithOwnAuthority(t *testing.T) {
	_, url := prometheus(t)
	w := start(t, configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir())
	ca, err := os.ReadFile(w.caFile)
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]string{"scalerAddress": w.tlsAddress, "service": "s7"}
	s, err := scalers.NewExternalScaler(trigger("s7", metadata, map[string]string{"caCert": string(ca)}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	if value, _ := eventually(t, s); value != 7 {
		t.Errorf("over TLS KEDA reads %v, want 7", value)
	}

	// unsafeSsl alone is plaintext, which a TLS listener refuses.
	metadata = map[string]string{"scalerAddress": w.tlsAddress, "service": "s7", "unsafeSsl": "true"}
	plain, err := scalers.NewExternalScaler(trigger("s7", metadata, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close(context.Background()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, _, err := read(ctx, plain); err == nil {
		t.Error("a plaintext client was answered by the TLS listener")
	}
}

func TestRestartRecoversOnTheNextCall(t *testing.T) {
	_, url := prometheus(t)
	config, plain, tls, tlsDir := configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir()
	w := start(t, config, plain, tls, tlsDir)
	s := pull(t, plain, "s12")
	if value, _ := eventually(t, s); value != 12 {
		t.Fatalf("before the restart KEDA reads %v, want 12", value)
	}
	w.stop()
	if value, active, err := read(t.Context(), s); err == nil {
		t.Errorf("a dead server answered %v, %v", value, active)
	}
	start(t, config, plain, tls, tlsDir)
	value, active := eventually(t, s)
	if value != 12 || !active {
		t.Errorf("after the restart KEDA reads %v, active %v, want 12, true", value, active)
	}
}

func TestSlowPrometheusDelaysNobody(t *testing.T) {
	api, url := prometheus(t)
	w := start(t, configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir())
	s := pull(t, w.address, "s9")
	eventually(t, s)
	api.set(5*time.Second, false)
	for range 30 {
		began := time.Now()
		value, _, err := read(t.Context(), s)
		if err != nil || value != 9 {
			t.Fatalf("with a slow Prometheus KEDA reads %v, %v, want 9", value, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the answer took %v, the board should answer at once", took)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestPushSaysTrueAtOnceAndNeverFalse(t *testing.T) {
	_, url := prometheus(t)
	w := start(t, configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir())
	eventually(t, pull(t, w.address, "s3"))
	listen := func(service string) <-chan bool {
		s, err := scalers.NewExternalPushScaler(trigger(service, map[string]string{"scalerAddress": w.address, "service": service}, nil))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(func() { cancel(); _ = s.Close(context.Background()) })
		active := make(chan bool, 16)
		go s.Run(ctx, active)
		return active
	}
	busy, idle := listen("s3"), listen("s0")
	select {
	case active := <-busy:
		if !active {
			t.Error("the stream of a busy service said false")
		}
	case <-time.After(5 * time.Second):
		t.Error("the stream of a busy service said nothing within 5 s")
	}
	select {
	case active := <-idle:
		t.Errorf("the stream of an idle service said %v; silence means inactive", active)
	case <-time.After(3 * time.Second):
	}
}

func TestFiveHundredScaledObjectsOnOneConnection(t *testing.T) {
	_, url := prometheus(t)
	w := start(t, configuration(t, url), freeAddress(t), freeAddress(t), t.TempDir())
	eventually(t, pull(t, w.address, "s1"))
	var wg sync.WaitGroup
	errs := make(chan error, 500)
	for i := range 500 {
		service := fmt.Sprintf("s%d", i%services)
		s := pull(t, w.address, service)
		wg.Go(func() {
			var err error
			for range 400 {
				var value float64
				if value, _, err = read(t.Context(), s); err == nil {
					if value != float64(i%services) {
						err = fmt.Errorf("%s: KEDA reads %v", service, value)
					}
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}
