package raw_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
	"github.com/warmpool/warmpool/wire/raw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler decodes and answers the first option.
type handler struct {
	// decoded, when set, is called between decoding and answering.
	decoded func(expander.Request, wire.Stats)
}

func (h handler) BestOptions(_ context.Context, req *raw.Request) (*grpcplugin.BestOptionsResponse, error) {
	in, stats, err := wire.Decode(req, wire.Limits{})
	if errors.Is(err, wire.ErrInvalid) {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err != nil {
		return nil, err
	}
	if h.decoded != nil {
		h.decoded(in, stats)
	}
	out := &grpcplugin.BestOptionsResponse{}
	if len(in.Options) > 0 {
		out.Options = []*grpcplugin.Option{{NodeGroupId: in.Options[0].GroupID}}
	}
	return out, nil
}

// serve runs a server for the test and returns its address.
func serve(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) string {
	address, _ := serveCounted(t, register, options...)
	return address
}

// serveCounted is serve with a count of the bytes received on the n-th connection.
func serveCounted(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) (string, func(n int) int64) {
	t.Helper()
	s := grpc.NewServer(options...)
	register(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &countingListener{Listener: l}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), func(n int) int64 {
		listener.mu.Lock()
		defer listener.mu.Unlock()
		return listener.conns[n].received.Load()
	}
}

type countingListener struct {
	net.Listener
	mu    sync.Mutex
	conns []*countingConn
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted := &countingConn{Conn: c}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, counted)
	return counted, nil
}

type countingConn struct {
	net.Conn
	received atomic.Int64
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func dial(t testing.TB, address string, r caclient.Release) *caclient.Client {
	t.Helper()
	c, err := caclient.DialWith(address, insecure.NewCredentials(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func expanderOnly(h raw.Handler, gate *raw.LargeGate) func(*grpc.Server) {
	return func(s *grpc.Server) { raw.RegisterExpander(s, h, gate) }
}
