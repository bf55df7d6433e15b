package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/warmpool/warmpool/engine"
)

// services are the scaled objects; the first one has a forecast.
var services = []string{"svc-0", "svc-1", "svc-2", "svc-3", "svc-4", "svc-5"}

// stage is what stays over all kills.
type stage struct {
	dir, dataDir, binary string
	metrics              *httptest.Server
	// orders are the overrides as they were last acknowledged, by id; recent are the ids of those in force.
	orders map[string]engine.Override
	recent []string
	// lastPod is the pod of the last choice that was answered, and serial counts pods.
	lastPod string
	serial  int
	torn    int
}

func newStage(dir, binary string) (*stage, error) {
	s := &stage{dir: dir, dataDir: filepath.Join(dir, "data"), binary: binary, orders: map[string]engine.Override{}}
	s.metrics = httptest.NewServer(http.HandlerFunc(serveMetrics))
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: warmpool.dev/v1alpha1
kind: Config
pools:
  - {name: gpu, class: inference, capacityType: on-demand, match: {nodeGroups: ["^gpu-pool-"]}, hourlyCost: 1}
expander:
  mode: active
  workloads: [{name: llm, match: {namespaces: [inference]}, stages: [{pools: [gpu]}]}]
prometheus: {url: %q, timeout: 10s}
evaluationInterval: 1s
decisions: {file: %q, ring: 200}
services:
`, s.metrics.URL, s.decisionsFile())
	for i, name := range services {
		mode := "off"
		if i == 0 {
			mode = "shadow"
		}
		fmt.Fprintf(&text, `  - {name: %s, namespace: ml, preset: vllm, selector: {model_name: %s}, replicas: {min: 0, max: 50},
     perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}, startup: {lead: 30s}, forecast: {mode: "%s", rate: engine, timeZone: UTC}}
`, name, name, mode)
	}
	return s, os.WriteFile(s.path("warmpool.yaml"), []byte(text.String()), 0o600)
}

func (s *stage) close() { s.metrics.Close() }

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// decisionsFile is beside the data directory, so that it can be emptied.
func (s *stage) decisionsFile() string { return s.path("decisions.jsonl") }

func (s *stage) start() (*process, error) {
	if err := os.WriteFile(s.path("token"), []byte("a-token"), 0o600); err != nil {
		return nil, err
	}
	return start(s.binary, "serve", "--config", s.path("warmpool.yaml"), "--data-dir", s.dataDir, "--kubeconfig", "none", "--tls-self-signed", s.path("tls"),
		"--expander-listen", "127.0.0.1:0", "--scaler-listen", "", "--scaler-insecure-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--admin-token-file", s.path("token"))
}

// warmUp runs until there is a forecast, and ends in order: from then on everything that can be stored is stored.
func (s *stage) warmUp(ctx context.Context) error {
	p, err := s.start()
	if err != nil {
		return err
	}
	defer p.kill()
	if err := p.waitReady(ctx); err != nil {
		return err
	}
	var sum tally
	l, err := s.load(ctx, p)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(startWithin); !strings.Contains(p.text(), "forecast is ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || p.ended() {
			return fmt.Errorf("no forecast\n%s", p.tail())
		}
	}
	if err := l.end(&sum); err != nil {
		return err
	}
	p.ask()
	<-p.done
	if p.err != nil {
		return fmt.Errorf("it did not end in order: %w\n%s", p.err, p.tail())
	}
	if err := s.check(&sum); err != nil {
		return err
	}
	if sum.states < len(services) || sum.plans != 1 {
		return fmt.Errorf("%d states and %d forecasts are stored", sum.states, sum.plans)
	}
	return nil
}

// cycle starts a process, kills it as planned, and looks at what it left.
func (s *stage) cycle(ctx context.Context, how plan, sum *tally) error {
	p, err := s.start()
	if err != nil {
		return err
	}
	defer p.kill()
	if !how.serve {
		sleep(ctx, how.after)
		sum.early++
	} else if err := s.serve(ctx, p, how, sum); err != nil {
		return err
	}
	if how.asked && p.ended() {
		sum.ended++
	}
	p.kill()
	if line := p.complaint(); line != "" {
		return fmt.Errorf("it complains about what it found: %s", line)
	}
	return s.check(sum)
}

func (s *stage) serve(ctx context.Context, p *process, how plan, sum *tally) error {
	if err := p.waitReady(ctx); err != nil {
		return err
	}
	l, err := s.load(ctx, p)
	if err != nil {
		return err
	}
	if err := l.firstAnswer(ctx); err != nil {
		return err
	}
	sleep(ctx, how.after)
	if how.asked {
		sum.ending++
		p.ask()
		sleep(ctx, how.grace)
	} else {
		sum.serving++
	}
	_ = p.cmd.Process.Kill()
	return l.end(sum)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
