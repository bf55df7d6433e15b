package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire/raw"
)

// memoryLimit is the pod's, as the chart has it.
const memoryLimit = 1280 << 20

// hostileConfig has both halves, without a metric store that answers.
const hostileConfig = `apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://127.0.0.1:9, timeout: 50ms}
pools:
  - {name: gpu, match: {labels: {pool: gpu}}}
expander:
  mode: active
  workloads:
    - {name: online, match: {podLabels: {tier: online}}, stages: [{pools: [gpu]}]}
services:
  - {name: llama, namespace: ml, preset: vllm, selector: {model_name: m}, replicas: {min: 1, max: 50}, forecast: {mode: "off"}}
metadata: {allowQueries: [ml]}
`

// program is warmpool in a process of its own.
type program struct {
	expander, scaler, admin, authority string
	pid                                int
	log                                *lockedBuffer
}

func startProgram(t *testing.T) *program {
	t.Helper()
	dir := t.TempDir()
	var addresses [3]string
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = l.Addr().String()
		l.Close()
	}
	p := &program{addresses[0], addresses[1], addresses[2], filepath.Join(dir, "tls", "ca.crt"), 0, &lockedBuffer{}}
	file := filepath.Join(dir, "warmpool.yaml")
	if err := os.WriteFile(file, []byte(hostileConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("warmpool", "serve", "--config", file, "--tls-self-signed", filepath.Join(dir, "tls"),
		"--data-dir", filepath.Join(dir, "data"), "--expander-listen", p.expander, "--scaler-listen", "", "--scaler-insecure-listen", p.scaler, "--admin-listen", p.admin)
	c.Env = append(os.Environ(), fmt.Sprint("GOMEMLIMIT=", memoryLimit))
	c.Stdout, c.Stderr = p.log, p.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = c.Process.Pid
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the program ended with %v:\n%s", err, tail(p.log.String()))
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if response, err := http.Get("http://" + p.admin + "/readyz"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return p
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready:\n%s", tail(p.log.String()))
		}
	}
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// memory is the largest and the present resident size, in bytes.
func (p *program) memory(t *testing.T) (most, now int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmHWM:":
			most = n << 10
		case "VmRSS:":
			now = n << 10
		}
	}
	return most, now
}

// from dials like another machine does: from an address of its own.
func from(t *testing.T, source, target string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(creds), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", address)
	}), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw.Codec()), grpc.MaxCallSendMsgSize(1<<31-1), grpc.MaxCallRecvMsgSize(128<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func choose(ctx context.Context, conn *grpc.ClientConn, message []byte, within time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var answer grpcplugin.BestOptionsResponse
	err := conn.Invoke(ctx, grpcplugin.Expander_BestOptions_FullMethodName, raw.Bytes(message), &answer)
	var ids []string
	for _, o := range answer.GetOptions() {
		ids = append(ids, o.GetNodeGroupId())
	}
	return ids, err
}

// served asks until there is an answer, as a Cluster Autoscaler does in its next loop: a machine may be too busy for one.
func served(ctx context.Context, conn *grpc.ClientConn, message []byte) (ids []string, err error) {
	for range 10 {
		if ids, err = choose(ctx, conn, message, 10*time.Second); status.Code(err) != codes.DeadlineExceeded {
			break
		}
	}
	return ids, err
}

// field appends a field with a length.
func field(to []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
}

// optionOf is an option with serialised pods; a pod with its metadata; a request with options.
func optionOf(id string, pods ...[]byte) []byte {
	o := field(nil, 1, []byte(id))
	for _, p := range pods {
		o = field(o, 5, p)
	}
	return o
}

func podOf(i int, more ...byte) []byte {
	meta := field(field(field(nil, 1, fmt.Appendf(nil, "pod-%d", i)), 3, []byte("ml")), 5, fmt.Appendf(nil, "00000000-0000-4000-8000-%012d", i))
	return append(field(nil, 1, meta), more...)
}

func requestOf(options ...[]byte) []byte {
	var r []byte
	for _, o := range options {
		r = field(r, 1, o)
	}
	return r
}

// quantityOf is a pod that asks for an amount of CPU.
func quantityOf(text string) []byte {
	entry := field(field(nil, 1, []byte("cpu")), 2, field(nil, 1, []byte(text)))
	return field(nil, 2, field(nil, 2, field(field(nil, 1, []byte("c")), 8, field(nil, 2, entry))))
}

// hostileRequest is one attack on BestOptions; each gets one of the codes.
type hostileRequest struct {
	name  string
	build func() []byte
	codes []codes.Code
}

func hostileRequests() []hostileRequest {
	ok, invalid, exhausted := codes.OK, codes.InvalidArgument, codes.ResourceExhausted
	many := func(n int, pod func(i int) []byte) func() []byte {
		return func() []byte {
			o := field(nil, 1, []byte("gpu"))
			for i := range n {
				o = field(o, 5, pod(i))
			}
			return requestOf(o)
		}
	}
	negative := protowire.AppendVarint(protowire.AppendTag(field(nil, 1, []byte("gpu")), 2, protowire.VarintType), 1<<64-1)
	return []hostileRequest{
		{"10 million nested groups", func() []byte { return bytes.Repeat([]byte{0x4b}, 10_000_000) }, []codes.Code{invalid}},
		{"a pod of nested groups", func() []byte { return requestOf(optionOf("gpu", bytes.Repeat([]byte{0x4b}, 1<<20))) }, []codes.Code{invalid}},
		{"an id of 100 MB", func() []byte { return requestOf(optionOf(strings.Repeat("x", 100_000_000))) }, []codes.Code{exhausted}},
		{"a debug text of 100 MB", func() []byte { return requestOf(field(optionOf("gpu"), 3, make([]byte, 100_000_000))) }, []codes.Code{ok}},
		{"a pod of 100 MB", func() []byte {
			return requestOf(optionOf("gpu", podOf(1, field(nil, 2, make([]byte, 100_000_000))...)))
		}, []codes.Code{exhausted}},
		{"an unknown field of 100 MB", func() []byte { return field(requestOf(optionOf("gpu")), 99, make([]byte, 100_000_000)) }, []codes.Code{ok}},
		{"1,000,000 options", func() []byte {
			var r []byte
			for i := range 1_000_000 {
				r = field(r, 1, field(nil, 1, strconv.AppendInt(nil, int64(i), 10)))
			}
			return r
		}, []codes.Code{exhausted}},
		{"1,000,000 times one option", func() []byte { return bytes.Repeat(requestOf(optionOf("gpu")), 1_000_000) }, []codes.Code{invalid}},
		{"1,000,000 node templates", func() []byte {
			var r []byte
			for i := range 1_000_000 {
				r = field(r, 3, field(field(nil, 1, strconv.AppendInt(nil, int64(i), 10)), 2, nil))
			}
			return r
		}, []codes.Code{exhausted}},
		{"a negative node count", func() []byte { return requestOf(negative) }, []codes.Code{invalid}},
		{"NaN CPUs", func() []byte { return requestOf(optionOf("gpu", quantityOf("NaN"))) }, []codes.Code{invalid}},
		{"infinite CPUs", func() []byte { return requestOf(optionOf("gpu", quantityOf("Inf"))) }, []codes.Code{invalid}},
		{"1e999999999 CPUs", func() []byte { return requestOf(optionOf("gpu", quantityOf("1e999999999"))) }, []codes.Code{invalid}},
		{"a quantity of a million digits", func() []byte { return requestOf(optionOf("gpu", quantityOf(strings.Repeat("9", 1_000_000)))) }, []codes.Code{invalid}},
		{"-5 CPUs", func() []byte { return requestOf(optionOf("gpu", quantityOf("-5"))) }, []codes.Code{ok}},
		{"a group twice", func() []byte { return requestOf(optionOf("gpu"), optionOf("gpu")) }, []codes.Code{invalid}},
		{"an id that is not UTF-8", func() []byte { return requestOf(optionOf("gpu\xff")) }, []codes.Code{invalid}},
		{"labels that are not UTF-8", func() []byte {
			return requestOf(optionOf("gpu", field(nil, 1, field(nil, 11, field(field(nil, 1, []byte("\xff")), 2, []byte("\xfe"))))))
		}, []codes.Code{ok, invalid}},
		{"a uid of a megabyte", func() []byte {
			return requestOf(optionOf("gpu", field(nil, 1, field(nil, 5, make([]byte, 1_000_000)))))
		}, []codes.Code{invalid}},
		{"a pod of empty containers", func() []byte {
			return requestOf(optionOf("gpu", field(nil, 2, bytes.Repeat([]byte{0x12, 0}, 900_000))))
		}, []codes.Code{invalid}},
		{"a million tolerations in small pods", many(200, func(i int) []byte {
			return append(podOf(i), field(nil, 2, bytes.Repeat([]byte{0xb2, 0x01, 0}, 9_900))...)
		}), []codes.Code{exhausted}},
		{"450,000 tolerations in small pods", many(50, func(i int) []byte {
			return append(podOf(i), field(nil, 2, bytes.Repeat([]byte{0xb2, 0x01, 0}, 9_000))...)
		}), []codes.Code{ok}},
		{"300 MB of annotations", many(300, func(i int) []byte {
			return field(podOf(i), 1, field(nil, 12, field(field(nil, 1, []byte("a")), 2, make([]byte, 1_000_000))))
		}), []codes.Code{exhausted}},
		{"150,000 pods", many(150_000, func(i int) []byte { return podOf(i) }), []codes.Code{exhausted}},
		{"4,800,000 pods in 120 options", func() []byte {
			var pods []byte
			for i := range 40_000 {
				pods = field(pods, 5, podOf(i))
			}
			var r []byte
			for i := range 120 {
				r = field(r, 1, append(field(nil, 1, fmt.Appendf(nil, "gpu-%d", i)), pods...))
			}
			return r
		}, []codes.Code{exhausted}},
		{"20,000 pods in each of 100 options", func() []byte {
			var pods []byte
			for i := range 20_000 {
				pods = field(pods, 5, podOf(i))
			}
			var r []byte
			for i := range 100 {
				r = field(r, 1, append(field(nil, 1, fmt.Appendf(nil, "gpu-%d", i)), pods...))
			}
			return r
		}, []codes.Code{ok, codes.DeadlineExceeded, exhausted}},
		{"5,000 options with 10,000 templates", func() []byte {
			var r []byte
			for i := range 10_000 {
				id := fmt.Appendf(nil, "%s-%d", strings.Repeat("g", 900), i)
				if i < 5000 {
					r = field(r, 1, field(nil, 1, id))
				}
				r = field(r, 3, field(field(nil, 1, id), 2, nil))
			}
			return r
		}, []codes.Code{ok, codes.DeadlineExceeded}},
		{"garbage", func() []byte { return bytes.Repeat([]byte("not protobuf "), 100_000) }, []codes.Code{invalid}},
	}
}

// neighbour is a well-behaved client of the other half that polls the whole time, from another address.
type neighbour struct {
	calls, failures atomic.Int64
	slowest         atomic.Int64
}

func (n *neighbour) poll(ctx context.Context, conn *grpc.ClientConn) {
	client := externalscaler.NewExternalScalerClient(conn)
	ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: map[string]string{"service": "llama"}}
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		start := time.Now()
		_, err := client.GetMetricSpec(call, ref)
		cancel()
		if ctx.Err() != nil {
			return
		}
		n.calls.Add(1)
		if err != nil {
			n.failures.Add(1)
		}
		n.slowest.Store(max(n.slowest.Load(), int64(time.Since(start))))
		time.Sleep(10 * time.Millisecond)
	}
}

// TestHostileRequests attacks the running program with what no Cluster Autoscaler sends. Each attack gets a clear status, the
// program stays within its memory, and clients from other addresses are served the whole time.
func TestHostileRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	if runtime.GOOS != "linux" {
		t.Skip("reads the memory of a process as Linux tells it, and dials from several loopback addresses")
	}
	p := startProgram(t)
	authority, err := credentials.NewClientTLSFromFile(p.authority, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var other neighbour
	done := make(chan struct{})
	go func() {
		defer close(done)
		other.poll(ctx, from(t, "127.0.0.3", p.scaler, insecure.NewCredentials()))
	}()
	good := requestOf(optionOf("gpu", podOf(1)), optionOf("cpu", podOf(1)))
	attacker, autoscaler := from(t, "127.0.0.2", p.expander, authority), from(t, "127.0.0.4", p.expander, authority)
	for _, attack := range hostileRequests() {
		message := attack.build()
		start := time.Now()
		_, err := choose(ctx, attacker, message, 20*time.Second)
		took := time.Since(start)
		// On a busy machine a large request may be late, which is a clear status too.
		matches := status.Code(err) == codes.DeadlineExceeded && len(message) > 1<<20
		for _, want := range attack.codes {
			matches = matches || status.Code(err) == want
		}
		if !matches {
			t.Errorf("%s: %.200v, want %v", attack.name, err, attack.codes)
		}
		if err != nil && len(err.Error()) > 4096 {
			t.Errorf("%s: the answer has %d bytes", attack.name, len(err.Error()))
		}
		most, now := p.memory(t)
		t.Logf("%-40s %9d KiB  %-18s %6d ms  memory %4d MiB, at most %4d MiB", attack.name, len(message)>>10, status.Code(err), took.Milliseconds(), now>>20, most>>20)
		if ids, err := served(ctx, autoscaler, good); err != nil || len(ids) == 0 {
			t.Errorf("after %s: the Cluster Autoscaler got %v, %v", attack.name, ids, err)
		}
	}
	p.together(ctx, t, authority)
	p.stalls(t)
	p.remembers(ctx, t, authority, autoscaler, good)
	stop()
	<-done
	if other.failures.Load() > 0 || other.calls.Load() < 10 {
		t.Errorf("KEDA meanwhile: %d of %d calls failed", other.failures.Load(), other.calls.Load())
	}
	most, now := p.memory(t)
	t.Logf("KEDA meanwhile: %d calls, none failed, the slowest took %v; memory %d MiB, at most %d MiB of %d MiB",
		other.calls.Load(), time.Duration(other.slowest.Load()).Round(time.Millisecond), now>>20, most>>20, memoryLimit>>20)
	if most >= memoryLimit {
		t.Errorf("at most %d MiB, the pod has %d MiB", most>>20, memoryLimit>>20)
	}
}

// together sends the most expensive requests that are taken, many at a time and from many addresses.
func (p *program) together(ctx context.Context, t *testing.T, creds credentials.TransportCredentials) {
	t.Helper()
	option := field(nil, 1, []byte("gpu"))
	for i := range 50 {
		option = field(option, 5, append(podOf(i), field(nil, 2, bytes.Repeat([]byte{0xb2, 0x01, 0}, 9_000))...))
	}
	message := requestOf(option) // about 80 MiB when it is decoded
	counts := map[codes.Code]int{}
	results := make(chan codes.Code)
	const clients, each = 12, 6
	for i := range clients {
		conn := from(t, fmt.Sprintf("127.0.1.%d", i+1), p.expander, creds)
		for range each {
			go func() {
				_, err := choose(ctx, conn, message, 20*time.Second)
				results <- status.Code(err)
			}()
		}
	}
	for range clients * each {
		counts[<-results]++
	}
	most, now := p.memory(t)
	t.Logf("%d requests of %d KiB together: %v; memory %d MiB, at most %d MiB", clients*each, len(message)>>10, counts, now>>20, most>>20)
	if counts[codes.ResourceExhausted] == 0 {
		t.Error("none was refused")
	}
}

// stalls announces requests and sends nothing, on every connection that an address may have.
func (p *program) stalls(t *testing.T) {
	t.Helper()
	closed := 0
	var open []net.Conn
	for range 40 {
		conn, err := net.Dial("tcp", p.expander)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		_, _ = conn.Write(binary.BigEndian.AppendUint32([]byte{0x16, 3, 1, 2}, 1<<31)) // a TLS record that never comes
	}
	for _, conn := range open[16:] {
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(conn); err == nil || !os.IsTimeout(err) {
			closed++
		}
	}
	for _, conn := range open {
		conn.Close()
	}
	t.Logf("40 connections that stall in the handshake: %d were closed", closed)
	if closed < 24 {
		t.Errorf("%d connections beyond the limit of 16 were closed, want 24", closed)
	}
}

// remembers fills everything that is kept of requests, with new names each time, and looks whether it grows for ever.
func (p *program) remembers(ctx context.Context, t *testing.T, creds credentials.TransportCredentials, autoscaler *grpc.ClientConn, good []byte) {
	t.Helper()
	conns := make([]*grpc.ClientConn, 8)
	for i := range conns {
		conns[i] = from(t, fmt.Sprintf("127.0.2.%d", i+1), p.expander, creds)
	}
	const perRound = 30
	fill := func(round int) {
		for i := range perRound {
			var r []byte
			pods := field(nil, 5, podOf(round*1_000_000+i*1000))
			for j := range 400 {
				pods = field(pods, 5, podOf(round*1_000_000+i*1000+j+1, field(nil, 1, field(nil, 12, field(field(nil, 1, []byte("a")), 2, make([]byte, 2000))))...))
			}
			for j := range 300 {
				id := fmt.Appendf(nil, "%d-%d-%s-%d", round, i, strings.Repeat("g", 900), j)
				option := field(nil, 1, id)
				if j < 4 {
					option = append(option, pods...)
				}
				r = field(field(r, 1, option), 3, field(field(nil, 1, id), 2, nil))
			}
			if _, err := choose(ctx, conns[i%len(conns)], r, 20*time.Second); err != nil && status.Code(err) != codes.ResourceExhausted && status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("round %d: %v", round, err)
			}
		}
		_, now := p.memory(t)
		t.Logf("%d requests of new pods and groups, round %d: memory %d MiB", perRound, round, now>>20)
	}
	for round := range 3 {
		fill(round)
	}
	if ids, err := served(ctx, autoscaler, good); err != nil || len(ids) == 0 {
		t.Errorf("after all: %v, %v", ids, err)
	}
}

// TestHostileMetadata does the same to the scaler's half: what no ScaledObject of good will carries.
func TestHostileMetadata(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the memory of a process as Linux tells it, and dials from several loopback addresses")
	}
	p := startProgram(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var other neighbour
	done := make(chan struct{})
	go func() {
		defer close(done)
		other.poll(ctx, from(t, "127.0.0.3", p.scaler, insecure.NewCredentials()))
	}()
	conn := from(t, "127.0.0.2", p.scaler, insecure.NewCredentials())
	ask := func(namespace, name string, metadata map[string]string) error {
		ref := &externalscaler.ScaledObjectRef{Namespace: namespace, Name: name, ScalerMetadata: metadata}
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		_, err := externalscaler.NewExternalScalerClient(conn).GetMetricSpec(call, ref)
		return err
	}
	keys := func(n, size int) map[string]string {
		m := map[string]string{"service": "llama"}
		for i := range n {
			m[fmt.Sprint("key", i)] = strings.Repeat("x", size)
		}
		return m
	}
	policy := func(key, value string) map[string]string {
		return map[string]string{"preset": "vllm", "maxReplicas": "3", "model": "m", key: value}
	}
	invalid, exhausted := codes.InvalidArgument, codes.ResourceExhausted
	for _, attack := range []struct {
		name, namespace, object string
		metadata                map[string]string
		code                    codes.Code
	}{
		{"100,000 keys", "ml", "a", keys(100_000, 1), exhausted},
		{"300 keys", "ml", "a", keys(300, 1), invalid},
		{"a value of 100 MB", "ml", "a", keys(1, 100_000_000), exhausted},
		{"a value of 10 KB", "ml", "a", policy("selector", "x="+strings.Repeat("x", 10_000)), invalid},
		{"six values of 8 KB", "ml", "a", keys(6, 8000), invalid},
		{"a name of 60 KB", "ml", strings.Repeat("a", 60_000), keys(0, 0), invalid},
		{"a namespace that ends a string", `ml"} or up{x="`, "a", keys(0, 0), invalid},
		{"a namespace that is a path", "ml/../bank", "a", keys(0, 0), invalid},
		{"a service of another namespace", "bank", "a", keys(0, 0), codes.NotFound},
		{"a service that ends a string", "ml", "a", map[string]string{"service": `x"} or up{y="`, "preset": "vllm", "maxReplicas": "3"}, invalid},
		{"a label that is an expression", "ml", "a", policy("selector", `x"} or up{y=z`), invalid},
		{"the namespace as a label", "ml", "a", policy("selector", "namespace=bank"), invalid},
		{"a query of another namespace", "ml", "a", policy("waitingQuery", `up{namespace="bank"}`), invalid},
		{"a query with templates", "ml", "a", policy("waitingQuery", `WITH (a = b + b, c = a + a) c`), invalid},
		{"a query nested 2,000 deep", "ml", "a", policy("waitingQuery", strings.Repeat("(", 1000)+"up"+strings.Repeat(")", 1000)), codes.OK},
		{"a query of 9 KB", "ml", "a", policy("waitingQuery", "up"+strings.Repeat("+up", 2800)), invalid},
		{"a query where none is allowed", "lab", "a", policy("waitingQuery", "up"), invalid},
		{"NaN replicas", "ml", "a", policy("maxReplicas", "NaN"), invalid},
		{"a billion replicas", "ml", "a", policy("maxReplicas", "1000000000"), invalid},
		{"a time zone that is a path", "ml", "a", policy("forecastTimeZone", "../../etc/passwd"), invalid},
		{"a duration out of range", "ml", "a", policy("staleAfter", "9999999999999h"), invalid},
	} {
		start := time.Now()
		err := ask(attack.namespace, attack.object, attack.metadata)
		took := time.Since(start)
		if status.Code(err) != attack.code || err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%s: %.300v, want %s", attack.name, err, attack.code)
		}
		t.Logf("%-32s %-18s %4d ms", attack.name, status.Code(err), took.Milliseconds())
	}
	refusedAt := 0
	long := strings.Repeat("x", 6000)
	start := time.Now()
	for i := range 30_000 {
		if err := ask("ml", fmt.Sprint("object-", i), map[string]string{"service": "llama", "scalerAddress": long}); status.Code(err) == exhausted {
			refusedAt = i
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	most, now := p.memory(t)
	t.Logf("triggers with 6 KB each: %d until they are refused, in %v; memory %d MiB, at most %d MiB", refusedAt, time.Since(start).Round(time.Millisecond), now>>20, most>>20)
	if refusedAt == 0 || most >= memoryLimit {
		t.Errorf("%d triggers were taken, %d MiB used", refusedAt, most>>20)
	}
	stop()
	<-done
	if other.failures.Load() > 0 || other.calls.Load() < 10 {
		t.Errorf("KEDA meanwhile: %d of %d calls failed", other.failures.Load(), other.calls.Load())
	}
	t.Logf("KEDA meanwhile: %d calls, none failed, the slowest took %v", other.calls.Load(), time.Duration(other.slowest.Load()).Round(time.Millisecond))
}
