package raw_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
	"github.com/warmpool/warmpool/wire/raw"
)

// Two requests of 293 MiB at the same time: one is answered, the other is refused at once and before its bytes are
// received, and the server never holds a whole message.
func TestTwoLargeRequests(t *testing.T) {
	message := largeMessage(t, load.Wave{Groups: 60, Pods: 500, PodBytes: 5120}, caclient.V1_34_5)
	if len(message) < 307_200_000 {
		t.Fatalf("the message has %d bytes", len(message))
	}
	gate := raw.NewLargeGate(raw.Bounds{})
	entered, proceed := make(chan struct{}), make(chan struct{})
	address, received := serveCounted(t, expanderOnly(handler{decoded: func(in expander.Request, stats wire.Stats) {
		if len(in.Pods) != 500 || stats.PodEntries != 30_000 || stats.Bytes != int64(len(message)) {
			t.Errorf("%d pods, stats %+v", len(in.Pods), stats)
		}
		close(entered)
		<-proceed
	}}, gate))

	// Garbage may grow with the heap, and the message of the client is part of it here: collect early.
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	before := heap()
	stop, peak := watchHeap()
	first := make(chan error, 1)
	go func() { first <- patient(t, address, message) }()
	select {
	case <-entered:
	case err := <-first:
		t.Fatalf("first request: %v", err)
	}
	err := patient(t, address, message)
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("second request: %v", err)
	}
	close(stop)
	held := <-peak - before
	if n := received(1); n > 8<<20 {
		t.Errorf("%d bytes of the refused request were received", n)
	}
	close(proceed)
	if err := <-first; err != nil {
		t.Errorf("first request: %v", err)
	}
	// Both ends run in this process, and the client frames its bytes in buffers of its own.
	if held > 64<<20 {
		t.Errorf("%d MiB were held at the peak", held>>20)
	}
	t.Logf("message %d MiB, at most %d MiB of heap above the start", len(message)>>20, held>>20)

	// The place is free again.
	entered, proceed = make(chan struct{}), make(chan struct{})
	close(proceed)
	if err := patient(t, address, message); err != nil {
		t.Errorf("third request: %v", err)
	}
}

// patient sends a request with the longest deadline that is taken: a Cluster Autoscaler's five seconds are not enough on
// every machine that runs tests.
func patient(t testing.TB, address string, message []byte) error {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw.Codec()), grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
	defer cancel()
	return conn.Invoke(ctx, grpcplugin.Expander_BestOptions_FullMethodName, raw.Bytes(message), &grpcplugin.BestOptionsResponse{})
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
