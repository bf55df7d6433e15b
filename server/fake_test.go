package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// board is a Scaler whose entries are set by the test.
type board struct {
	mu      sync.Mutex
	entries map[string]scaler.Decision
	changed chan struct{}
}

func newBoard() *board {
	return &board{entries: map[string]scaler.Decision{}, changed: make(chan struct{})}
}

func (b *board) set(service string, n int) {
	b.put(scaler.Decision{Service: service, Replicas: n, Active: n > 0, Time: time.Now()})
}

func (b *board) put(d scaler.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[d.Service] = d
	close(b.changed)
	b.changed = make(chan struct{})
}

// Resolve knows every service but "none", refuses the key "bad" by name, and panics on "panic".
func (b *board) Resolve(t engine.Trigger) (string, error) {
	if _, bad := t.Metadata["bad"]; bad {
		return "", fmt.Errorf("%w: unknown key bad", engine.ErrInvalidTrigger)
	}
	switch name := t.Metadata["service"]; name {
	case "none":
		return "", fmt.Errorf("%w %s/%s", engine.ErrUnknownService, t.Namespace, name)
	case "panic":
		panic("a bug in the engine")
	default:
		return t.Namespace + "/" + name, nil
	}
}

func (b *board) Target(service string) (scaler.Decision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d, ok := b.entries[service]; ok {
		return d, nil
	}
	return scaler.Decision{}, fmt.Errorf("%w for %s: no source has answered yet", engine.ErrNoData, service)
}

func (b *board) Changed(string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// first is an Expander that answers the first option, or what the test gives it.
type first struct {
	answer func(expander.Request) (expander.Decision, error)
}

func (f first) BestOptions(_ context.Context, r expander.Request) (expander.Decision, error) {
	if f.answer != nil {
		return f.answer(r)
	}
	d := expander.Decision{Outcome: expander.Selected, Mode: expander.Active}
	if len(r.Options) > 0 {
		d.Selected = []string{r.Options[0].GroupID}
		d.Answer = d.Selected
	}
	return d, nil
}

// authority issues certificates for a test.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t.TempDir(), cert, key, 1}
	a.write(t, "ca.crt", "CERTIFICATE", der)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(t testing.TB, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue writes NAME.crt and NAME.key, valid for the host until then.
func (a *authority) issue(t testing.TB, name, host string, notAfter time.Time) TLSFiles {
	t.Helper()
	a.n++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: fmt.Sprint(name, a.n)}, DNSNames: []string{host, "localhost"},
		NotBefore: notAfter.Add(-2 * time.Hour), NotAfter: notAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".key", "PRIVATE KEY", keyDER)
	a.write(t, name+".crt", "CERTIFICATE", der)
	return TLSFiles{Cert: a.path(name + ".crt"), Key: a.path(name + ".key")}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

const serverName = "scaler.warmpool.svc"

// logs collects what the server logs.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a server under test with everything that belongs to it.
type running struct {
	*Server
	ca    *authority
	board *board
	log   *decisions.Log
	logs  *logs
	end   func() // stops it and waits
}

// run starts a server on loopback ports, each kind of listener its own, unless change says otherwise.
func run(t testing.TB, change func(*Options, *authority)) *running {
	t.Helper()
	r := &running{ca: newAuthority(t), board: newBoard(), logs: &logs{}}
	var err error
	if r.log, err = decisions.Open(decisions.Options{Ring: 100}); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Expander: first{}, Scaler: r.board, Decisions: r.log, TLS: r.ca.issue(t, "server", serverName, time.Now().Add(time.Hour)),
		ExpanderListen: "127.0.0.1:0", ScalerListen: "localhost:0", ScalerInsecureListen: "127.0.0.1:0", AdminListen: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Drain:  5 * time.Second,
	}
	if change != nil {
		change(&o, r.ca)
	}
	if r.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := r.log.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.end)
	return r
}

// dial connects to a listener without waiting, as both clients do.
func (r *running) dial(t testing.TB, listener string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if len(opts) == 0 {
		opts = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(r.ca.pool(), serverName))}
	}
	conn, err := grpc.NewClient("passthrough:///"+r.Addr(listener).String(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func plaintext() grpc.DialOption { return grpc.WithTransportCredentials(insecure.NewCredentials()) }
