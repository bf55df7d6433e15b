package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// refusals counts what was refused, by limit.
type refusals map[string]prometheus.Counter

func (r refusals) of(limit string) prometheus.Counter {
	if r[limit] == nil {
		r[limit] = prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"})
	}
	return r[limit]
}

// TestOneClientLeavesRoomForOthers: what one address takes, of connections, calls and rates, another one still has.
func TestOneClientLeavesRoomForOthers(t *testing.T) {
	refused := refusals{}
	c := newClients(ClientLimits{Connections: 2, CallsPerSecond: 1e-9, Calls: 3, ChoicesPerSecond: 1e-9, Choices: 1}, refused.of)
	var leave []func()
	connect := func(address, want string) {
		t.Helper()
		left, limit := c.connect(address)
		if limit != want {
			t.Errorf("%s: refused by %q, want %q", address, limit, want)
		}
		if left != nil {
			leave = append(leave, left)
		}
	}
	connect("10.0.0.1", "")
	connect("10.0.0.1", "")
	connect("10.0.0.1", "client-connections")
	connect("10.0.0.2", "")
	for i := range 5 { // four times the limit of one is the most for all
		connect(fmt.Sprint("10.0.1.", i), "")
	}
	connect("10.0.0.9", "connections")
	leave[0]()
	leave[0]() // twice counts once
	connect("10.0.0.9", "")
	connect("10.0.0.9", "connections")

	call := func(address, method string, want codes.Code) (leave func()) {
		t.Helper()
		leave, err := c.call(address, method)
		if status.Code(err) != want {
			t.Errorf("%s, %s: %v, want %s", address, method, err, want)
		}
		return leave
	}
	const choose, other = grpcplugin.Expander_BestOptions_FullMethodName, pb.ExternalScaler_GetMetrics_FullMethodName
	end := call("a", choose, codes.OK)
	call("a", choose, codes.ResourceExhausted)
	call("a", other, codes.OK) // the burst of a rate below one is one
	call("a", other, codes.ResourceExhausted)
	call("b", choose, codes.OK)
	call("b", other, codes.OK)
	end()
	end()
	if n := c.byAddress["a"].choices; n != 0 {
		t.Errorf("%d calls are in flight", n)
	}
	call("a", choose, codes.ResourceExhausted) // the rate is not over
	for limit, want := range map[string]float64{"client-choices": 1, "client-choices-rate": 1, "client-calls-rate": 1} {
		if got := value(t, refused.of(limit)); got != want {
			t.Errorf("%v refused by %s, want %v", got, limit, want)
		}
	}
}

// TestManyClientsAreForgotten: an address costs memory only as long as it is connected, or among the newest.
func TestManyClientsAreForgotten(t *testing.T) {
	c := newClients(ClientLimits{}.withDefaults(1000), refusals{}.of)
	stays, _ := c.connect("stays")
	defer stays()
	for i := range 5 * manyClients {
		leave, limit := c.connect(fmt.Sprint(i))
		if limit != "" {
			t.Fatalf("%d: refused by %s", i, limit)
		}
		leave()
	}
	if n := len(c.byAddress); n > manyClients || c.byAddress["stays"] == nil {
		t.Errorf("%d addresses are remembered, the connected one %v", n, c.byAddress["stays"])
	}
}

func value(t testing.TB, c prometheus.Counter) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	return counter(t, r, "refused")
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
	}
}

// TestConnectionsOfOneClient opens connections to the real listeners until they are refused, with and without a TLS
// handshake, and sees them work again when one is closed.
func TestConnectionsOfOneClient(t *testing.T) {
	for _, listener := range []string{"expander", "scaler", "scaler-insecure", "admin"} {
		r := run(t, func(o *Options, _ *authority) { o.Clients.Connections = 3 })
		most := 3
		if listener == "admin" {
			most = adminConnections
		}
		var open []net.Conn
		dial := func() net.Conn {
			conn, err := net.Dial("tcp", r.Addr(listener).String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return conn
		}
		for range most {
			open = append(open, dial())
		}
		over := dial()
		over.SetReadDeadline(time.Now().Add(20 * time.Second))
		if got, err := io.ReadAll(over); errors.Is(err, os.ErrDeadlineExceeded) || len(got) > 0 {
			t.Errorf("%s: a connection beyond the limit: %q, %v, want it closed at once", listener, got, err)
		}
		if n := counterOf(t, r, "warmpool_server_refused_total"); n != 1 {
			t.Errorf("%s: %v refused connections are counted, want 1", listener, n)
		}
		open[0].Close()
		held := r.clients(listener)
		waitFor(t, func() bool { // the place is free as soon as the server has seen the end
			held.mu.Lock()
			defer held.mu.Unlock()
			return held.connections < most
		})
		for _, conn := range open {
			conn.Close()
		}
		r.end()
	}
}

// clients are those of a listener.
func (r *running) clients(listener string) *clients {
	if listener == "admin" {
		return r.adminPort.(limited).clients
	}
	for _, p := range r.ports {
		if p.name == listener {
			return p.listener.(limited).clients
		}
	}
	return nil
}

// TestIdleConnectionsEnd: a connection without a call does not stay, and the next call of its client succeeds.
func TestIdleConnectionsEnd(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.MaxConnectionIdle = 50 * time.Millisecond })
	client := r.dial(t, "scaler")
	if err := spec(t, client); err != nil {
		t.Fatal(err)
	}
	held := r.clients("scaler")
	waitFor(t, func() bool {
		held.mu.Lock()
		defer held.mu.Unlock()
		return held.connections == 0
	})
	if err := spec(t, client); err != nil {
		t.Errorf("the call after the idle time: %v", err)
	}
}

// TestChoicesOfOneClient: the fifth request at a time of one address is refused at once, and the server serves others.
func TestChoicesOfOneClient(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.Clients.ChoicesPerSecond = 1e-9 })
	good := captures(t)["ca136-010.bin"]
	client := r.autoscaler(t, "localhost")
	if _, err := client.Send(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), good); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("above the rate of one client: %v", err)
	}
	if err := spec(t, r.dial(t, "scaler")); err != nil {
		t.Errorf("the scaler meanwhile: %v", err)
	}
}

// TestCallsEnd: nothing stays in flight, however a call ends: answered, refused by the handler or by the rate of all, ended by
// its deadline or by its client.
func TestCallsEnd(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.Requests.PerSecond = 1e-9 })
	client := r.autoscaler(t, "localhost")
	good := captures(t)["ca136-010.bin"]
	if _, err := client.Send(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := client.Send(t.Context(), good); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("beyond the rate of all clients: %v", err)
		}
	}
	if err := spec(t, r.dial(t, "scaler")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := pb.NewExternalScalerClient(r.dial(t, "scaler")).StreamIsActive(ctx, ref("llama"))
	if err != nil {
		t.Fatal(err)
	}
	r.board.set("ml/llama", 1)
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	open := func(listener string) (calls int) {
		c := r.clients(listener)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, from := range c.byAddress {
			calls += from.calls + from.choices
		}
		return calls
	}
	waitFor(t, func() bool { return open("expander") == 0 && open("scaler") == 1 })
	cancel()
	waitFor(t, func() bool { return open("scaler") == 0 })
}

// TestOldTLSIsRefused: protocol versions and suites without forward secrecy or authenticated encryption, on every
// listener with TLS, by the handshake itself.
func TestOldTLSIsRefused(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.AdminTLS = AdminTLSOn })
	for _, listener := range []string{"expander", "scaler", "admin"} {
		for _, test := range []struct {
			name     string
			min, max uint16
			suite    uint16
			good     bool
		}{
			{name: "TLS 1.0", min: tls.VersionTLS10, max: tls.VersionTLS10},
			{name: "TLS 1.1", min: tls.VersionTLS11, max: tls.VersionTLS11},
			{name: "RSA key exchange", min: tls.VersionTLS12, max: tls.VersionTLS12, suite: tls.TLS_RSA_WITH_AES_128_GCM_SHA256},
			{name: "CBC", min: tls.VersionTLS12, max: tls.VersionTLS12, suite: tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
			{name: "RC4", min: tls.VersionTLS12, max: tls.VersionTLS12, suite: tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA},
			{name: "TLS 1.2 with GCM", min: tls.VersionTLS12, max: tls.VersionTLS12, suite: tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, good: true},
			{name: "TLS 1.2 with ChaCha20", min: tls.VersionTLS12, max: tls.VersionTLS12, suite: tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, good: true},
			{name: "TLS 1.3", min: tls.VersionTLS13, max: tls.VersionTLS13, good: true},
		} {
			config := &tls.Config{RootCAs: r.ca.pool(), ServerName: serverName, MinVersion: test.min, MaxVersion: test.max, NextProtos: []string{"h2"}}
			if test.suite != 0 {
				config.CipherSuites = []uint16{test.suite}
			}
			conn, err := tls.Dial("tcp", r.Addr(listener).String(), config)
			if (err == nil) != test.good {
				t.Errorf("%s, %s: %v", listener, test.name, err)
			}
			if err == nil {
				conn.Close()
			}
		}
	}
}
