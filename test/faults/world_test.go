package faults

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/cluster"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/server"
	"github.com/warmpool/warmpool/signals"
)

const (
	// interval is the time between two ticks, in virtual time.
	interval = 15 * time.Second
	// patience is how long anything may take that takes milliseconds on an idle machine. After an outage the client of
	// the API server waits for up to a minute before it tries again.
	patience = 3 * time.Minute
)

// services are the scaled objects, with the models m and q.
var services = []string{"llama", "qwen"}

// world is warmpool, put together as serve does it, and everything around it.
type world struct {
	t    testing.TB
	name string

	dir, dataDir, configPath, tlsDir string

	base time.Time
	tick atomic.Int64
	// offset is how far the clock of warmpool is from the true time.
	offset atomic.Int64

	store              *metricStore
	api                *apiServer
	metricsProxy, apiP *proxy
	edgeProxy          *proxy

	logs     *logWatch
	registry *prometheus.Registry
	reader   *signals.Reader
	view     *cluster.Cluster
	watcher  *config.Watcher
	server   *server.Server

	mu     sync.Mutex
	engine *engine.Engine
	saved  *engine.Store
	log    *decisions.Log

	clients *clients
	// readFor bounds the reading of signals in a tick; it is short only while nothing can be read.
	readFor time.Duration
	// lift lets the test write while warmpool cannot; nil if it can.
	lift func() (back func())
	// blind is set while the view of the cluster cannot follow.
	blind int
	// suspended is above zero while the process stands still.
	suspended int
	// replicas are those that KEDA has set.
	replicas map[string]int
}

// now is the time by warmpool's clock.
func (w *world) now() time.Time { return w.trueNow().Add(time.Duration(w.offset.Load())) }

// trueNow is the time of everything else.
func (w *world) trueNow() time.Time { return w.base.Add(time.Duration(w.tick.Load()) * interval) }

func newWorld(t testing.TB, name string, base time.Time) *world {
	t.Helper()
	w := &world{t: t, name: name, dir: t.TempDir(), base: base, readFor: patience, replicas: map[string]int{}, logs: &logWatch{}}
	w.dataDir, w.configPath, w.tlsDir = filepath.Join(w.dir, "data"), filepath.Join(w.dir, "warmpool.yaml"), filepath.Join(w.dir, "tls")
	w.store = &metricStore{now: w.trueNow, demand: w.demand, gone: map[string]bool{}}
	metrics := httptest.NewServer(w.store)
	t.Cleanup(metrics.Close)
	w.metricsProxy = newProxy(t, "prometheus", metrics.Listener.Addr())
	w.api = newAPIServer()
	api := httptest.NewServer(w.api)
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	w.apiP = newProxy(t, "apiserver", api.Listener.Addr())
	w.must(os.Mkdir(w.dataDir, 0o750))
	w.writeConfig(configuration)
	w.start()
	w.clients = newClients(w)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", w.name, err)
	}
}

// configuration has the policies of the recorded requests and two services that need one replica for each running
// request.
const configuration = `apiVersion: warmpool.dev/v1alpha1
kind: Config
caVersion: "1.36"
pools:
  - {name: cpu, class: cpu, capacityType: on-demand, match: {nodeGroups: ["^cpu-std$"]}, hourlyCost: 0.268}
  - {name: l4, class: inference, capacityType: on-demand, match: {nodeGroups: ["^gpu-l4$"]}, hourlyCost: 0.854}
  - {name: a100, class: training, capacityType: on-demand, match: {nodeGroups: ["^gpu-a100$"]}, hourlyCost: 29.39}
  - {name: h100, class: training, capacityType: on-demand, match: {nodeGroups: ["^gpu-h100$"]}, hourlyCost: 88.25}
expander:
  mode: active
  workloads:
    - {name: llm, match: {podLabels: {model: llama-70b}}, stages: [{pools: [l4]}, {pools: [a100], escalate: {attempts: 1}}]}
    - {name: research, match: {namespaces: [team-a]}, stages: [{pools: [a100, h100]}]}
prometheus: {url: "http://PROMETHEUS", timeout: 30s}
evaluationInterval: 15s
decisions: {file: "DATA/decisions.jsonl"}
services:
  - name: llama
    namespace: ml
    preset: vllm
    selector: {model_name: m}
    replicas: {min: 0, max: 50}
    perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}
    startup: {lead: 30s}
    scaleDown: {window: 2m, maxStep: 0%}
    forecast: {mode: "off", timeZone: UTC}
  - name: qwen
    namespace: ml
    preset: vllm
    selector: {model_name: q}
    replicas: {min: 0, max: 50}
    perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}
    startup: {lead: 30s}
    scaleDown: {window: 2m, maxStep: 0%}
    forecast: {mode: "off", timeZone: UTC}
`

func (w *world) filled(text string) string {
	return strings.NewReplacer("PROMETHEUS", w.metricsProxy.address(), "DATA", w.dataDir).Replace(text)
}

func (w *world) writeConfig(text string) {
	w.t.Helper()
	w.write(w.configPath, []byte(w.filled(text)))
}

// start puts the parts together.
func (w *world) start() {
	w.t.Helper()
	var err error
	logger := slog.New(slog.NewTextHandler(w.logs, nil))
	w.registry = prometheus.NewRegistry()
	w.watcher, err = config.NewWatcher(w.configPath, 5*time.Millisecond, func(c *config.Config) error { return w.current().Reload(c) })
	w.must(err)
	settings := w.watcher.Current()
	options := signals.FromConfig(settings.Prometheus)
	options.Log, options.Seed, options.Clock = logger, 1, w.now
	w.reader, err = signals.NewReader(options)
	w.must(err)
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	w.must(os.WriteFile(kubeconfig, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: t, contexts: [{name: t, context: {cluster: t, user: t}}],
clusters: [{name: t, cluster: {server: "http://%s"}}], users: [{name: t, user: {}}]}`, w.apiP.address()), 0o600))
	clients, err := cluster.Connect(kubeconfig, "warmpool-faults")
	w.must(err)
	w.view, err = cluster.New(cluster.Options{Clients: clients, Log: logger})
	w.must(err)
	w.startEngine()
	files, err := server.SelfSigned(w.tlsDir, []string{"localhost", "127.0.0.1"})
	w.must(err)
	w.server, err = server.New(server.Options{
		Expander: edge{w}, Scaler: edge{w}, ExpanderListen: "127.0.0.1:0", ScalerListen: "127.0.0.1:0", TLS: files,
		CertificatePoll: 5 * time.Millisecond, Drain: 100 * time.Millisecond, Heartbeat: 20 * time.Millisecond, Registry: w.registry, Logger: logger,
		// Virtual time makes a minute of calls in a moment, and every client, garbage included, has the same address.
		Requests: server.RequestLimits{PerSecond: 10_000},
		Clients:  server.ClientLimits{ChoicesPerSecond: 10_000, Choices: 1000, CallsPerSecond: 100_000, Connections: 512},
	})
	w.must(err)
	w.edgeProxy = newProxy(w.t, "edge", w.server.Addr("scaler"))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { w.view.Run(ctx) })
	group.Go(func() { w.watcher.Run(ctx) })
	group.Go(func() {
		if err := w.server.Run(ctx); err != nil {
			w.t.Errorf("%s: the server ended: %v", w.name, err)
		}
	})
	w.t.Cleanup(func() {
		cancel()
		group.Wait()
		w.stopEngine()
		w.reader.Close()
	})
	w.eventually("the view of the cluster is there", w.view.Synced)
}

// startEngine opens what the data directory has, and makes an engine from it.
func (w *world) startEngine() {
	w.t.Helper()
	settings := w.watcher.Current()
	logger := slog.New(slog.NewTextHandler(w.logs, nil))
	log, err := decisions.Open(decisions.Options{File: settings.Decisions.File, Logger: logger})
	w.must(err)
	saved, err := engine.OpenStore(w.dataDir, logger)
	w.must(err)
	e, err := engine.New(engine.Options{
		Config: settings, Source: w.reader, Cluster: w.view, History: engine.NewFileHistory(w.dataDir), Store: saved, Decisions: log,
		Operations: engine.NewOperationsFile(w.dataDir), Clock: w.now, Log: logger, Metrics: prometheus.NewRegistry(),
	})
	w.must(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine, w.saved, w.log = e, saved, log
}

// stopEngine lets go of the data directory, as the end of the process does.
func (w *world) stopEngine() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.engine == nil {
		return
	}
	if err := errors.Join(w.saved.Close(), w.log.Close()); err != nil {
		w.t.Errorf("%s: closing the data directory: %v", w.name, err)
	}
	w.engine = nil
}

func (w *world) current() *engine.Engine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engine
}

// restart is a crash and a new start; with spoil something happens to the files in between.
func (w *world) restart(spoil func()) {
	w.t.Helper()
	w.current().Save()
	w.stopEngine()
	if spoil != nil {
		spoil()
	}
	w.startEngine()
}

// edge hands the calls to the engine of the moment. While there is none, between a stop and a start, nobody is there.
type edge struct{ w *world }

var errNobody = fmt.Errorf("%w: warmpool is being restarted", engine.ErrNoData)

func (e edge) BestOptions(ctx context.Context, r expander.Request) (expander.Decision, error) {
	if now := e.w.current(); now != nil {
		return now.BestOptions(ctx, r)
	}
	return expander.Decision{}, errNobody
}

func (e edge) Resolve(t engine.Trigger) (string, error) {
	if now := e.w.current(); now != nil {
		return now.Resolve(t)
	}
	return "", errNobody
}

func (e edge) Target(id string) (scaler.Decision, error) {
	if now := e.w.current(); now != nil {
		return now.Target(id)
	}
	return scaler.Decision{}, errNobody
}

func (e edge) Changed(id string) <-chan struct{} {
	if now := e.w.current(); now != nil {
		return now.Changed(id)
	}
	return nil
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s: not within %v", w.name, what, patience)
		}
	}
}

// logWatch keeps the log and finds what must never be in it.
type logWatch struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logWatch) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logWatch) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// has looks for a line with all of the texts.
func (l *logWatch) has(texts ...string) error {
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return nil
		}
	}
	return fmt.Errorf("no line of the log has %q:\n%s", texts, l)
}

// crashes are log lines that only a fault of warmpool writes.
func (l *logWatch) crashes() []string {
	var out []string
	for line := range strings.Lines(l.String()) {
		for _, sign := range []string{"a fault of warmpool", "choosing a node group failed", "not a valid one", "panic in"} {
			if strings.Contains(line, sign) {
				out = append(out, line)
				break
			}
		}
	}
	return out
}
