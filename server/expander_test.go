package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// autoscaler dials as the Cluster Autoscaler does, with the content of the CA file and a name that is in the
// certificate.
func (r *running) autoscaler(t testing.TB, host string) *caclient.Client {
	t.Helper()
	ca, err := os.ReadFile(r.ca.path("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	address := r.Addr("expander").String()
	client, err := caclient.Dial(host+address[strings.LastIndexByte(address, ':'):], ca, caclient.V1_35_0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func captures(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../wire/testdata/captures/*.bin")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = data
	}
	return out
}

func ids(answer *grpcplugin.BestOptionsResponse) []string {
	var out []string
	for _, o := range answer.GetOptions() {
		out = append(out, o.GetNodeGroupId())
	}
	return out
}

func TestEveryCaptureGetsAChoice(t *testing.T) {
	r := run(t, nil)
	client := r.autoscaler(t, "localhost")
	for name, data := range captures(t) {
		answer, err := client.Send(t.Context(), data)
		if err != nil || len(ids(answer)) != 1 {
			t.Errorf("%s: %v, %v", name, ids(answer), err)
		}
		if o := answer.GetOptions(); len(o) == 1 && (len(o[0].GetPod()) > 0 || o[0].GetNodeCount() != 0) {
			t.Errorf("%s: the answer repeats more than the id", name)
		}
	}
}

func TestHostNameIsChecked(t *testing.T) {
	r := run(t, nil)
	for name, data := range captures(t) {
		if _, err := r.autoscaler(t, "127.0.0.1").Send(t.Context(), data); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: a client that checks the name got %v", name, err)
		}
		return
	}
}

func TestGarbageIsRefusedAndTheServerLives(t *testing.T) {
	r := run(t, nil)
	client := r.autoscaler(t, "localhost")
	good := captures(t)["ca136-001.bin"]
	for name, data := range map[string][]byte{
		"noise": []byte("\xff\xfe garbage \x00\x01"), "cut": good[:len(good)/2], "doubled id": append(slices.Clone(good), good...),
	} {
		if _, err := client.Send(t.Context(), data); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if answer, err := client.Send(t.Context(), good); err != nil || len(ids(answer)) != 1 {
		t.Errorf("after the garbage: %v, %v", ids(answer), err)
	}
	if n := counter(t, r.options.Registry, "warmpool_expander_calls_failed_total"); n != 3 {
		t.Errorf("calls counted as failed open: %v, want 3", n)
	}
	if answer, err := client.Send(t.Context(), nil); err != nil || len(ids(answer)) != 0 {
		t.Errorf("no options: %v, %v, want an empty answer", ids(answer), err)
	}
}

// sized is a valid request of about the given size: one option with one pod of its own for each MiB.
func sized(t testing.TB, size int) []byte {
	t.Helper()
	o := &grpcplugin.Option{NodeGroupId: "gpu", NodeCount: 1}
	for i := 0; i < size; i += 1 << 20 {
		pod := bytes.Repeat([]byte{byte(i >> 20)}, 1<<20-16)
		// A field that a pod does not have (number 15, bytes), which a decoder skips.
		o.Pod = append(o.Pod, append([]byte{15<<3 | 2, 0xf0, 0xff, 0x3f}, pod...))
	}
	data, err := proto.Marshal(&grpcplugin.BestOptionsRequest{Options: []*grpcplugin.Option{o}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLargeRequests is ca-pr-5422 in smaller sizes: 64 MiB are served, one request at a time, the next one is refused at
// once, and so is what is above the limit, before it is received.
func TestLargeRequests(t *testing.T) {
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	r := run(t, func(o *Options, _ *authority) {
		o.Requests.Large, o.Requests.Limit = 4<<20, 8<<20
		o.Expander = first{answer: func(q expander.Request) (expander.Decision, error) {
			entered <- struct{}{}
			<-leave
			return first{}.BestOptions(context.Background(), q)
		}}
	})
	large := sized(t, 5<<20)
	var wait sync.WaitGroup
	sent := make(chan struct{})
	// arrived waits for the next request to reach the expander, and does not wait for ever where the first one never does.
	arrived := func() {
		select {
		case <-entered:
		case <-sent:
			t.Fatal("the large request ended before the expander had answered it")
		}
	}
	wait.Go(func() {
		defer close(sent)
		start := time.Now()
		answer, err := r.autoscaler(t, "localhost").Send(context.Background(), large)
		if err != nil || len(ids(answer)) != 1 {
			t.Errorf("%d bytes: %v, %v", len(large), ids(answer), err)
		}
		t.Logf("%d bytes answered in %v", len(large), time.Since(start))
	})
	arrived()
	if _, err := r.autoscaler(t, "localhost").Send(t.Context(), large); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a second large request: %v", err)
	}
	if _, err := r.autoscaler(t, "localhost").Send(t.Context(), sized(t, 10<<20)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request above the limit: %v", err)
	}
	wait.Go(func() { // small ones go on
		if _, err := r.autoscaler(t, "localhost").Send(context.Background(), sized(t, 1)); err != nil {
			t.Errorf("a small request: %v", err)
		}
	})
	arrived()
	close(leave)
	wait.Wait()
}

func TestRateIsBounded(t *testing.T) {
	r := run(t, func(o *Options, _ *authority) { o.Requests.PerSecond = 0.001 })
	client := r.autoscaler(t, "localhost")
	good := captures(t)["ca136-010.bin"]
	if _, err := client.Send(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), good); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("above the rate: %v", err)
	}
}

// TestNeverABadAnswer turns what would mislead the client into an error, which keeps all of its options.
func TestNeverABadAnswer(t *testing.T) {
	good := captures(t)["ca136-001.bin"]
	for _, test := range []struct {
		name   string
		answer expander.Decision
		err    error
		code   codes.Code
		want   []string
	}{
		{name: "veto", answer: expander.Decision{Outcome: expander.Veto}},
		{name: "all", answer: expander.Decision{Outcome: expander.PassThrough, Answer: []string{"gpu-l4", "gpu-h100"}}, want: []string{"gpu-l4", "gpu-h100"}},
		{name: "empty by accident", answer: expander.Decision{Outcome: expander.Selected}, code: codes.Internal},
		{name: "twice", answer: expander.Decision{Outcome: expander.Selected, Answer: []string{"gpu-l4", "gpu-l4"}}, code: codes.Internal},
		{name: "unknown", answer: expander.Decision{Outcome: expander.Selected, Answer: []string{"other"}}, code: codes.Internal},
		{name: "error", err: errors.New("a bug"), code: codes.Internal},
		{name: "late", err: context.DeadlineExceeded, code: codes.DeadlineExceeded},
	} {
		r := run(t, func(o *Options, _ *authority) {
			o.Expander = first{answer: func(expander.Request) (expander.Decision, error) { return test.answer, test.err }}
		})
		answer, err := r.autoscaler(t, "localhost").Send(t.Context(), good)
		if status.Code(err) != test.code || !slices.Equal(ids(answer), test.want) {
			t.Errorf("%s: %v, %v", test.name, ids(answer), err)
		}
		r.end()
	}
}
