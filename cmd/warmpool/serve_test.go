package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/externalscaler"
)

// metricStore answers every instant query for model m with one number and knows no past, or fails.
type metricStore struct {
	running atomic.Int64
	down    atomic.Bool
}

func (m *metricStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.down.Load() {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/query_range") { // the service is new: there is no past
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
		return
	}
	at := float64(time.Now().UnixMilli()) / 1000
	value := "0"
	switch query := r.FormValue("query"); {
	case strings.Contains(query, "timestamp("):
		value = fmt.Sprint(at)
	case strings.Contains(query, "running"):
		value = fmt.Sprint(m.running.Load())
	}
	row := map[string]any{"metric": map[string]string{"namespace": "ml", "model_name": "m"}, "value": []any{at, value}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": []any{row}}})
}

// TestComparisonIsInTheDataDirectory: what observing added up outlives the process wherever anything does.
func TestComparisonIsInTheDataDirectory(t *testing.T) {
	f := &serveFlags{dataDir: filepath.Join(t.TempDir(), "data")}
	for run := range 3 {
		s := &service{}
		if err := s.openLog(f, &config.Config{}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		if got := s.log.Comparison().Sum().Requests; got != run {
			t.Errorf("run %d begins with %d requests", run, got)
		}
		s.log.AddExpander(expander.Decision{Time: time.Date(2026, 8, 3, 12, run, 0, 0, time.UTC), Outcome: expander.PassThrough})
		if err := s.log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// startService runs serve in this process.
func startService(t *testing.T, configuration string, more ...string) *service {
	t.Helper()
	return startLogging(t, slog.New(slog.DiscardHandler), configuration, more...)
}

func startLogging(t *testing.T, logger *slog.Logger, configuration string, more ...string) *service {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "warmpool.yaml")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(flags)
	args := append([]string{
		"--config", path, "--tls-self-signed", filepath.Join(dir, "tls"), "--data-dir", filepath.Join(dir, "data"),
		"--expander-listen", "127.0.0.1:0", "--scaler-listen", "127.0.0.1:0", "--scaler-insecure-listen", "127.0.0.1:0", "--admin-listen", "",
	}, more...)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	s, err := newService(&f, false, logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestBothInterfaces is the whole path: a recorded request of a Cluster Autoscaler over TLS, and KEDA's calls from a
// metric store through the engine's tick, both by the addresses and files that the flags give.
func TestBothInterfaces(t *testing.T) {
	store := &metricStore{}
	store.running.Store(7)
	prometheus := httptest.NewServer(store)
	defer prometheus.Close()
	policy, err := os.ReadFile(capturesConfig)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tls")
	s := startService(t, string(policy)+fmt.Sprintf(`
prometheus: {url: %s}
evaluationInterval: 1s
services:
  - name: llama
    namespace: ml
    preset: vllm
    selector: {model_name: m}
    replicas: {min: 0, max: 50}
    perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}
    forecast: {mode: "off", timeZone: UTC}
`, prometheus.URL), "--tls-self-signed", dir)

	t.Run("Cluster Autoscaler", func(t *testing.T) {
		authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		client, err := caclient.Dial(s.server.Addr("expander").String(), authority, caclient.V1_35_0)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		request, err := os.ReadFile(filepath.Join(capturesDir, "ca136-001.bin"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Send(t.Context(), request)
		if err != nil || len(answer.GetOptions()) != 1 || answer.GetOptions()[0].GetNodeGroupId() != "gpu-l4" {
			t.Errorf("%v, %v, want gpu-l4 as explain says", answer, err)
		}
	})

	t.Run("KEDA", func(t *testing.T) {
		conn, err := grpc.NewClient("passthrough:///"+s.server.Addr("scaler-insecure").String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := externalscaler.NewExternalScalerClient(conn)
		ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: map[string]string{"service": "llama", "scalerAddress": "x"}}
		value := func() (int64, error) {
			got, err := client.GetMetrics(t.Context(), &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "llama-replicas"})
			if err != nil {
				return -1, err
			}
			return got.GetMetricValues()[0].GetMetricValue(), nil
		}
		reaches := func(want int64) {
			t.Helper()
			var last int64
			var err error
			for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if last, err = value(); err == nil && last == want {
					return
				}
			}
			t.Fatalf("the target is %d, %v, want %d", last, err, want)
		}
		reaches(7)
		store.running.Store(12)
		reaches(12)
		store.down.Store(true) // held, never zero
		for deadline := time.Now().Add(2500 * time.Millisecond); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if got, err := value(); err != nil || got != 12 {
				t.Fatalf("without the metric store: %d, %v, want 12 held", got, err)
			}
		}
		store.down.Store(false)

		ref.ScalerMetadata["prometheusPassword"] = "s3cr3t-value"
		if _, err := value(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "prometheusPassword") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("a secret in the metadata: %v", err)
		}
		delete(ref.ScalerMetadata, "prometheusPassword")
		ref.ScalerMetadata["service"] = "nobody"
		if _, err := value(); status.Code(err) != codes.NotFound {
			t.Errorf("an unknown service: %v", err)
		}
	})
	if records := len(s.log.List(decisions.Filter{})); records < 2 {
		t.Errorf("%d decisions recorded, want at least one of each half", records)
	}
}
