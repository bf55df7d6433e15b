package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

const podsYAML = `
- name: chat
  namespace: ml
  replicas: {min: 0, max: 50}
  preset: none
  queries: {waiting: 'waiting_of_ml_chat', running: 'running_of_ml_chat'}
  perReplica: {concurrency: 1, maxUtilization: 1}
  forecast: {mode: "off"}
  startup: {metrics: kube-state-metrics, workload: chat-server}`

// TestCountPods turns rows of kube-state-metrics into what the scaler sees, and unknown ones into nothing.
func TestCountPods(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	rows := func(values ...float64) (samples []scaler.Sample) {
		for _, v := range values {
			samples = append(samples, scaler.Sample{At: at, Value: v})
		}
		return samples
	}
	started := float64(at.Unix())
	for name, c := range map[string]struct {
		samples     [config.PodsBecameReady + 1][]scaler.Sample
		want        scaler.Pods
		wantCurrent int
	}{
		"nothing known": {wantCurrent: -1},
		"all known": {
			samples: [...][]scaler.Sample{rows(3), rows(6), rows(started-40, started-100), rows(300, 200, 250), rows(started - 60)},
			want: scaler.Pods{
				Known: true, Ready: 3, Starting: []time.Duration{100 * time.Second, 40 * time.Second},
				StartTimes:  []time.Duration{200 * time.Second, 250 * time.Second, 300 * time.Second},
				BecameReady: at.Add(-time.Minute),
			},
			wantCurrent: 6,
		},
		"no count of replicas": {
			samples:     [...][]scaler.Sample{rows(3), nil, rows(started - 40), nil, nil},
			want:        scaler.Pods{Known: true, Ready: 3, Starting: []time.Duration{40 * time.Second}},
			wantCurrent: 4,
		},
		"at zero, of a kind without a count of ready pods": {
			samples: [...][]scaler.Sample{nil, rows(0), nil, nil, nil}, want: scaler.Pods{Known: true},
		},
		"replicas without a count of ready pods": {
			samples: [...][]scaler.Sample{nil, rows(4), rows(started - 40), nil, nil}, wantCurrent: 4,
		},
		"absurd values": {
			samples: [...][]scaler.Sample{rows(1e300), rows(1e18), rows(1e300), nil, nil}, wantCurrent: -1,
		},
		"created in the future": {
			samples:     [...][]scaler.Sample{rows(0), rows(1), rows(started + 30), nil, nil},
			want:        scaler.Pods{Known: true, Starting: []time.Duration{0}},
			wantCurrent: 1,
		},
	} {
		e := newTestEngine(t, Options{Config: testConfig(t)})
		r := reading{inputs: scaler.Inputs{CurrentReplicas: -1}, pods: &podReading{samples: c.samples}}
		e.countPods(&r, at)
		if diff := cmp.Diff(c.want, r.inputs.Pods); diff != "" || r.inputs.CurrentReplicas != c.wantCurrent {
			t.Errorf("%s: current %d, want %d; pods (-want +got):\n%s", name, r.inputs.CurrentReplicas, c.wantCurrent, diff)
		}
	}
}

// podSource answers the queries for pods by their place, besides those of the service.
type podSource struct {
	*fakeSource
	config *config.Config
}

func (p *podSource) setPods(query int, values ...float64) {
	q := p.config.Services[0].Pods[query]
	if len(values) == 0 {
		p.setFunc(q.Expr, func(time.Time) (float64, error) { return 0, errors.New("no answer") })
		return
	}
	p.set(q.Expr, values[0])
}

// TestPodsFromMetrics shows the present replicas and the starting pod in the decision, keeps a view of the cluster
// first, and holds on to the target when the exporter is gone.
func TestPodsFromMetrics(t *testing.T) {
	c := testConfig(t, podsYAML)
	at := time.Now().Truncate(15 * time.Second).Add(-30 * time.Second)
	source := &podSource{newFakeSource(), c}
	source.setDemand("ml", "chat", 5)
	source.setPods(config.PodsReady, 3)
	source.setPods(config.PodsReplicas, 4)
	source.setPods(config.PodsStarting, float64(at.Unix()-50))
	source.setPods(config.PodsStarts, 240)
	source.setPods(config.PodsBecameReady, float64(at.Unix()-500))

	e := newTestEngine(t, Options{Config: c, Source: source})
	id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
	e.Tick(t.Context(), at)
	d := wantTarget(t, e, id, 5)
	if d.CurrentReplicas != 4 || d.Ready != 3 || d.Starting != 1 || d.Stuck != 0 || d.Lead.Samples != 1 {
		t.Errorf("current %d, ready %d, starting %d, stuck %d, %d starts; want 4, 3, 1, 0, 1", d.CurrentReplicas, d.Ready, d.Starting, d.Stuck, d.Lead.Samples)
	}
	for q := range config.PodsBecameReady + 1 {
		source.setPods(q)
	}
	e.Tick(t.Context(), at.Add(15*time.Second))
	if d = wantTarget(t, e, id, 5); d.CurrentReplicas != -1 {
		t.Errorf("current %d without an answer, want unknown", d.CurrentReplicas)
	}

	seen := newTestEngine(t, Options{Config: c, Source: source, Cluster: &fakeCluster{pods: scaler.Pods{Known: true, Ready: 9}}})
	id = mustResolve(t, seen, triggerOf("ml", "object", "chat"))
	before := len(source.requests)
	seen.Tick(t.Context(), at)
	if d, _ := seen.Target(id); d.Ready != 9 {
		t.Errorf("ready %d, want the 9 that the cluster shows", d.Ready)
	}
	if asked := source.requests[before]; asked != 2 {
		t.Errorf("%d expressions beside a view of the cluster, want those of the two signals", asked)
	}
}

// TestMeanPerReadyPod multiplies an average over ready pods by their number from the metric store, in whatever order the
// answers come.
func TestMeanPerReadyPod(t *testing.T) {
	c := parseConfig(t, `apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://127.0.0.1:9090}
services:
- {name: chat, namespace: ml, replicas: {max: 50}, preset: epp, selector: {name: pool}, perReplica: {concurrency: 1, maxUtilization: 1}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics}}
`)
	source := &podSource{newFakeSource(), c}
	for _, q := range c.Services[0].Queries {
		source.set(q.Expr, 0)
		if q.Signal == scaler.Running {
			source.set(q.Expr, 2)
		}
	}
	at := time.Now().Truncate(15 * time.Second).Add(-30 * time.Second)
	e := newTestEngine(t, Options{Config: c, Source: source})
	id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
	e.Tick(t.Context(), at)
	if d, err := e.Target(id); err == nil && d.Unavailable == "" {
		t.Errorf("%d replicas from averages over an unknown number of pods", d.Replicas)
	}
	source.setPods(config.PodsReady, 7)
	e.Tick(t.Context(), at.Add(15*time.Second))
	wantTarget(t, e, id, 14)
}
