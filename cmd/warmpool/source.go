package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/signals"
)

// source reads signals through a reader that can be replaced when the configuration changes. What is being read goes on
// with the old one, and nobody waits for it.
type source struct {
	registry *prometheus.Registry
	logger   *slog.Logger

	reader atomic.Pointer[signals.Reader] // nil without an address

	mu         sync.Mutex // held while the reader is replaced
	settings   config.Prometheus
	registered []prometheus.Collector
}

func newSource(c *config.Config, registry *prometheus.Registry, logger *slog.Logger) (*source, error) {
	s := &source{registry: registry, logger: logger}
	return s, s.use(c.Prometheus)
}

// use replaces the reader if the settings have changed. On an error the one before stays.
func (s *source) use(p config.Prometheus) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.URL != "" && reflect.DeepEqual(p, s.settings) {
		return nil
	}
	if p.URL == "" { // allowed as long as no service needs it
		s.replace(nil, p)
		return nil
	}
	o := signals.FromConfig(p)
	o.Log, o.Seed = s.logger, uint64(time.Now().UnixNano())
	probe, err := signals.NewReader(o) // without metrics, which cannot be registered twice
	if err != nil {
		return fmt.Errorf("prometheus: %w", err)
	}
	probe.Close()
	s.unregister()
	o.Metrics = (*sourceRegisterer)(s)
	reader, err := signals.NewReader(o)
	if err != nil {
		return fmt.Errorf("prometheus: %w", err)
	}
	s.replace(reader, p)
	return nil
}

func (s *source) replace(reader *signals.Reader, p config.Prometheus) {
	s.settings = p
	if before := s.reader.Swap(reader); before != nil {
		before.Close() // its idle connections; those in use end by themselves when they have been idle for a while
	}
}

func (s *source) unregister() {
	for _, c := range s.registered {
		s.registry.Unregister(c)
	}
	s.registered = nil
}

func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(nil, config.Prometheus{})
}

var errNoPrometheus = errors.New("prometheus.url is not set")

// Read implements [engine.Source].
func (s *source) Read(ctx context.Context, at time.Time, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	reader := s.reader.Load()
	if reader == nil {
		refuse(services, report)
		return
	}
	reader.Read(ctx, at, services, report)
}

// Rewind implements [engine.Source].
func (s *source) Rewind(ctx context.Context, from, to time.Time, step time.Duration, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	reader := s.reader.Load()
	if reader == nil {
		refuse(services, report)
		return
	}
	reader.Rewind(ctx, from, to, step, services, report)
}

func refuse(services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	for i, queries := range services {
		for q := range queries {
			report(i, q, nil, errNoPrometheus)
		}
	}
}

// History implements [engine.Source].
func (s *source) History(ctx context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	reader := s.reader.Load()
	if reader == nil {
		return nil, errNoPrometheus
	}
	return reader.History(ctx, q, from, to, slot)
}

// Histories implements [engine.HistoriesSource].
func (s *source) Histories(ctx context.Context, queries []config.Query, from, to time.Time, slot time.Duration, report func(int, []float64, error)) {
	reader := s.reader.Load()
	if reader == nil {
		for q := range queries {
			report(q, nil, errNoPrometheus)
		}
		return
	}
	reader.Histories(ctx, queries, from, to, slot, report)
}

// sourceRegisterer remembers what a reader registers, so that the next reader can take its place. The caller holds
// the lock of the source.
type sourceRegisterer source

func (s *sourceRegisterer) Register(c prometheus.Collector) error {
	if err := s.registry.Register(c); err != nil {
		return err
	}
	s.registered = append(s.registered, c)
	return nil
}

func (s *sourceRegisterer) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := s.Register(c); err != nil {
			panic(err)
		}
	}
}

func (s *sourceRegisterer) Unregister(c prometheus.Collector) bool { return s.registry.Unregister(c) }
