package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

// ScaledObject is the object of a model as KEDA names it, with a policy in its metadata.
func ScaledObject(model int, forecast bool) *pb.ScaledObjectRef {
	metadata := map[string]string{
		"scalerAddress": "127.0.0.1:9444", "preset": "vllm", "model": "m" + strconv.Itoa(model),
		"minReplicas": "1", "maxReplicas": "80", "concurrency": "2", "forecastMode": "off",
	}
	if forecast {
		metadata["forecastMode"], metadata["forecastTimeZone"] = "shadow", "UTC"
	}
	return &pb.ScaledObjectRef{Namespace: Namespace(model), Name: "llm-" + strconv.Itoa(model), ScalerMetadata: metadata}
}

// constantCall is how calls of the constant server are counted.
const constantCall = "constant GetMetrics"

// group is a number of scaled objects that share some connections, and what their calls took.
type group struct {
	name        string
	connections int
	objects     []*polled

	mu             sync.Mutex
	real, constant []float64 // seconds
}

// polled is one scaled object with its connections to both servers.
type polled struct {
	model          int
	ref            *pb.ScaledObjectRef
	real, constant pb.ExternalScalerClient
}

// tally counts calls and their failures.
type tally struct {
	mu     sync.Mutex
	calls  map[string]int
	failed map[string]int
}

func newTally() *tally { return &tally{calls: map[string]int{}, failed: map[string]int{}} }

func (t *tally) add(method string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[method]++
	if err != nil {
		t.failed[method+": "+status.Code(err).String()+": "+status.Convert(err).Message()]++
	}
}

// all returns the counts so far.
func (t *tally) all() (calls, failed map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.calls), maps.Clone(t.failed)
}

// clients are all of KEDA's calls.
type clients struct {
	o        *Options
	groups   []*group
	conns    []*grpc.ClientConn
	measured *atomic.Bool
	tally    *tally
	// first is how long each object waited for its first answer.
	mu    sync.Mutex
	first []float64
}

// dialClients gives half of the objects few connections and the others many.
func dialClients(o *Options, s *Server, constant func(encrypted bool) (*grpc.ClientConn, error), measured *atomic.Bool) (*clients, error) {
	c := &clients{o: o, measured: measured, tally: newTally()}
	few := &group{name: "few connections, no TLS", connections: o.Few}
	many := &group{name: "many connections, TLS", connections: o.Many}
	c.groups = []*group{few, many}
	for g, one := range c.groups {
		var pairs [][2]pb.ExternalScalerClient
		for range one.connections {
			var pair [2]pb.ExternalScalerClient
			for i, dial := range []func(bool) (*grpc.ClientConn, error){s.Dial, constant} {
				conn, err := dial(one == many)
				if err != nil {
					return c, err
				}
				c.conns = append(c.conns, conn)
				pair[i] = pb.NewExternalScalerClient(conn)
			}
			pairs = append(pairs, pair)
		}
		for model := g; model < o.Objects; model += len(c.groups) {
			pair := pairs[len(one.objects)%len(pairs)]
			one.objects = append(one.objects, &polled{model, ScaledObject(model, model < o.Forecasts), pair[0], pair[1]})
		}
	}
	return c, nil
}

func (c *clients) close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// run polls every object until ctx ends, spread evenly over the interval.
func (c *clients) run(ctx context.Context) {
	var all sync.WaitGroup
	started := time.Now()
	for _, g := range c.groups {
		for _, p := range g.objects {
			due := started.Add(c.o.Poll * time.Duration(p.model) / time.Duration(c.o.Objects))
			all.Go(func() { c.poll(ctx, g, p, due) })
			if p.model < c.o.Streams {
				all.Go(func() { c.stream(ctx, p, due.Add(c.o.Poll)) })
			}
		}
	}
	all.Wait()
}

func (c *clients) poll(ctx context.Context, g *group, p *polled, due time.Time) {
	request := &pb.GetMetricsRequest{ScaledObjectRef: p.ref, MetricName: p.ref.GetName() + "-replicas"}
	if !until(ctx, due) || !c.register(ctx, p, request) {
		return
	}
	// Like KEDA it does not make up for the polls that it has missed before the first answer, and stays in its turn.
	if missed := time.Since(due) / c.o.Poll; missed > 0 {
		due = due.Add(missed * c.o.Poll)
	}
	for constantFirst := false; ; constantFirst = !constantFirst {
		if due = due.Add(c.o.Poll); !until(ctx, due) {
			return
		}
		var took [2]float64
		for _, constant := range []bool{constantFirst, !constantFirst} {
			if constant {
				took[1] = c.call(ctx, constantCall, func(ctx context.Context) error {
					_, err := p.constant.GetMetrics(ctx, request)
					return err
				})
				continue
			}
			took[0] = c.call(ctx, "GetMetrics", func(ctx context.Context) error { return ask(ctx, p, request) })
		}
		c.call(ctx, "IsActive", func(ctx context.Context) error {
			answer, err := p.real.IsActive(ctx, p.ref)
			if err == nil && !answer.GetResult() {
				err = errors.New("not active although the least target is 1")
			}
			return err
		})
		if c.measured.Load() && ctx.Err() == nil {
			g.mu.Lock()
			g.real, g.constant = append(g.real, took[0]), append(g.constant, took[1])
			g.mu.Unlock()
		}
	}
}

// ask is one GetMetrics whose answer must be a possible one.
func ask(ctx context.Context, p *polled, request *pb.GetMetricsRequest) error {
	answer, err := p.real.GetMetrics(ctx, request)
	if err != nil {
		return err //nolint:wrapcheck // a gRPC status is counted by its code
	}
	if values := answer.GetMetricValues(); len(values) != 1 || values[0].GetMetricValue() < 1 || values[0].GetMetricValue() > 80 {
		return fmt.Errorf("answer %v, want one target from 1 to 80", values)
	}
	return nil
}

// register asks until there is a first answer: a trigger that was never seen is evaluated within a second or two.
func (c *clients) register(ctx context.Context, p *polled, request *pb.GetMetricsRequest) bool {
	started := time.Now()
	c.call(ctx, "GetMetricSpec", func(ctx context.Context) error {
		_, err := p.real.GetMetricSpec(ctx, p.ref)
		return err
	})
	for {
		limited, cancel := context.WithTimeout(ctx, c.o.CallLimit)
		err := ask(limited, p, request)
		cancel()
		if err == nil {
			c.mu.Lock()
			c.first = append(c.first, time.Since(started).Seconds())
			c.mu.Unlock()
			return true
		}
		// Sooner than KEDA, which comes with the next poll, and not so soon that the asking is the load.
		if !until(ctx, time.Now().Add(c.o.Poll/5)) {
			return false
		}
	}
}

// call counts a call and returns the seconds that it took. What the end of the run cuts off is not counted.
func (c *clients) call(ctx context.Context, method string, do func(context.Context) error) float64 {
	limited, cancel := context.WithTimeout(ctx, c.o.CallLimit)
	defer cancel()
	started := time.Now()
	err := do(limited)
	took := time.Since(started).Seconds()
	if ctx.Err() == nil {
		c.tally.add(method, err)
	}
	return took
}

// stream keeps a push stream open. It must not end by itself, and every message must say active.
func (c *clients) stream(ctx context.Context, p *polled, due time.Time) {
	if !until(ctx, due) {
		return
	}
	stream, err := p.real.StreamIsActive(ctx, p.ref)
	for err == nil {
		var message *pb.IsActiveResponse
		if message, err = stream.Recv(); err == nil {
			var wrong error
			if !message.GetResult() {
				wrong = errors.New("the stream said inactive")
			}
			c.tally.add("StreamIsActive message", wrong)
		}
	}
	if ctx.Err() == nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the stream ended")
		}
		c.tally.add("StreamIsActive", err)
	}
}

// until waits for a time and tells whether it came before the end.
func until(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sorted lists the counts by name.
func sorted(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }
