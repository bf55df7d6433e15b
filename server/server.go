package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/warmpool/warmpool/wire"
	"github.com/warmpool/warmpool/wire/raw"
)

// Server is the edge with its listeners open.
type Server struct {
	options      Options
	metrics      *metrics
	certificates *certificates // nil without a TLS listener
	health       *health.Server
	admission    admission
	gate         *raw.LargeGate
	expander     *expanderService
	scaler       *scalerService
	failures     repeated

	ports     []port
	admin     *http.Server
	adminGRPC *grpc.Server
	adminPort net.Listener // nil without an admin listener

	stop  chan struct{} // closed when draining begins
	ready atomic.Bool
}

// New reads the certificate and opens every listener, or fails with everything that is wrong with the options. The
// caller runs the server or closes it.
func New(o Options) (*Server, error) {
	o.complete()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{options: o, metrics: newMetrics(o.Registry), health: o.healthServer(), stop: make(chan struct{})}
	if o.usesTLS() {
		c, err := newCertificates(o.TLS, o.Registry, o.Logger)
		if err != nil {
			return nil, fmt.Errorf("%w: check --tls-cert, --tls-key and --client-ca", err)
		}
		s.certificates = c
	}
	s.admission = newAdmission(o.Requests, s.metrics.refused.WithLabelValues("expander", "requests-rate"))
	s.gate = raw.NewLargeGate(o.Requests.bounds())
	s.expander = &expanderService{expander: o.Expander, metrics: s.metrics, budget: wire.NewBudget(heldBytes)}
	s.scaler = &scalerService{scaler: o.Scaler, heartbeat: o.Heartbeat, stop: s.stop, metrics: s.metrics}
	if o.Decisions != nil {
		o.Registry.MustRegister(logCollector{o.Decisions})
	}
	if err := s.openAll(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) openAll() error {
	var errs []error
	for _, part := range s.options.parts() {
		p, err := s.open(part)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.ports = append(s.ports, p)
	}
	if s.options.AdminListen != "" {
		errs = append(errs, s.openAdmin())
	}
	return errors.Join(errs...)
}

// SetLargeRequests changes the bounds of large requests for the requests to come; the rate stays.
func (s *Server) SetLargeRequests(l RequestLimits) { s.gate.SetBounds(l.bounds()) }

// Close releases the listeners of a server that is not run.
func (s *Server) Close() error {
	var errs []error
	for _, p := range s.ports {
		errs = append(errs, p.listener.Close())
	}
	if s.adminPort != nil {
		errs = append(errs, s.adminPort.Close())
	}
	return errors.Join(errs...)
}

// Addr is the address of a listener: expander, scaler, scaler-insecure or admin. It is nil if that is not served;
// with a shared listener the scaler's address is the expander's.
func (s *Server) Addr(name string) net.Addr {
	if name == "scaler" && s.options.shared() {
		name = "expander"
	}
	for _, p := range s.ports {
		if p.name == name {
			return p.listener.Addr()
		}
	}
	if name == "admin" && s.adminPort != nil {
		return s.adminPort.Addr()
	}
	return nil
}

// Run serves until the context ends, then drains: health says not serving, push streams end cleanly, clients are told
// to go away, and calls that are still open after the drain time are cut. An error means that a listener failed.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range s.ports {
		group.Go(func() error {
			// A stop that comes before the first accept is no failure of the listener.
			if err := p.grpc.Serve(p.listener); !errors.Is(err, grpc.ErrServerStopped) {
				return err
			}
			return nil
		})
		s.options.Logger.Info("listening", "listener", p.name, "address", p.listener.Addr().String())
	}
	if s.adminPort != nil {
		group.Go(func() error {
			if err := s.serveAdmin(); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("admin listener: %w", err)
			}
			return nil
		})
		s.options.Logger.Info("listening", "listener", "admin", "address", s.adminPort.Addr().String())
	}
	if s.certificates != nil {
		group.Go(func() error { s.certificates.watch(ctx, s.options.CertificatePoll); return nil })
	}
	s.ready.Store(true)
	group.Go(func() error { <-ctx.Done(); s.drain(); return nil })
	return group.Wait()
}

// drain ends everything within the drain time. The admin listener goes last, so that the end can be watched.
func (s *Server) drain() {
	s.ready.Store(false)
	s.health.Shutdown()
	close(s.stop)
	deadline, cancel := context.WithTimeout(context.Background(), s.options.Drain)
	defer cancel()
	var graceful errgroup.Group
	for _, p := range s.ports {
		graceful.Go(func() error {
			stopped := context.AfterFunc(deadline, p.grpc.Stop) // cuts what is still open, which lets GracefulStop return
			defer stopped()
			p.grpc.GracefulStop()
			return nil
		})
	}
	_ = graceful.Wait() // none of them fails
	if s.adminPort != nil {
		s.drainAdmin()
	}
}

// drainAdmin gives open HTTP requests a moment. The gRPC side cannot be drained over net/http; its watchers have
// ended by themselves.
func (s *Server) drainAdmin() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.admin.Shutdown(ctx); err != nil {
		_ = s.admin.Close() // nothing is left to wait for
	}
	s.adminGRPC.Stop()
}
