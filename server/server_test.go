package server

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/engine"
	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

func TestStartErrors(t *testing.T) {
	ca := newAuthority(t)
	good := ca.issue(t, "server", serverName, time.Now().Add(time.Hour))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	other := ca.issue(t, "other", serverName, time.Now().Add(time.Hour))
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"nothing to serve", func(o *Options) { o.Expander, o.Scaler = nil, nil }, []string{"nothing to serve"}},
		{"no certificate", func(o *Options) { o.TLS = TLSFiles{} }, []string{"--tls-cert", "--tls-self-signed"}},
		{"two mistakes at once", func(o *Options) { o.TLS = TLSFiles{}; o.AdminListen = ":0" }, []string{"--tls-cert", "--admin-token-file"}},
		{"missing file", func(o *Options) { o.TLS.Cert = "/nonexistent/tls.crt" }, []string{"/nonexistent/tls.crt", "--tls-cert"}},
		{"key of another certificate", func(o *Options) { o.TLS.Key = other.Key }, []string{other.Key}},
		{"client CA without a certificate", func(o *Options) { o.TLS.ClientCA = good.Key }, []string{good.Key, "no PEM certificate"}},
		{"port in use", func(o *Options) { o.ScalerListen = taken.Addr().String() }, []string{"already in use", taken.Addr().String(), "--scaler-listen"}},
		{"two ports in use", func(o *Options) { o.ScalerListen, o.AdminListen = taken.Addr().String(), taken.Addr().String() }, []string{"--scaler-listen", "--admin-listen"}},
		{"not an address", func(o *Options) { o.ExpanderListen = "9443" }, []string{"--expander-listen", "host:port"}},
		{"token file", func(o *Options) { o.AdminTokenFile = "/nonexistent/token" }, []string{"/nonexistent/token", "--admin-token-file"}},
	} {
		o := Options{Expander: first{}, Scaler: newBoard(), TLS: good, ExpanderListen: "127.0.0.1:0", ScalerListen: "127.0.0.2:0", AdminListen: "127.0.0.1:0"}
		test.change(&o)
		s, err := New(o)
		if err == nil {
			s.Close()
			t.Errorf("%s: no error", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not name %q", test.name, err, want)
			}
		}
	}
}

// TestSharedListener is the simplest start: one address, one certificate, both interfaces.
func TestSharedListener(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.ScalerListen = o.ExpanderListen })
	if r.Addr("expander").String() != r.Addr("scaler").String() {
		t.Fatalf("%v and %v", r.Addr("expander"), r.Addr("scaler"))
	}
	r.board.set("ml/llama", 3)
	if err := spec(t, r.dial(t, "scaler")); err != nil {
		t.Error(err)
	}
	if answer, err := r.autoscaler(t, "localhost").Send(t.Context(), captures(t)["ca134-004.bin"]); err != nil || len(ids(answer)) != 1 {
		t.Errorf("%v, %v", ids(answer), err)
	}
}

// TestOneHalf serves the scaler alone: no certificate is needed for its plaintext listener.
func TestOneHalf(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) {
		o.Expander, o.TLS, o.ExpanderListen, o.ScalerListen = nil, TLSFiles{}, "127.0.0.1:0", ""
	})
	if r.Addr("expander") != nil || r.Addr("scaler") != nil {
		t.Error("listeners of the other half are open")
	}
	conn := r.dial(t, "scaler-insecure", plaintext())
	if err := spec(t, conn); err != nil {
		t.Error(err)
	}
	health := grpc_health_v1.NewHealthClient(conn)
	for service, want := range map[string]codes.Code{"": codes.OK, "externalscaler.ExternalScaler": codes.OK, "grpcplugin.Expander": codes.NotFound} {
		if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service}); status.Code(err) != want {
			t.Errorf("health of %q: %v", service, err)
		}
	}
}

// TestRestart: a call fails at once while the server is down and works again with the next one.
func TestRestart(t *testing.T) {
	r := run(t, nil)
	address := r.Addr("scaler-insecure").String()
	conn := r.dial(t, "scaler-insecure", plaintext())
	if err := spec(t, conn); err != nil {
		t.Fatal(err)
	}
	r.end()
	if err := spec(t, conn); status.Code(err) != codes.Unavailable {
		t.Errorf("while down: %v", err)
	}
	again := run(t, func(o *Options, _ *authority) { o.ScalerInsecureListen = address })
	again.board.set("ml/llama", 7)
	conn.ResetConnectBackoff() // the pause that grpc makes between attempts to connect
	deadline := time.Now().Add(5 * time.Second)
	err := spec(t, conn)
	for ; err != nil && time.Now().Before(deadline); err = spec(t, conn) {
		conn.ResetConnectBackoff()
	}
	if err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// TestStopBeforeServing ends while the listeners still start, as a signal right after the start does: that is no failure.
func TestStopBeforeServing(t *testing.T) {
	for range 20 {
		s, err := New(Options{Scaler: newBoard(), ScalerInsecureListen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDrainIsBounded cuts a call that does not end.
func TestDrainIsBounded(t *testing.T) {
	release := make(chan struct{})
	r := run(t, func(o *Options, _ *authority) {
		o.Drain = 50 * time.Millisecond
		o.Scaler = stuck{newBoard(), release}
	})
	entered := make(chan error, 1)
	client := pb.NewExternalScalerClient(r.dial(t, "scaler"))
	go func() { _, err := client.IsActive(context.Background(), ref("llama")); entered <- err }()
	for counterOf(t, r, "grpc_server_started_total") == 0 {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	go func() { <-entered; close(release) }() // cut off by the server
	r.end()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func counterOf(t testing.TB, r *running, name string) float64 {
	t.Helper()
	return counter(t, r.options.Registry, name)
}

type stuck struct {
	*board
	release chan struct{}
}

func (s stuck) Resolve(t engine.Trigger) (string, error) {
	<-s.release
	return s.board.Resolve(t)
}

// TestCertificatePollPicksUpFiles runs the watch itself.
func TestCertificatePollPicksUpFiles(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.CertificatePoll = 5 * time.Millisecond })
	before := servedSerial(t, r)
	r.ca.issue(t, "server", serverName, time.Now().Add(2*time.Hour))
	deadline := time.Now().Add(5 * time.Second)
	for servedSerial(t, r) == before {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not picked up")
		}
	}
	if _, err := os.Stat(filepath.Join(r.ca.dir, "server.crt")); err != nil {
		t.Fatal(err)
	}
}
