package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/warmpool/warmpool/bench/load/child"
)

// Run does one run. The error is about the run itself; what the server did wrong is in the result.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var store net.ListenConfig
	listener, err := store.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	metrics := &http.Server{Handler: NewMetricStore(o.Objects), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = metrics.Serve(listener) }()
	defer func() { _ = metrics.Close() }()

	s, err := NewServer(o.Binary, o.Dir, filepath.Join(o.Dir, "tls"), configuration(&o, "http://"+listener.Addr().String()))
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	defer func() {
		if ended := s.Stop(syscall.SIGTERM); ended != nil {
			err = errors.Join(err, fmt.Errorf("the end of the server: %w\n%s", ended, s.Output()))
		}
	}()
	plain, err := startConstant(&o, s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.process.Stop(syscall.SIGKILL) }()
	return measure(ctx, &o, s, plain)
}

// plainServer is the constant server as a process of its own.
type plainServer struct {
	process          *child.Process
	plain, encrypted string
	real             *Server
}

func startConstant(o *Options, s *Server) (*plainServer, error) {
	c := &plainServer{real: s}
	for _, address := range []*string{&c.plain, &c.encrypted} {
		var err error
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	var err error
	c.process, err = launch(o.Dir, "constant", append(o.Constant, c.plain, c.encrypted, filepath.Join(s.TLS, "tls.crt"), filepath.Join(s.TLS, "tls.key"))...)
	return c, err
}

func (c *plainServer) dial(encrypted bool) (*grpc.ClientConn, error) {
	if !encrypted {
		return dial(c.plain, insecure.NewCredentials())
	}
	return dial(c.encrypted, c.real.trust())
}

// measure lets everything run through warm-up and measured time, and reads the server meanwhile.
func measure(ctx context.Context, o *Options, s *Server, plain *plainServer) (*Result, error) {
	var measured atomic.Bool
	keda, err := dialClients(o, s, plain.dial, &measured)
	defer keda.close()
	if err != nil {
		return nil, err
	}
	autoscaler, err := newBursts(o, s, keda.tally, &measured)
	if err != nil {
		return nil, err
	}
	defer func() { _ = autoscaler.client.Close() }()
	// Without a deadline, which would go along with every call: what the end cuts off is not the server's failure.
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	defer time.AfterFunc(o.Warmup+o.For, stop).Stop()
	var background sync.WaitGroup
	background.Go(func() { keda.run(loaded) })
	background.Go(func() { autoscaler.run(loaded) })
	background.Go(func() {
		if until(loaded, time.Now().Add(o.Warmup)) {
			measured.Store(true)
			o.Log.Info("warm-up is over", "measured for", o.For)
		}
	})
	readings, warm, err := watch(loaded, o, s)
	background.Wait()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return judge(o, keda, autoscaler, readings, warm), nil
}

// watch reads the server until ctx ends, and returns the readings after the warm-up and the last one in it.
func watch(ctx context.Context, o *Options, s *Server) (readings []Reading, warm Reading, err error) {
	started := time.Now()
	for until(ctx, time.Now().Add(o.Sample)) {
		if s.Ended() {
			return nil, warm, fmt.Errorf("the server ended; its output ends with\n%s", s.Output())
		}
		outside, err := foreign(s.ID())
		if err != nil {
			return nil, warm, err
		}
		if len(outside) > 0 {
			return nil, warm, fmt.Errorf("the server is connected to %v; a run never leaves this machine", outside)
		}
		r, err := s.read(started)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, warm, err
		}
		o.Log.Info("reading", "at", r.At.Round(time.Second), "MiB", int(r.Resident)>>20, "heap", int(r.Heap)>>20, "goroutines", r.Goroutines,
			"files", r.Descriptors, "processor", r.Processor, "board", r.BoardAge)
		if r.At >= o.Warmup {
			readings = append(readings, r)
		} else {
			warm = r
		}
	}
	if len(readings) > 0 {
		return readings, warm, nil
	}
	r, err := s.read(started) // a machine that was too slow for one in time
	return []Reading{r}, warm, err
}
