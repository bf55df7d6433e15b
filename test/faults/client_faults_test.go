package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/proto/externalscaler"
)

// rude is how many clients misbehave at a time.
const rude = 12

// rudely runs clients that misbehave beside the good ones until the end of the fault.
func rudely(misbehave func(ctx context.Context, w *world, i int)) func(w *world) func() {
	return func(w *world) func() {
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		for i := range rude {
			group.Go(func() { misbehave(ctx, w, i) })
		}
		return func() { cancel(); group.Wait() }
	}
}

// open connects to the TLS listener, without a proxy in between.
func (w *world) open(ctx context.Context) (net.Conn, error) {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}} //nolint:gosec // a client that does not care
	return d.DialContext(ctx, "tcp", w.server.Addr("scaler").String())
}

func (w *world) dial() *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+w.server.Addr("scaler").String(),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})), //nolint:gosec // a client that does not care
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	w.must(err)
	return conn
}

// hang connects, says a part of what has to be said, and waits.
func hang(ctx context.Context, w *world, i int) {
	var conn net.Conn
	var err error
	if i%3 == 0 { // not even a handshake
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Addr("scaler").String())
	} else {
		conn, err = w.open(ctx)
	}
	if err != nil {
		return
	}
	defer conn.Close()
	switch i % 3 {
	case 0:
		_, _ = conn.Write([]byte{0x16, 0x03, 0x01})
	case 1:
		_, _ = conn.Write([]byte(http2.ClientPreface)[:10])
	case 2:
		_, _ = conn.Write([]byte(http2.ClientPreface))
		framer := http2.NewFramer(conn, conn)
		_ = framer.WriteSettings()
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}, EndHeaders: false})
	}
	<-ctx.Done()
}

// reset starts calls and ends the connection without a word.
func reset(ctx context.Context, w *world, i int) {
	for ctx.Err() == nil {
		var d net.Dialer
		plain, err := d.DialContext(ctx, "tcp", w.server.Addr("scaler").String())
		if err != nil {
			return
		}
		conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // a client that does not care
		if i%2 == 0 {
			_ = conn.HandshakeContext(ctx)
			_, _ = conn.Write([]byte(http2.ClientPreface))
		}
		_ = plain.(*net.TCPConn).SetLinger(0)
		_ = plain.Close()
		pause(ctx)
	}
}

// endless opens streams and never reads from them nor ends them.
func endless(ctx context.Context, w *world, _ int) {
	conn := w.dial()
	defer conn.Close()
	for range 4 {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, externalscaler.ExternalScaler_StreamIsActive_FullMethodName)
		if err != nil {
			return
		}
		_ = stream.SendMsg(refBytes)
	}
	<-ctx.Done()
}

// refBytes is the reference of the scaled object ml/llama with the metadata service: llama.
var refBytes = []byte("\x0a\x05llama\x12\x02ml\x1a\x10\x0a\x07service\x12\x05llama")

// garble sends bytes that mean nothing, on every level at which there can be some.
func garble(ctx context.Context, w *world, i int) {
	random := rand.New(rand.NewPCG(uint64(i), 7))
	noise := make([]byte, 512)
	for n := range noise {
		noise[n] = byte(random.Uint32())
	}
	for ctx.Err() == nil {
		switch i % 3 {
		case 0:
			if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Addr("scaler").String()); err == nil {
				_, _ = conn.Write(noise)
				conn.Close()
			}
		case 1:
			if conn, err := w.open(ctx); err == nil {
				_, _ = conn.Write(append([]byte(http2.ClientPreface), noise...))
				_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			}
		case 2:
			w.garbledCall(ctx, append([]byte{0xff}, noise[:random.IntN(len(noise))]...)) // 0xff begins no message
		}
		pause(ctx)
	}
}

// garbledCall is a call whose message is noise. It must be refused, and not as a fault of the server.
func (w *world) garbledCall(ctx context.Context, noise []byte) {
	conn := w.dial()
	defer conn.Close()
	for _, method := range []string{"/grpcplugin.Expander/BestOptions", externalscaler.ExternalScaler_GetMetrics_FullMethodName, "/externalscaler.ExternalScaler/Nothing"} {
		var answer []byte
		err := conn.Invoke(ctx, method, noise, &answer)
		switch code := status.Code(err); {
		case ctx.Err() != nil:
		case code == codes.OK, code == codes.Unknown, code == codes.DataLoss:
			w.t.Errorf("%s: %s with %d bytes of noise: %v", w.name, method, len(noise), err)
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	return nil, fmt.Errorf("%T is not bytes", v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

func clientFault(name string, misbehave func(ctx context.Context, w *world, i int)) *fault {
	return &fault{
		part: "Clients", name: name, inject: rudely(misbehave), clients: []claim{others(follows), others(chooses)}, decided: []claim{asEver}, recovers: nothingLeft,
	}
}

func others(c claim) claim { return claim{"others: " + c.text, c.check} }

var nothingLeft = claim{"nothing is left of them", func(r *record) error { return r.right(0) }}

var clientFaults = []*fault{
	clientFault("hang, in the middle of what they say", hang),
	clientFault("reset connections", reset),
	clientFault("open streams for ever and read nothing", endless),
	clientFault("send garbage", garble),
	{
		part: "Clients", name: "are cut off from warmpool", clients: []claim{unreachable, noChoice}, decided: []claim{asEver}, recovers: atOnce,
		takes: "edge",
		inject: func(w *world) func() {
			end := w.freshConnections()
			mend := w.edgeProxy.cut(w.t)
			return func() { mend(); end() }
		},
	},
}
