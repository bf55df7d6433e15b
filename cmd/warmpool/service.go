package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/server"
	"github.com/warmpool/warmpool/web"
)

const (
	// configPoll is how often the configuration file is looked at; a change counts after two looks.
	configPoll = 2 * time.Second
	// drainSources is how long the engine may take at the end to save what it has learnt, beyond the server's drain.
	drainSources = 5 * time.Second
)

// service is everything that serve runs.
type service struct {
	logger  *slog.Logger
	watcher *config.Watcher
	source  *source
	store   *engine.Store
	log     *decisions.Log
	engine  *engine.Engine
	server  *server.Server
	cluster *clusterView
	// instances is nil for a single one.
	instances *instances
}

// newService puts the parts together. Whatever can fail fails here, before a call is answered.
func newService(f *serveFlags, halvesGiven bool, logger *slog.Logger) (s *service, err error) {
	s = &service{logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	if s.watcher, err = config.NewWatcher(f.config, configPoll, s.apply); err != nil {
		return s, err
	}
	settings := s.watcher.Current()
	for _, w := range settings.Warnings {
		logger.Warn("configuration", "file", f.config, "warning", w.String())
	}
	if err = s.openLog(f, settings, logger); err != nil {
		return s, err
	}
	if s.source, err = newSource(settings, registry, logger); err != nil {
		return s, err
	}
	if s.cluster, err = openCluster(f, settings, registry, logger); err != nil {
		return s, err
	}
	if s.instances, err = joinInstances(f, logger); err != nil {
		return s, err
	}
	if err = s.openEngine(f, settings, registry); err != nil {
		return s, err
	}
	return s, s.openServer(f, halvesGiven, settings, registry)
}

// openLog opens the decision log. A week of observing is in its comparison, so that is kept where anything is kept.
func (s *service) openLog(f *serveFlags, settings *config.Config, logger *slog.Logger) (err error) {
	o := decisions.Options{Ring: settings.Decisions.Ring, File: settings.Decisions.File, Logger: logger}
	if f.dataDir != "" {
		if err = os.MkdirAll(f.dataDir, 0o750); err != nil {
			return fmt.Errorf("--data-dir: %w", err)
		}
		o.ComparisonFile = filepath.Join(f.dataDir, "comparison.json")
	}
	s.log, err = decisions.Open(o)
	return err
}

func (s *service) openEngine(f *serveFlags, settings *config.Config, registry *prometheus.Registry) (err error) {
	o := engine.Options{Config: settings, Source: s.source, Decisions: s.log, Log: s.logger, Metrics: registry}
	if f.dataDir != "" {
		if err = os.MkdirAll(f.dataDir, 0o750); err != nil {
			return fmt.Errorf("--data-dir: %w", err)
		}
		if s.store, err = engine.OpenStore(f.dataDir, s.logger); err != nil {
			return err
		}
		o.Store, o.History, o.Operations = s.store, engine.NewFileHistory(f.dataDir), engine.NewOperationsFile(f.dataDir)
	}
	s.cluster.use(&o)
	s.engine, err = engine.New(o)
	return err
}

func (s *service) openServer(f *serveFlags, halvesGiven bool, settings *config.Config, registry *prometheus.Registry) (err error) {
	o := server.Options{
		Decisions: s.log, ExpanderListen: f.expander, ScalerListen: f.scaler, ScalerInsecureListen: f.plain,
		AdminListen: f.admin, AdminTokenFile: f.tokenFile, Registry: registry, Logger: s.logger, Requests: largeRequests(settings),
		AdminTLS: server.AdminTLS(f.adminTLS), AdminNames: f.adminNames, ClientNames: f.clientNames,
		Clients: server.ClientLimits{Connections: f.connections},
		Page:    web.Page(), API: web.API(s.engine, s.log), Operations: s.engine, Ledgers: s.engine,
	}
	if f.half("scaler") {
		o.Scaler = s.engine
	}
	switch {
	case !f.half("expander"):
	case settings.Expander != nil:
		o.Expander = s.engine
	case halvesGiven:
		return fmt.Errorf("--serve expander: %s has no expander section; add one, or serve the scaler alone", f.config)
	default:
		s.logger.Info("the configuration has no expander section: only the scaler is served", "file", f.config)
	}
	if o.TLS, err = f.tls(); err != nil {
		return err
	}
	s.instances.serve(&o, f, s.engine)
	if s.server, err = server.New(o); err != nil {
		return err
	}
	return s.instances.open(f, o.TLS, s.server.Addr("scaler"))
}

func largeRequests(c *config.Config) server.RequestLimits {
	return server.RequestLimits{Large: c.LargeRequests.From, Limit: c.LargeRequests.Limit, LargeInFlight: c.LargeRequests.InFlight}
}

// run serves until the context ends, or a part fails, and then ends the parts in order: first the server drains, with
// the engine still answering, then the engine saves, then the log is written out.
func (s *service) run(ctx context.Context) error {
	edge, cancelEdge := context.WithCancel(ctx)
	defer cancelEdge()
	inner, cancelInner := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelInner()
	var background errgroup.Group
	background.Go(func() error { return s.engine.Run(inner) })
	background.Go(func() error { return s.instances.run(edge) })
	background.Go(func() error { s.watcher.Run(inner); return nil })
	background.Go(func() error { s.watchReloads(inner); return nil })
	background.Go(func() error { s.cluster.run(inner); return nil })
	err := s.server.Run(edge)
	cancelEdge()
	cancelInner()
	done := make(chan error, 1)
	go func() { done <- background.Wait() }()
	select {
	case e := <-done:
		err = errors.Join(err, e)
	case <-time.After(drainSources):
		err = errors.Join(err, fmt.Errorf("the engine did not end within %v", drainSources))
	}
	s.server = nil // its listeners are closed
	return errors.Join(err, s.close())
}

// close releases what is open.
func (s *service) close() error {
	var errs []error
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	if s.source != nil {
		s.source.close()
	}
	errs = append(errs, s.store.Close())
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	return errors.Join(errs...)
}

// apply puts a changed configuration into force. The source comes first: a configuration that cannot be reached
// through is refused as a whole. watchReloads reports the error.
func (s *service) apply(c *config.Config) error {
	if err := s.source.use(c.Prometheus); err != nil {
		return err
	}
	if err := s.engine.Reload(c); err != nil {
		return err
	}
	s.server.SetLargeRequests(largeRequests(c))
	s.logger.Info("configuration reloaded", "hash", c.Hash)
	return nil
}

// watchReloads reports broken configurations, and reads the file at once on SIGHUP.
func (s *service) watchReloads(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	tick := time.NewTicker(configPoll)
	defer tick.Stop()
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			_ = s.watcher.Reload() // reported below
		case <-tick.C:
		}
		if status := s.watcher.Status(); status.Failures > failures {
			failures = status.Failures
			s.engine.ReloadFailed()
			s.logger.Error("configuration is not used, the last good one stays", "error", status.Err)
		}
	}
}

// summary says what was done.
func (s *service) summary(out io.Writer, took time.Duration) error {
	stats := s.log.Stats()
	if _, err := fmt.Fprintf(out, "served for %v: %d decisions recorded\n", took.Round(time.Second), stats.Recorded); err != nil {
		return err
	}
	return decisions.WriteComparison(out, s.log.Comparison())
}
