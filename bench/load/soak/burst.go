package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load/caclient"
)

// podMark is the part of the pods' ids that is replaced in each request, so that the pods are always new.
const podMark = "5f1c7c1e-0000-4000"

// bursts are the calls of the Cluster Autoscaler.
type bursts struct {
	o        *Options
	client   *caclient.Client
	message  []byte
	tally    *tally
	measured *atomic.Bool

	mu   sync.Mutex
	took []float64
}

func newBursts(o *Options, s *Server, t *tally, measured *atomic.Bool) (*bursts, error) {
	if err := onLoopback(s.Expander); err != nil {
		return nil, err
	}
	client, err := caclient.Dial(s.Expander, s.CA, caclient.V1_35_0)
	if err != nil {
		return nil, err
	}
	request, err := o.Wave.Loop().Message(caclient.V1_35_0)
	if err != nil {
		return nil, err
	}
	b := &bursts{o: o, client: client, tally: t, measured: measured}
	if b.message, err = proto.Marshal(request); err != nil {
		return nil, err
	}
	if want := o.Wave.Pods * o.Wave.Groups; bytes.Count(b.message, []byte(podMark)) < want {
		return nil, fmt.Errorf("the request names its pods fewer than %d times", want)
	}
	return b, nil
}

// run sends a request every so often until ctx ends.
func (b *bursts) run(ctx context.Context) {
	for i := 1; ; i++ {
		every := b.o.WarmupBurst
		if b.measured.Load() {
			every = b.o.Burst
		}
		next := time.Now().Add(every)
		message := bytes.ReplaceAll(b.message, []byte(podMark), fmt.Appendf(nil, "5f1c7c1e-%04x-4000", i%0x10000))
		started := time.Now()
		answer, err := b.client.Send(ctx, message)
		took := time.Since(started).Seconds()
		if ctx.Err() != nil {
			return
		}
		if err == nil && len(answer.GetOptions()) != 1 {
			err = errors.New("not one option is answered")
		}
		b.tally.add("BestOptions", err)
		if b.measured.Load() {
			b.mu.Lock()
			b.took = append(b.took, took)
			b.mu.Unlock()
		}
		if !until(ctx, next) {
			return
		}
	}
}

// configuration of the server for a run: services come from triggers, one pool serves the wave.
func configuration(o *Options, prometheus string) string {
	return fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %s}
evaluationInterval: %v
caVersion: "1.35"
pools:
  - {name: gpu, class: inference, capacityType: on-demand, match: {nodeGroups: ["^gpu-"]}}
expander:
  mode: active
  workloads:
    - {name: inference, match: {podLabels: {workload-tier: inference}}, stages: [{pools: [gpu]}]}
decisions: {ring: 5000, file: %s/decisions.jsonl}
`, prometheus, o.Evaluate, o.Dir)
}
