package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	coordination "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/server"
)

// leaseServer is as much of an API server as a Lease needs: one object with optimistic concurrency. Whatever else is
// asked for does not exist.
type leaseServer struct {
	mu      sync.Mutex
	lease   *coordination.Lease
	version int
}

func (l *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
	}
	if !strings.Contains(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/ns/leases") {
		refuse(http.StatusNotFound, "NotFound")
		return
	}
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(http.StatusBadRequest, "BadRequest")
			return
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		next, ok := object.(*coordination.Lease)
		if err != nil || !ok {
			refuse(http.StatusBadRequest, "BadRequest")
			return
		}
		if present := l.lease; present != nil && next.ResourceVersion != present.ResourceVersion {
			refuse(http.StatusConflict, "Conflict")
			return
		}
		l.version++
		next.ResourceVersion = strconv.Itoa(l.version)
		l.lease = next
	}
	if l.lease == nil {
		refuse(http.StatusNotFound, "NotFound")
		return
	}
	answer := l.lease.DeepCopy()
	answer.APIVersion, answer.Kind = "coordination.k8s.io/v1", "Lease"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (l *leaseServer) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil || l.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.lease.Spec.HolderIdentity
}

// TestTwoInstances runs serve twice against one Lease: one computes and both answer the same; when it is stopped, the
// other goes on.
func TestTwoInstances(t *testing.T) {
	leases := &leaseServer{}
	api := httptest.NewServer(leases)
	defer api.Close()
	store := &metricStore{}
	store.running.Store(7)
	metrics := httptest.NewServer(store)
	defer metrics.Close()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := write("kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: t, contexts: [{name: t, context: {cluster: t, user: t}}],
clusters: [{name: t, cluster: {server: %q}}], users: [{name: t, user: {}}]}`, api.URL))
	configuration := write("warmpool.yaml", fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
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
`, metrics.URL))
	token := write("token", "shared")
	if _, err := server.SelfSigned(dir, []string{"warmpool", "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POD_IP", "127.0.0.1")
	start := func(name string) (s *service, client externalscaler.ExternalScalerClient, stop func()) {
		t.Helper()
		var f serveFlags
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.register(flags)
		if err := flags.Parse([]string{
			"--config", configuration, "--kubeconfig", kubeconfig, "--serve", "scaler", "--scaler-listen", "127.0.0.1:0",
			"--scaler-insecure-listen", "127.0.0.1:0", "--admin-listen", "", "--lease-namespace", "ns", "--identity", name, "--peer-token-file", token,
			"--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"),
		}); err != nil {
			t.Fatal(err)
		}
		s, err := newService(&f, true, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		address := s.server.Addr("scaler-insecure").String()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.run(ctx) }()
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		stop = sync.OnceFunc(func() {
			conn.Close()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(stop)
		return s, externalscaler.NewExternalScalerClient(conn), stop
	}
	ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: map[string]string{"service": "llama"}}
	reaches := func(name string, client externalscaler.ExternalScalerClient, want int64) {
		t.Helper()
		var last string
		for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			got, err := client.GetMetrics(t.Context(), &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "llama-replicas"})
			if err == nil && got.GetMetricValues()[0].GetMetricValue() == want {
				return
			}
			last = fmt.Sprint(got, err)
		}
		t.Fatalf("%s answers %s, want %d; the lease is of %q", name, last, want, leases.holder())
	}
	a, clientA, stopA := start("a")
	reaches("a", clientA, 7)
	b, clientB, _ := start("b")
	reaches("b", clientB, 7)
	if !a.engine.Leading() || b.engine.Leading() || !strings.HasPrefix(leases.holder(), "a@127.0.0.1:") {
		t.Errorf("a leads %v, b leads %v, the lease is of %q; want a alone", a.engine.Leading(), b.engine.Leading(), leases.holder())
	}
	store.running.Store(12)
	reaches("b", clientB, 12)
	reaches("a", clientA, 12)
	stopA()
	store.running.Store(20)
	reaches("b", clientB, 20)
	if s, _ := b.engine.Instances(); !s.Leading || s.Term == 0 {
		t.Errorf("b is %+v after the end of a, want to lead", s)
	}
}

// TestAlone are the cases in which nothing of several instances happens.
func TestAlone(t *testing.T) {
	t.Setenv("POD_IP", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, args := range map[string][]string{
		"no cluster":        {},
		"view turned off":   {"--kubeconfig", "none", "--lease-namespace", "ns", "--advertise", "h:1"},
		"no lease":          {"--kubeconfig", "f", "--lease-name", "", "--lease-namespace", "ns", "--advertise", "h:1"},
		"no namespace":      {"--kubeconfig", "f", "--lease-namespace", "", "--advertise", "h:1"},
		"no address":        {"--kubeconfig", "f", "--lease-namespace", "ns"},
		"expander alone":    {"--kubeconfig", "f", "--lease-namespace", "ns", "--advertise", "h:1", "--serve", "expander"},
		"no TLS for scaler": {"--kubeconfig", "f", "--lease-namespace", "ns", "--advertise", "h:1", "--scaler-listen", ""},
	} {
		var f serveFlags
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.register(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if i, err := joinInstances(&f, slog.New(slog.DiscardHandler)); i != nil || err != nil {
			t.Errorf("%s: %v, %v; want a single instance", name, i, err)
		}
	}
}
