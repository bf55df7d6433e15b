package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/signals"
	"github.com/warmpool/warmpool/signals/promtest"
)

const zeroService = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %q}
evaluationInterval: 20s
services:
- name: llm
  namespace: ml
  replicas: {min: 0, max: 40}
  queries: {waiting: gateway_waiting}
  forecast: {mode: "off"}
  startup: {metrics: kube-state-metrics}
  activation: {idleAfter: 15s}
`

// TestActivationFromPrometheus wakes the push stream of a service at zero within two seconds of the time at which its
// first request is in a real Prometheus, long before the next tick.
func TestActivationFromPrometheus(t *testing.T) {
	t.Parallel() // most of it is waiting
	const state = "kube_deployment_spec_replicas{namespace=\"ml\",deployment=\"llm\"} 0\nkube_deployment_status_replicas_ready{namespace=\"ml\",deployment=\"llm\"} 0\n"
	gateway := promtest.NewTarget(t)
	c, err := config.Parse("test.yaml", fmt.Appendf(nil, zeroService, promtest.Start(t, map[string]*promtest.Target{"gateway": gateway})))
	if err != nil {
		t.Fatal(err)
	}
	source, err := signals.NewReader(signals.FromConfig(c.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	gateway.Set(t, state+"gateway_waiting 0\n")
	e, err := engine.New(engine.Options{Config: c, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Resolve(engine.Trigger{Namespace: "ml", ScaledObject: "llm", Metadata: map[string]string{"service": "llm"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() { stop(); <-done }()
	until := func(limit time.Duration, ok func(scaler.Decision) bool) (after time.Duration) {
		t.Helper()
		began := time.Now()
		deadline := time.After(limit)
		for {
			changed := e.Changed(id)
			if d, err := e.Target(id); err == nil && d.Unavailable == "" && ok(d) {
				return time.Since(began)
			}
			select {
			case <-changed:
			case <-deadline:
				d, err := e.Target(id)
				t.Fatalf("not within %v: %d replicas, %v, %s", limit, d.Replicas, err, d.Text)
			}
		}
	}
	until(70*time.Second, func(d scaler.Decision) bool { return d.Replicas == 0 && !d.Active })
	gateway.Set(t, state+"gateway_waiting 3\n")
	if after := until(20*time.Second, func(d scaler.Decision) bool { return d.Replicas == 1 && d.Active }); after > 2*time.Second {
		t.Errorf("active %v after the sample was visible, want at most 2s", after)
	}
}
