package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/types"

	wave "github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/proto/externalscaler"
)

// load is a KEDA, a Cluster Autoscaler and an operator who do not stop to call.
type load struct {
	s        *stage
	cancel   context.CancelFunc
	group    sync.WaitGroup
	conn     *grpc.ClientConn
	ca       *caclient.Client
	admin    string
	answered chan struct{} // closed at the first target
	first    sync.Once

	mu   sync.Mutex
	sum  tally
	errs []error
}

func (s *stage) load(ctx context.Context, p *process) (*load, error) {
	authority, err := os.ReadFile(s.path("tls/ca.crt"))
	if err != nil {
		return nil, err
	}
	l := &load{s: s, answered: make(chan struct{}), admin: "http://" + p.addresses["admin"]}
	if l.ca, err = caclient.Dial(p.addresses["expander"], authority, caclient.V1_35_0); err != nil {
		return nil, err
	}
	l.conn, err = grpc.NewClient("passthrough:///"+p.addresses["scaler-insecure"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Join(err, l.ca.Close())
	}
	ctx, l.cancel = context.WithCancel(ctx)
	for _, caller := range []func(context.Context){l.keda, l.autoscaler, l.operator} {
		l.group.Go(func() {
			for ctx.Err() == nil {
				caller(ctx)
			}
		})
	}
	return l, nil
}

// firstAnswer waits until there is a target.
func (l *load) firstAnswer(ctx context.Context) error {
	select {
	case <-l.answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startWithin):
		return errors.Join(fmt.Errorf("no target within %v", startWithin), l.end(&tally{}))
	}
}

// end stops the callers and tells what went wrong for them.
func (l *load) end(sum *tally) error {
	l.cancel()
	l.group.Wait()
	err := errors.Join(l.conn.Close(), l.ca.Close())
	sum.choices += l.sum.choices
	sum.targets += l.sum.targets
	sum.overrides += l.sum.overrides
	sum.unanswered += l.sum.unanswered
	return errors.Join(append(l.errs, err)...)
}

func (l *load) note(count func(*tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count(&l.sum)
}

func (l *load) wrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

// keda asks for every target once.
func (l *load) keda(ctx context.Context) {
	for _, name := range services {
		ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: name, ScalerMetadata: map[string]string{"service": name}}
		got, err := externalscaler.NewExternalScalerClient(l.conn).GetMetrics(ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: name + "-replicas"})
		if err != nil {
			l.note(func(t *tally) { t.unanswered++ })
			continue
		}
		if n := got.GetMetricValues()[0].GetMetricValue(); n != demand {
			l.wrong("%s: the target is %d and not %d", name, n, demand)
		}
		l.note(func(t *tally) { t.targets++ })
		l.first.Do(func() { close(l.answered) })
	}
	sleep(ctx, 3*time.Millisecond)
}

// autoscaler asks for a node group for pods that are new.
func (l *load) autoscaler(ctx context.Context) {
	loop := wave.Wave{Groups: 3, Pods: 4}.Loop()
	l.s.serial++
	uid := fmt.Sprintf("pod-%d", l.s.serial)
	for i, pod := range loop.Options[0].Pods {
		pod.UID = types.UID(fmt.Sprintf("%s-%d", uid, i))
	}
	answer, err := l.ca.BestOptions(ctx, loop)
	switch {
	case err != nil:
		l.wrong("request: %w", err)
	case answer.Err != nil:
		l.note(func(t *tally) { t.unanswered++ })
	case answer.Vetoed() || len(answer.Unknown) > 0:
		l.wrong("the answer is %+v", answer)
	default:
		l.s.lastPod = uid + "-0"
		l.note(func(t *tally) { t.choices++ })
	}
	sleep(ctx, 3*time.Millisecond)
}

// inForce is how many overrides the operator has at a time.
const inForce = 4

// operator sets overrides, and clears the oldest when there are enough.
func (l *load) operator(ctx context.Context) {
	o, ok := l.call(ctx, http.MethodPost, "/api/v1/overrides", map[string]any{"service": "ml/svc-1", "min": 1, "for": "3s", "reason": "a test"})
	if ok {
		l.s.orders[o.ID] = o
		l.s.recent = append(l.s.recent, o.ID)
		l.note(func(t *tally) { t.overrides++ })
	}
	if len(l.s.recent) > inForce {
		id := l.s.recent[0]
		l.s.recent = l.s.recent[1:]
		delete(l.s.orders, id) // until the answer is there nobody knows whether it counts
		if o, ok := l.call(ctx, http.MethodDelete, "/api/v1/overrides/"+id, nil); ok {
			l.s.orders[id] = o
		}
	}
	sleep(ctx, 5*time.Millisecond)
}

// call returns the override in the answer.
func (l *load) call(ctx context.Context, method, path string, body any) (o engine.Override, ok bool) {
	text, err := json.Marshal(body)
	if err != nil {
		l.wrong("%w", err)
		return o, false
	}
	r, err := http.NewRequestWithContext(ctx, method, l.admin+path+"?format=json", bytes.NewReader(text))
	if err != nil {
		l.wrong("%w", err)
		return o, false
	}
	r.Header.Set("Authorization", "Bearer a-token")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return o, false
	}
	defer answer.Body.Close()
	var got struct {
		Override engine.Override `json:"override"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); answer.StatusCode != http.StatusOK || err != nil {
		return o, false
	}
	return got.Override, got.Override.ID != ""
}
