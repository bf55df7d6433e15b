package raw_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire/raw"
)

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

// A request whose sender gives up is over for the handler too, and its place is free.
func TestSenderGivesUp(t *testing.T) {
	gate := raw.NewLargeGate(raw.Bounds{From: 1})
	result := make(chan error, 1)
	address := serve(t, expanderOnly(stalled(func(ctx context.Context, req *raw.Request) {
		<-ctx.Done()
		for {
			if _, err := req.Next(); err != nil {
				result <- err
				return
			}
		}
	}), gate))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := dial(t, address, caclient.V1_35_0).Send(ctx, make([]byte, 50<<20))
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("client: %v", err)
	}
	if err := <-result; status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Canceled {
		t.Errorf("handler: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for { // the handler's return is not visible from here
		if leave, err := gate.Enter(ctx, 1); err == nil {
			leave()
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the place of a large request was not freed")
		}
		runtime.Gosched()
	}
}

type stalled func(context.Context, *raw.Request)

func (f stalled) BestOptions(ctx context.Context, req *raw.Request) (*grpcplugin.BestOptionsResponse, error) {
	f(ctx, req)
	return nil, status.FromContextError(ctx.Err()).Err()
}

// registrar takes the service description that a server would get.
type registrar struct{ desc *grpc.ServiceDesc }

func (r *registrar) RegisterService(desc *grpc.ServiceDesc, _ any) { r.desc = desc }

// Without a transport stream that can be read directly, the codec hands over the buffers of the whole message.
func TestWithoutTheTransportStream(t *testing.T) {
	message := largeMessage(t, load.Wave{Groups: 2, Pods: 3}, caclient.V1_35_0)
	for _, tc := range []struct {
		bounds raw.Bounds
		want   codes.Code
	}{{raw.Bounds{}, codes.OK}, {raw.Bounds{Limit: 10}, codes.ResourceExhausted}} {
		var r registrar
		raw.RegisterExpander(&r, handler{}, raw.NewLargeGate(tc.bounds))
		pool := &countingPool{}
		receive := func(v any) error {
			data := mem.BufferSlice{mem.Copy(message[:2000], pool), mem.Copy(message[2000:], pool)}
			defer data.Free()
			return raw.Codec().Unmarshal(data, v)
		}
		resp, err := r.desc.Methods[0].Handler(handler{}, t.Context(), receive, nil)
		if status.Code(err) != tc.want {
			t.Errorf("%+v: %v", tc.bounds, err)
		}
		if err == nil && resp.(*grpcplugin.BestOptionsResponse).GetOptions()[0].GetNodeGroupId() != "gpu-pool-000" {
			t.Errorf("answer %v", resp)
		}
		if pool.taken != 2 || pool.returned != 2 {
			t.Errorf("%d buffers taken, %d returned", pool.taken, pool.returned)
		}
	}
}

type countingPool struct{ taken, returned int }

func (p *countingPool) Get(n int) *[]byte {
	p.taken++
	b := make([]byte, n)
	return &b
}

func (p *countingPool) Put(*[]byte) { p.returned++ }
