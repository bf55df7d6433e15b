package raw_test

import (
	"context"
	"crypto/x509"
	"net/http/httptest"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
	"github.com/warmpool/warmpool/wire/raw"
)

// BenchmarkEndToEnd sends 60 options of 500 pods, 147 MiB, over the loopback interface to a server that receives the
// message as gRPC does and drops it, and to ours with the choice of a group or to the obvious one. An operation is
// one request to each, in turn, so that what else the machine does meets both; "x-drop" and "x-drop-cpu" are medians
// relative to the first. The client is part of the process and of the processor time; it sends bytes that were
// serialised before.
func BenchmarkEndToEnd(b *testing.B) {
	in := largeMessage(b, load.Wave{Groups: 60, Pods: 500, PodBytes: 5120}, caclient.V1_35_0)
	server, client := transportSecurity(b)
	tls := []grpc.ServerOption{grpc.Creds(server)}
	for _, rival := range []string{"ours", "obvious"} {
		b.Run("plain/"+rival, func(b *testing.B) { compare(b, in, rival, nil, insecure.NewCredentials()) })
		b.Run("tls/"+rival, func(b *testing.B) { compare(b, in, rival, tls, client) })
	}
}

func compare(b *testing.B, in []byte, rival string, security []grpc.ServerOption, creds credentials.TransportCredentials) {
	b.Helper()
	usual := append([]grpc.ServerOption{grpc.MaxRecvMsgSize(400 << 20)}, security...)
	drop := append([]grpc.ServerOption{grpc.ForceServerCodecV2(dropCodec{})}, usual...)
	kinds := []*kind{
		{name: "drop", address: serve(b, func(s *grpc.Server) { s.RegisterService(&dropService, nil) }, drop...)},
		{name: rival, address: serve(b, expanderOnly(choosing(b), nil), security...)},
	}
	if rival == "obvious" {
		kinds[1].address = serve(b, func(s *grpc.Server) { grpcplugin.RegisterExpanderServer(s, obvious{}) }, usual...)
	}
	for _, k := range kinds {
		c, err := caclient.DialWith(k.address, creds, caclient.V1_35_0)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		k.client = c
		k.send(b, in) // connect
		before := heap()
		stop, peak := watchHeap()
		k.send(b, in)
		close(stop)
		most := <-peak
		k.peak = most - min(most, before)
		k.wall, k.cpu = nil, nil
	}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		for _, k := range kinds {
			k.send(b, in)
		}
	}
	for _, k := range kinds {
		b.ReportMetric(float64(k.peak)/(1<<20), k.name+"-peak-MiB")
		b.ReportMetric(median(k.wall)*1e3, k.name+"-ms")
		b.ReportMetric(median(k.wall)/median(kinds[0].wall), k.name+"-x-drop")
		b.ReportMetric(median(k.cpu)/median(kinds[0].cpu), k.name+"-x-drop-cpu")
	}
}

// kind is one server with what its requests took, in seconds.
type kind struct {
	name, address string
	client        *caclient.Client
	wall, cpu     []float64
	// peak is the most heap in bytes above what there was before.
	peak uint64
}

func (k *kind) send(b *testing.B, in []byte) {
	b.Helper()
	runtime.GC() // what the one before left behind
	start, cpu := time.Now(), processorTime(b)
	// The obvious one may miss the deadline on a busy machine; that is its result.
	if _, err := k.client.Send(b.Context(), in); err != nil && status.Code(err) != codes.DeadlineExceeded {
		b.Fatalf("%s: %v", k.name, err)
	}
	k.wall = append(k.wall, time.Since(start).Seconds())
	k.cpu = append(k.cpu, (processorTime(b) - cpu).Seconds())
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// choosing decodes and chooses by a policy with prices.
func choosing(b *testing.B) handler {
	b.Helper()
	policy := &expander.Policy{
		Mode:      expander.Active,
		Pools:     []expander.Pool{{Name: "gpu", HourlyCost: 2, Match: expander.PoolMatch{Labels: map[string]string{"workload-tier": "inference"}}}},
		Workloads: []expander.Workload{{Name: "llm", Stages: []expander.Stage{{Pools: []string{"gpu"}}}}},
	}
	return handler{decoded: func(in expander.Request, _ wire.Stats) {
		d, _ := expander.Select(policy, expander.View{}, in, expander.History{}, time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC))
		if d.Outcome != expander.Selected || len(d.Candidates) != len(in.Options) {
			b.Errorf("outcome %s with %d candidates", d.Outcome, len(d.Candidates))
		}
	}}
}

// transportSecurity is TLS with the certificate of the standard library's test server.
func transportSecurity(b *testing.B) (server, client credentials.TransportCredentials) {
	b.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return credentials.NewServerTLSFromCert(&s.TLS.Certificates[0]), credentials.NewClientTLSFromCert(roots, "")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// dropService receives a message whole, the usual way, and answers without looking at it.
var dropService = grpc.ServiceDesc{
	ServiceName: grpcplugin.Expander_ServiceDesc.ServiceName,
	Methods: []grpc.MethodDesc{{
		MethodName: "BestOptions",
		Handler: func(_ any, _ context.Context, receive func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return raw.Bytes(nil), receive(nil)
		},
	}},
}

type dropCodec struct{}

var _ encoding.CodecV2 = dropCodec{}

func (dropCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (dropCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

func (dropCodec) Name() string { return "proto" }

type obvious struct {
	grpcplugin.UnimplementedExpanderServer
}

func (obvious) BestOptions(_ context.Context, req *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
	pods := map[string][]*corev1.Pod{}
	for _, o := range req.GetOptions() {
		for _, b := range o.GetPod() {
			pod := &corev1.Pod{}
			if err := pod.Unmarshal(b); err != nil {
				return nil, err
			}
			pods[o.GetNodeGroupId()] = append(pods[o.GetNodeGroupId()], pod)
		}
	}
	for _, b := range req.GetNode() {
		if err := (&corev1.Node{}).Unmarshal(b); err != nil {
			return nil, err
		}
	}
	return &grpcplugin.BestOptionsResponse{Options: []*grpcplugin.Option{{NodeGroupId: req.GetOptions()[0].GetNodeGroupId()}}}, nil
}
