package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/signals"
	"github.com/warmpool/warmpool/signals/promtest"
)

// stateMetrics writes what kube-state-metrics says of workloads and pods.
type stateMetrics struct{ strings.Builder }

func (m *stateMetrics) line(name string, value float64, labels string) {
	fmt.Fprintf(m, "%s{%s} %v\n", name, labels, value)
}

// pod is ready since a time, or not at all if that is zero.
func (m *stateMetrics) pod(namespace, name, ownerKind, owner string, created, ready float64) {
	at := fmt.Sprintf("namespace=%q,pod=%q", namespace, name)
	m.line("kube_pod_created", created, at)
	m.line("kube_pod_owner", 1, at+fmt.Sprintf(",owner_kind=%q,owner_name=%q,owner_is_controller=\"true\"", ownerKind, owner))
	for _, condition := range []string{"true", "false", "unknown"} {
		value := 0.0
		if (condition == "true") == (ready > 0) && condition != "unknown" {
			value = 1
		}
		m.line("kube_pod_status_ready", value, at+fmt.Sprintf(",condition=%q", condition))
	}
	if ready > 0 {
		m.line("kube_pod_status_ready_time", ready, at)
	}
}

func (m *stateMetrics) replicaSet(namespace, name, ownerKind, owner string) {
	m.line("kube_replicaset_owner", 1, fmt.Sprintf("namespace=%q,replicaset=%q,owner_kind=%q,owner_name=%q,owner_is_controller=\"true\"", namespace, name, ownerKind, owner))
}

const stateServices = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %q, timeout: 10s}
services:
- {name: chat, namespace: ml, replicas: {max: 40}, queries: {running: 'vector(0)'}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics, workload: chat-server}}
- {name: sets, namespace: ml, replicas: {max: 40}, queries: {running: 'vector(0)'}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics}}
- {name: rolled, namespace: ml, replicas: {max: 40}, queries: {running: 'vector(0)'}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics}}
- {name: idle, namespace: ml, replicas: {min: 0, max: 40}, queries: {running: 'vector(0)'}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics}}
- {name: absent, namespace: ml, replicas: {max: 40}, queries: {running: 'vector(0)'}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics}}
`

// TestFromKubeStateMetrics reads pods of a Deployment, a StatefulSet and a Rollout from a real Prometheus that scrapes
// two overlapping shards of the exporter.
func TestFromKubeStateMetrics(t *testing.T) {
	now := float64(time.Now().Unix())
	var m stateMetrics
	m.replicaSet("ml", "chat-server-7d", "Deployment", "chat-server")
	m.line("kube_deployment_spec_replicas", 6, `namespace="ml",deployment="chat-server"`)
	m.line("kube_deployment_status_replicas_ready", 3, `namespace="ml",deployment="chat-server"`)
	m.pod("ml", "chat-a", "ReplicaSet", "chat-server-7d", now-1000, now-700)   // 300 s
	m.pod("ml", "chat-b", "ReplicaSet", "chat-server-7d", now-900, now-640)    // 260 s
	m.pod("ml", "chat-c", "ReplicaSet", "chat-server-7d", now-90_000, now-200) // lost and regained its readiness: no start
	m.pod("ml", "chat-d", "ReplicaSet", "chat-server-7d", now-50, 0)
	m.pod("ml", "chat-e", "ReplicaSet", "chat-server-7d", now-4000, 0) // stuck
	m.pod("ml", "chat-f", "ReplicaSet", "chat-server-7d", now-5000, 0) // over
	m.line("kube_pod_status_phase", 1, `namespace="ml",pod="chat-f",phase="Failed"`)
	m.pod("ml", "chat-g", "ReplicaSet", "chat-server-7d", now-5000, 0) // being deleted
	m.line("kube_pod_deletion_timestamp", now, `namespace="ml",pod="chat-g"`)

	// The same names in another namespace are another workload.
	m.replicaSet("other", "chat-server-7d", "Deployment", "chat-server")
	m.line("kube_deployment_spec_replicas", 9, `namespace="other",deployment="chat-server"`)
	m.pod("other", "chat-a", "ReplicaSet", "chat-server-7d", now-10, 0)

	m.line("kube_statefulset_replicas", 2, `namespace="ml",statefulset="sets"`)
	m.line("kube_statefulset_status_replicas_ready", 1, `namespace="ml",statefulset="sets"`)
	m.pod("ml", "sets-0", "StatefulSet", "sets", now-800, now-600)
	m.pod("ml", "sets-1", "StatefulSet", "sets", now-30, 0)

	m.replicaSet("ml", "rolled-1", "Rollout", "rolled")
	m.line("kube_horizontalpodautoscaler_status_current_replicas", 3, `namespace="ml",horizontalpodautoscaler="keda-hpa-rolled"`)
	m.line("kube_horizontalpodautoscaler_info", 1, `namespace="ml",horizontalpodautoscaler="keda-hpa-rolled",scaletargetref_kind="Rollout",scaletargetref_name="rolled"`)
	m.pod("ml", "rolled-a", "ReplicaSet", "rolled-1", now-800, now-650)
	m.line("kube_pod_container_status_restarts_total", 2, `namespace="ml",pod="rolled-a",container="server"`) // its start is not known
	m.pod("ml", "rolled-b", "ReplicaSet", "rolled-1", now-800, now-400)
	m.line("kube_deployment_spec_replicas", 0, `namespace="ml",deployment="idle"`)
	m.line("kube_deployment_status_replicas_ready", 0, `namespace="ml",deployment="idle"`)

	shard := promtest.NewTarget(t)
	url := promtest.Start(t, map[string]*promtest.Target{"kube-state-metrics": shard, "second": shard})
	shard.Set(t, m.String())
	shard.Await(t, 5) // both jobs
	c, err := config.Parse("test.yaml", fmt.Appendf(nil, stateServices, url))
	if err != nil {
		t.Fatal(err)
	}
	source, err := signals.NewReader(signals.FromConfig(c.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	e, err := engine.New(engine.Options{Config: c, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	e.Tick(t.Context(), time.Now())
	type state struct {
		current, ready, starting, stuck, starts int
	}
	want := map[string]state{
		"ml/chat": {6, 3, 2, 1, 2}, "ml/sets": {2, 1, 1, 0, 1}, "ml/rolled": {3, 2, 0, 0, 1}, "ml/idle": {0, 0, 0, 0, 0}, "ml/absent": {-1, 0, 0, 0, 0},
	}
	for _, line := range e.Board() {
		d := line.Decision
		if d == nil {
			t.Fatalf("%s was not evaluated", line.ID)
		}
		got := state{d.CurrentReplicas, d.Ready, d.Starting, d.Stuck, d.Lead.Samples}
		if got != want[line.ID] {
			t.Errorf("%s: %+v, want %+v (%s)", line.ID, got, want[line.ID], d.Text)
		}
		// Two starts of 260 and 300 s among five of the prior: the lead is still the prior's.
		if line.ID == "ml/chat" && math.Abs(d.Lead.Seconds-345) > 1 {
			t.Errorf("lead %v s, want 300 + 45", d.Lead.Seconds)
		}
	}
}
