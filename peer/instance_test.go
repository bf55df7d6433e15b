package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const interval = 15 * time.Second

// world is the time and the load that all instances live in.
type world struct {
	now  atomic.Int64 // Unix nanoseconds
	mu   sync.Mutex
	load float64
	down bool
}

func newWorld() *world {
	w := &world{}
	w.now.Store(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixNano())
	return w
}

func (w *world) at() time.Time { return time.Unix(0, w.now.Load()).UTC() }

func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

func (w *world) set(load float64, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.load, w.down = load, down
}

// Read answers every query with the load: running requests for all services alike.
func (w *world) Read(_ context.Context, at time.Time, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	w.mu.Lock()
	load, down := w.load, w.down
	w.mu.Unlock()
	for s, queries := range services {
		for q := range queries {
			value := load
			if queries[q].Signal == scaler.Waiting {
				value = 0
			}
			if down {
				report(s, q, nil, fmt.Errorf("the metric store is down"))
				continue
			}
			report(s, q, []scaler.Sample{{At: at, Value: value}}, nil)
		}
	}
}

// Rewind knows nothing: what a new leader does must come from the leader before it.
func (w *world) Rewind(ctx context.Context, _, to time.Time, _ time.Duration, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	for s, queries := range services {
		for q := range queries {
			report(s, q, nil, fmt.Errorf("no history"))
		}
	}
}

func (w *world) History(context.Context, config.Query, time.Time, time.Time, time.Duration) ([]float64, error) {
	return nil, fmt.Errorf("no history")
}

// configuration is one service with a scale-down window and steps; most is the largest target.
func configuration(t testing.TB, most int) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", fmt.Appendf(nil, `apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://127.0.0.1:9090}
evaluationInterval: 15s
services:
- name: chat
  namespace: ml
  replicas: {min: 1, max: %d}
  preset: none
  queries: {waiting: waiting, running: running}
  perReplica: {concurrency: 1, maxUtilization: 1}
  forecast: {mode: "off"}
  scaleDown: {window: 120s, maxStep: 20%%, period: 60s}
  startup: {lead: 60s}
  staleAfter: 60s
`, most))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// instance is an engine behind its own server, with the client of a follower.
type instance struct {
	t      testing.TB
	name   string
	skew   time.Duration
	world  *world
	engine *engine.Engine
	server *server.Server
	client externalscaler.ExternalScalerClient
	conn   *grpc.ClientConn
	trust  Trust
	token  string
	logs   *logs

	end      context.CancelFunc
	ended    chan error
	unfollow context.CancelFunc
	followed chan struct{}
}

// logs collects what an instance says.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
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

// credentialsDir holds one certificate and one token for all instances of a test.
func credentialsDir(t testing.TB) string {
	dir := t.TempDir()
	if _, err := server.SelfSigned(dir, []string{"warmpool-scaler.ns.svc", "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("shared-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t testing.TB, w *world, name, dir string, skew time.Duration, c *config.Config) *instance {
	t.Helper()
	i := &instance{
		t: t, name: name, skew: skew, world: w, ended: make(chan error, 1), logs: &logs{}, token: filepath.Join(dir, "token"),
		trust: Trust{CAFile: filepath.Join(dir, "ca.crt"), CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")},
	}
	logger := slog.New(slog.NewTextHandler(i.logs, nil))
	var err error
	i.engine, err = engine.New(engine.Options{Config: c, Source: w, Clock: i.clock, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	i.engine.Follow("")
	i.server, err = server.New(server.Options{
		Scaler: i.engine, Board: i.engine, Instance: name, PeerTokenFile: i.token, ScalerListen: "127.0.0.1:0", Logger: logger,
		TLS: server.TLSFiles{Cert: i.trust.CertFile, Key: i.trust.KeyFile}, Drain: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	i.end = cancel
	go func() { i.ended <- i.server.Run(ctx) }()
	authority, err := os.ReadFile(i.trust.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	i.conn, err = grpc.NewClient("passthrough:///"+i.address(), grpc.WithTransportCredentials(
		credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "warmpool-scaler.ns.svc"})))
	if err != nil {
		t.Fatal(err)
	}
	i.client = externalscaler.NewExternalScalerClient(i.conn)
	t.Cleanup(i.kill)
	return i
}

func (i *instance) clock() time.Time { return i.world.at().Add(i.skew) }

func (i *instance) address() string { return i.server.Addr("scaler").String() }

// kill ends an instance as a crash does: nothing is handed over.
func (i *instance) kill() {
	if i.end == nil {
		return
	}
	i.stopFollowing()
	i.end()
	i.end = nil
	if err := <-i.ended; err != nil {
		i.t.Error(err)
	}
	i.conn.Close()
}

func (i *instance) stopFollowing() {
	if i.unfollow != nil {
		i.unfollow()
		<-i.followed
		i.unfollow = nil
	}
}

// lead and follow are what the Lease makes of an instance.
func (i *instance) lead(term uint64) {
	i.stopFollowing()
	i.engine.Lead(term)
}

func (i *instance) follow(leader *instance) {
	i.stopFollowing()
	if leader == nil {
		i.engine.Follow("")
		return
	}
	i.engine.Follow(leader.name)
	ctx, cancel := context.WithCancel(context.Background())
	i.unfollow, i.followed = cancel, make(chan struct{})
	go func() {
		defer close(i.followed)
		Follow(ctx, Options{
			Engine: i.engine, Instance: i.name, Trust: i.trust, TokenFile: i.token, Clock: i.clock, Retry: 5 * time.Millisecond,
			Log: slog.New(slog.NewTextHandler(i.logs, nil)),
		}, leader.address())
	}()
}

// tick evaluates on whoever leads, and waits until the board has arrived at the followers.
func tick(t testing.TB, w *world, all ...*instance) {
	t.Helper()
	for _, leader := range all {
		if leader.end == nil || !leader.engine.Leading() {
			continue
		}
		leader.engine.Tick(t.Context(), leader.clock().Truncate(interval))
		for _, follower := range all {
			if follower.end != nil && follower.unfollow != nil {
				want := follower.clock().Truncate(interval)
				eventually(t, func() bool { return follower.engine.LastTick().Equal(want) }, func() string {
					return fmt.Sprintf("%s has not got the board of %v, its last tick is %v: %s", follower.name, want, follower.engine.LastTick(), follower.logs)
				})
			}
		}
	}
}

func eventually(t testing.TB, ok func() bool, problem func() string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(problem())
		}
	}
}

var reference = &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "chat", ScalerMetadata: map[string]string{"service": "chat", "scalerAddress": "x"}}

// ask is what KEDA does.
func (i *instance) ask(ref *externalscaler.ScaledObjectRef) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := i.client.GetMetrics(ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "chat-replicas"}, grpc.WaitForReady(true))
	if err != nil {
		return -1, err
	}
	return int(answer.GetMetricValues()[0].GetMetricValue()), nil
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// engineConfigWithout is a configuration that does not have the service.
func engineConfigWithout(t testing.TB) (*config.Config, error) {
	t.Helper()
	return config.Parse("none.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices: []\n"))
}

// statusHash is the configuration of the board that an instance serves.
func statusHash(i *instance) string {
	s, _ := i.engine.Instances()
	return s.LeaderConfigHash
}
