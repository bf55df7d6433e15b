package raw_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load"
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
	t.Helper()
	s := grpc.NewServer(options...)
	register(s)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
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

// The method is unary to interceptors and to clients, and other services of the server keep the usual codec.
func TestInterceptorsAndOtherServices(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	record := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		resp, err := next(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		entry := info.FullMethod + " " + status.Code(err).String()
		if r, ok := req.(*raw.Request); ok && r.Size() > 0 {
			entry += " raw"
		}
		seen = append(seen, entry)
		return resp, err
	}
	for name, options := range map[string][]grpc.ServerOption{
		"plain": nil, "with the codec": {grpc.ForceServerCodecV2(raw.Codec())},
	} {
		t.Run(name, func(t *testing.T) {
			seen = nil
			address := serve(t, func(s *grpc.Server) {
				raw.RegisterExpander(s, handler{}, nil)
				healthpb.RegisterHealthServer(s, health.NewServer())
			}, append(options, grpc.ChainUnaryInterceptor(record, record))...)
			c := dial(t, address, caclient.V1_35_0)
			a, err := c.BestOptions(t.Context(), load.Wave{Groups: 3, Pods: 5, PodBytes: 5000}.Loop())
			if err != nil || a.Err != nil || a.Chosen() != "gpu-pool-000" {
				t.Fatalf("answer %+v, error %v", a, err)
			}
			if _, err := c.Send(t.Context(), []byte("garbage")); status.Code(err) != codes.InvalidArgument {
				t.Errorf("garbage: %v", err)
			}
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
				t.Error(err)
			}
			want := "/grpcplugin.Expander/BestOptions OK raw,/grpcplugin.Expander/BestOptions OK raw," +
				"/grpcplugin.Expander/BestOptions InvalidArgument raw,/grpcplugin.Expander/BestOptions InvalidArgument raw," +
				"/grpc.health.v1.Health/Check OK,/grpc.health.v1.Health/Check OK"
			if got := strings.Join(seen, ","); got != want {
				t.Errorf("interceptors saw %s\nwant %s", got, want)
			}
		})
	}
}

// A request that carries no option, and one without any byte, are no reason to stumble.
func TestEmptyRequest(t *testing.T) {
	c := dial(t, serve(t, expanderOnly(handler{}, nil)), caclient.V1_35_0)
	resp, err := c.Send(t.Context(), nil)
	if err != nil || len(resp.GetOptions()) != 0 {
		t.Errorf("answer %v, error %v", resp, err)
	}
}

// No codec for compressed messages is installed, so that nothing small can become large here.
func TestCompressedIsRefused(t *testing.T) {
	address := serve(t, expanderOnly(handler{}, nil))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := &grpcplugin.BestOptionsRequest{Options: []*grpcplugin.Option{{NodeGroupId: strings.Repeat("a", 500)}}}
	_, err = grpcplugin.NewExpanderClient(conn).BestOptions(t.Context(), req, grpc.UseCompressor("gzip"))
	if status.Code(err) == codes.OK {
		t.Error("a compressed request was served")
	}
	if _, err := grpcplugin.NewExpanderClient(conn).BestOptions(t.Context(), req); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// Two requests of 293 MiB at the same time: one is answered, the other is refused at once and before its bytes are
// received, and the server never holds a whole message.
func TestTwoLargeRequests(t *testing.T) {
	message := largeMessage(t, load.Wave{Groups: 60, Pods: 500, PodBytes: 5120}, caclient.V1_34_5)
	if len(message) < 300_000_000 {
		t.Fatalf("the message has %d bytes", len(message))
	}
	gate := raw.NewLargeGate(raw.Bounds{})
	entered, proceed := make(chan struct{}), make(chan struct{})
	var held uint64
	address := serve(t, expanderOnly(handler{decoded: func(in expander.Request, stats wire.Stats) {
		if len(in.Pods) != 500 || stats.PodEntries != 30_000 || stats.Bytes != int64(len(message)) {
			t.Errorf("%d pods, stats %+v", len(in.Pods), stats)
		}
		close(entered)
		<-proceed
	}}, gate))

	before := heap()
	stop, peak := watchHeap()
	first := make(chan error, 1)
	go func() {
		_, err := dial(t, address, caclient.V1_34_5).Send(t.Context(), message)
		first <- err
	}()
	<-entered
	_, err := dial(t, address, caclient.V1_34_5).Send(t.Context(), message)
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("second request: %v", err)
	}
	close(stop)
	held = <-peak - before
	close(proceed)
	if err := <-first; err != nil {
		t.Errorf("first request: %v", err)
	}
	// Both ends run in this process, and the client frames its bytes in buffers of its own.
	if held > 100<<20 {
		t.Errorf("%d MiB were held at the peak", held>>20)
	}
	t.Logf("message %d MiB, at most %d MiB of heap above the start", len(message)>>20, held>>20)

	// The place is free again.
	entered, proceed = make(chan struct{}), make(chan struct{})
	close(proceed)
	if _, err := dial(t, address, caclient.V1_34_5).Send(t.Context(), message); err != nil {
		t.Errorf("third request: %v", err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func largeMessage(t testing.TB, w load.Wave, r caclient.Release) []byte {
	t.Helper()
	m, err := w.Loop().Message(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
