package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/server"
	"github.com/warmpool/warmpool/web"
)

// Options of a demo. The zero value is a day in 75 seconds on free ports.
type Options struct {
	// For is how long the day takes, 75 s by default. If the machine is too slow the demo ends after this time all
	// the same, earlier in the day.
	For time.Duration
	// From is how much of the day is played at once, before the rest of it takes its time.
	From time.Duration
	// Speed is virtual seconds per real second; 0 follows from For and what From leaves.
	Speed float64
	// Out gets the story; nil is standard output.
	Out  io.Writer
	Seed uint64
	// Listen and AdminListen are the addresses of the server; free ports of 127.0.0.1 by default.
	Listen, AdminListen string
	// Start is the midnight at which the day begins; the zero value is the coming Monday, so that the virtual clock is
	// ahead of the real one.
	Start time.Time
	// Log gets the server's own log; nil discards it.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.For = cmp.Or(o.For, 75*time.Second)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Speed <= 0 {
		o.Speed = float64(24*time.Hour-o.From) / float64(o.For)
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	o.Listen, o.AdminListen = cmp.Or(o.Listen, "127.0.0.1:0"), cmp.Or(o.AdminListen, "127.0.0.1:0")
	if o.Start.IsZero() {
		o.Start = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		for o.Start.Weekday() != time.Monday {
			o.Start = o.Start.AddDate(0, 0, 1)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Run plays one day and returns after the summary. Ending ctx ends the day early, which is no error.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	w, err := newWorld(o.Start, o.Seed)
	if err != nil {
		return err
	}
	log, err := decisions.Open(decisions.Options{})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { _ = log.Close() }() // it has no file
	c, err := configuration()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	e, err := engine.New(engine.Options{
		Config: c, Source: w, Cluster: w, Decisions: log, Log: o.Log, Metrics: registry,
		Clock: func() time.Time { return w.seen.Load().now },
	})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return withServer(ctx, o, e, log, registry, func(ctx context.Context, s *server.Server, caFile string) error {
		d, err := newDriver(o, w, e, log, s, caFile)
		if err != nil {
			return err
		}
		defer d.close()
		return d.day(ctx)
	})
}

// withServer runs the real server around a function: TLS with an authority made for the occasion.
func withServer(ctx context.Context, o Options, e *engine.Engine, log *decisions.Log, registry *prometheus.Registry,
	play func(ctx context.Context, s *server.Server, caFile string) error,
) error {
	dir, err := os.MkdirTemp("", "warmpool-demo-")
	if err != nil {
		return fmt.Errorf("demo: a directory for certificates: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory that stays harms nobody
	files, err := server.SelfSigned(dir, []string{"127.0.0.1", "localhost"})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	s, err := server.New(server.Options{
		Expander: e, Scaler: e, Decisions: log, TLS: files, Registry: registry, Logger: o.Log,
		ExpanderListen: o.Listen, ScalerListen: o.Listen, AdminListen: o.AdminListen, Drain: time.Second,
		// A day in seconds asks more often than any autoscaler.
		Requests: server.RequestLimits{PerSecond: 10_000}, Clients: server.ClientLimits{ChoicesPerSecond: 10_000, CallsPerSecond: 100_000},
		Page: web.Page(), API: web.API(e, log),
	})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Run(serving) }()
	err = play(ctx, s, filepath.Join(dir, "ca.crt"))
	stop()
	return errors.Join(err, <-done)
}

// driver moves world and engine forward and makes the calls.
type driver struct {
	options  Options
	world    *world
	engine   *engine.Engine
	log      *decisions.Log
	server   *server.Server
	ca       *caclient.Client
	keda     *keda
	narrator *narrator
	// target is the last replica target that KEDA read, failing whether its last poll failed.
	target  int
	failing bool
	tally   tally
	// listening opens the push stream once, for the rest of the day.
	listening sync.Once
}

func newDriver(o Options, w *world, e *engine.Engine, log *decisions.Log, s *server.Server, caFile string) (*driver, error) {
	authority, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	address := s.Addr("expander").String()
	ca, err := caclient.Dial(address, authority, release)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	k, err := dialKEDA(address, caFile)
	if err != nil {
		return nil, errors.Join(err, ca.Close())
	}
	return &driver{options: o, world: w, engine: e, log: log, server: s, ca: ca, keda: k, narrator: newNarrator(o.Out), target: smallest}, nil
}

// release is the Cluster Autoscaler that the demo plays; demo.yaml says the same.
var release = caclient.Release{Minor: 36, Patch: 1}

func (d *driver) close() {
	// Connections to a server that ends anyway.
	_ = d.ca.Close()
	_ = d.keda.conn.Close()
}

// day plays the day, or as much of it as fits into the time.
func (d *driver) day(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d.opening()
	end := d.options.Start.Add(24 * time.Hour)
	at, from := d.options.Start, d.options.Start.Add(d.options.From)
	for at.Before(from) && ctx.Err() == nil {
		at = at.Add(step)
		d.advance(ctx, at)
	}
	began := time.Now()
	for at.Before(end) && time.Since(began) < d.options.For {
		at = at.Add(step)
		due := began.Add(time.Duration(float64(at.Sub(from)) / d.options.Speed))
		if !sleepUntil(ctx, due) {
			break
		}
		d.advance(ctx, at)
	}
	d.closing(at)
	return d.narrator.err
}

// sleepUntil returns false when the context ends first. Sleeps below a millisecond are left out: they would take longer.
func sleepUntil(ctx context.Context, due time.Time) bool {
	left := time.Until(due)
	if left < time.Millisecond {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// advance moves everything by one step.
func (d *driver) advance(ctx context.Context, at time.Time) {
	d.world.advance(at)
	events := d.world.takeEvents()
	for _, e := range events {
		d.tally.event(e)
	}
	d.narrator.events(events)
	since := at.Sub(d.options.Start)
	if since%sim.HPASync == 0 {
		d.world.scrape()
		d.engine.Tick(ctx, at)
		d.engine.Backfill(ctx)
		d.poll(ctx, at)
		// Not before the first answer: a trigger that appears in the middle of a tick has none until the next one.
		d.listening.Do(func() { go d.keda.listen(ctx) })
	}
	if since%sim.ScanInterval == 0 {
		d.world.autoscale(func(o offer) []string { return d.ask(ctx, at, o) })
	}
	if since%(2*time.Hour) == 0 {
		d.narrator.status(at, d.world)
	}
}

// poll is one sync of the autoscaler: KEDA is asked, and the answer moves the replicas.
func (d *driver) poll(ctx context.Context, at time.Time) {
	value, err := d.keda.poll(ctx)
	d.tally.polls++
	if err != nil {
		d.tally.failures++
		if !d.failing {
			d.narrator.say(at, red, "KEDA asked", "no answer, the replicas stay: %v", err)
		}
		d.failing = true
		return
	}
	d.failing = false
	if n := int(value); n != d.target {
		decision := d.decision()
		if n > d.target && decision != nil && decision.Binding == "forecast" {
			d.tally.prewarms++
		}
		d.narrator.target(at, d.target, n, decision)
		d.target = n
	}
	if n := d.world.hpa.Sync(at, d.world.replicas, len(d.world.readyBefore), sim.Average(value, 1)); n != d.world.replicas {
		d.world.scaleTo(n, at)
		d.world.publish()
	}
}

// ask is one call of BestOptions.
func (d *driver) ask(ctx context.Context, at time.Time, o offer) []string {
	answer, err := d.ca.BestOptions(ctx, o.loop)
	d.tally.asked++
	if err = errors.Join(err, answer.Err); err != nil {
		d.tally.failures++
		d.narrator.say(at, red, "CA asked", "no answer, every option stays: %v", err)
		return o.ids()
	}
	records := d.log.List(decisions.Filter{Kind: decisions.KindExpander, Limit: 1})
	if len(records) == 1 {
		d.tally.choice(records[0].Expander)
		d.narrator.choice(at, o, answer.Kept, records[0].Expander)
	}
	return answer.Kept
}
