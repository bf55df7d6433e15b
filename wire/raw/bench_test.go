package raw_test

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire/raw"
)

// BenchmarkEndToEnd sends 60 options of 500 pods, 147 MiB, over the loopback interface to three servers: one that
// receives the message as gRPC does and drops it, ours, and the obvious one. The client is part of the process and
// of "cpu-ms/op"; it sends bytes that were serialised before.
func BenchmarkEndToEnd(b *testing.B) {
	in := largeMessage(b, load.Wave{Groups: 60, Pods: 500, PodBytes: 5120}, caclient.V1_35_0)
	limit := grpc.MaxRecvMsgSize(400 << 20)
	b.Run("drop", func(b *testing.B) {
		send(b, in, serve(b, func(s *grpc.Server) { s.RegisterService(&dropService, nil) }, limit, grpc.ForceServerCodecV2(dropCodec{})))
	})
	b.Run("ours", func(b *testing.B) { send(b, in, serve(b, expanderOnly(handler{}, nil))) })
	b.Run("obvious", func(b *testing.B) {
		send(b, in, serve(b, func(s *grpc.Server) { grpcplugin.RegisterExpanderServer(s, obvious{}) }, limit))
	})
}

func send(b *testing.B, in []byte, address string) {
	b.Helper()
	c := dial(b, address, caclient.V1_35_0)
	one := func() {
		if _, err := c.Send(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
	one() // connect
	before := heap()
	stop, peak := watchHeap()
	one()
	close(stop)
	most := <-peak
	b.SetBytes(int64(len(in)))
	runtime.GC()
	start := processorTime(b)
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(most-min(most, before))/(1<<20), "peak-MiB")
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
