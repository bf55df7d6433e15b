package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/warmpool/warmpool/bench/load/caclient"
)

var klogger = klog.Background()

// budget is how long the configuration lets an online pod wait for spot.
const budget = 60 * time.Second

// pools are the three groups of an online workload; ids are unique, because a failure of a group is remembered.
func pools(prefix string) (inference, spot, onDemand *nodeGroup) {
	inference = &nodeGroup{id: prefix + "-inference", largest: 2, gpus: 1, stock: -1, taint: "inference", labels: map[string]string{"node-role": "inference", "spot": "false"}}
	spot = &nodeGroup{id: prefix + "-elastic-spot", largest: 2, gpus: 1, stock: -1, taint: "elastic", labels: map[string]string{"node-role": "elastic", "spot": "true"}}
	onDemand = &nodeGroup{id: prefix + "-elastic-on-demand", largest: 4, gpus: 1, stock: -1, taint: "elastic", labels: map[string]string{"node-role": "elastic", "spot": "false"}}
	return inference, spot, onDemand
}

// The stages of an online workload, with the requests of each generation of the Cluster Autoscaler.
func TestStages(t *testing.T) {
	e := running(t)
	for _, release := range []caclient.Release{{Minor: 31, Patch: 5}, {Minor: 34, Patch: 5}, {Minor: 36, Patch: 1}} {
		t.Run(release.String(), func(t *testing.T) {
			name := fmt.Sprintf("online-%d", release.Minor)
			inference, spot, onDemand := pools(name)
			spot.stock = 1 // of the two that it may have
			p := e.provision(t, release, "e2e", inference, spot, onDemand)
			p.online(t, name)

			p.wants(t, name, 2, map[*nodeGroup]int{inference: 2})
			p.wants(t, name, 3, map[*nodeGroup]int{inference: 2, spot: 1})

			// Spot has no more, and the pods must not wait longer than the budget for on-demand.
			began := time.Now()
			p.wants(t, name, 5, map[*nodeGroup]int{inference: 2, spot: 1, onDemand: 2})
			if took := time.Since(began); took > budget {
				t.Errorf("the pods waited %v for on-demand, the budget is %v%s", took, budget, p.history())
			}
			calls := p.asked()
			for i, c := range calls {
				if c.answer.Err != nil || len(c.answer.Unknown) > 0 || c.answer.Chosen() == "" {
					t.Errorf("call %d: options %v, answer %+v, want one group", i, c.options, c.answer)
				}
			}
			if !slices.ContainsFunc(calls, func(c call) bool { return c.stockOut }) {
				t.Errorf("nothing was out of stock%s", p.history())
			}
			// One more, so that warmpool is asked after it has seen the failure in the status.
			p.sees(t, spot.id)
			p.wants(t, name, 6, map[*nodeGroup]int{inference: 2, spot: 1, onDemand: 3})
			p.remembers(t, spot.id)
		})
	}
}

// sees waits until warmpool shows that a group is in backoff.
func (p *provisioner) sees(t *testing.T, id string) {
	t.Helper()
	eventually(t, 30*time.Second, "the backoff of "+id+" is on its page", func() error {
		var page struct {
			Backoff struct {
				Class string `json:"class"`
			} `json:"backoff"`
		}
		body := p.warmpool.read("/api/v1/groups/" + id)
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("%w: %s", err, body)
		}
		if page.Backoff.Class != "STOCK" {
			return fmt.Errorf("backoff %+v", page.Backoff)
		}
		return nil
	})
}

// remembers checks that the failure of a group can be read off the API, with its proof.
func (p *provisioner) remembers(t *testing.T, id string) {
	t.Helper()
	var body []byte
	err := poll(30*time.Second, func() error {
		var page struct {
			Held struct {
				Proven bool      `json:"proven"`
				Until  time.Time `json:"until"`
			} `json:"held"`
		}
		body = p.warmpool.read("/api/v1/groups/" + id)
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		if !page.Held.Proven || time.Until(page.Held.Until) < time.Minute {
			return errors.New("not held back by a proven failure")
		}
		return nil
	})
	if err != nil {
		t.Errorf("the failure of %s is not on its page: %v: %s", id, err, body)
	}
}

// online makes the Deployment of the examples without replicas.
func (p *provisioner) online(t *testing.T, name string) {
	t.Helper()
	err := p.applyText(t.Context(), fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: e2e}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, workload-tier: online}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations:
        - {key: workload, operator: Equal, value: inference, effect: NoSchedule}
        - {key: workload, operator: Equal, value: elastic, effect: NoSchedule}
        - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      containers: [{name: engine, image: engine, resources: {requests: {cpu: "1", nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
`, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.clients.AppsV1().Deployments("e2e").Delete(context.Background(), name, metav1.DeleteOptions{})
		none := int64(0)
		_ = p.clients.CoreV1().Pods("e2e").DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{LabelSelector: "app=" + name})
	})
}

// wants scales the Deployment and waits until all of its pods run on exactly these nodes.
func (p *provisioner) wants(t *testing.T, name string, replicas int32, want map[*nodeGroup]int) {
	t.Helper()
	ctx := t.Context()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := p.clients.AppsV1().Deployments("e2e").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	err := poll(90*time.Second, func() error {
		pods, err := p.clients.CoreV1().Pods("e2e").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name, FieldSelector: "status.phase=Running"})
		if err != nil || len(pods.Items) != int(replicas) {
			return fmt.Errorf("%d of %d pods run, %w", len(pods.Items), replicas, err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v%s", err, p.history())
	}
	for _, g := range p.groups {
		if n, err := p.nodes(ctx, g.id); err != nil || n != want[g] {
			t.Errorf("with %d replicas %s has %d nodes, want %d (error %v)%s", replicas, g.id, n, want[g], err, p.history())
		}
	}
}

// An analytics pod that tolerates everything is kept off the isolated pool twice: it does not grow it, and it is not
// admitted where the chart's policy applies.
func TestAnalyticsStaysOff(t *testing.T) {
	e := running(t)
	analytics := func(namespace, label string) *corev1.Pod {
		objects, err := decode(fmt.Appendf(nil, `
apiVersion: v1
kind: Pod
metadata: {name: analytics, namespace: %s, labels: {workload-tier: %s}}
spec:
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  nodeSelector: {node-role: inference}
  containers: [{name: job, image: job, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
`, namespace, label))
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{}
		convert(t, objects[0], pod)
		return pod
	}
	t.Run("admission", func(t *testing.T) {
		pods := e.clients.CoreV1().Pods("e2e")
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		eventually(t, 30*time.Second, "the policy is in force", func() error {
			_, err := pods.Create(t.Context(), analytics("e2e", "batch"), dry)
			return refusedBy(err, "workload-tier=online")
		})
		if _, err := pods.Create(t.Context(), analytics("e2e", "online"), dry); err != nil {
			t.Errorf("a pod with the label is refused: %v", err)
		}
		plain := analytics("e2e", "batch")
		plain.Spec.Tolerations = []corev1.Toleration{{Key: "workload", Value: "elastic", Effect: corev1.TaintEffectNoSchedule}}
		if _, err := pods.Create(t.Context(), plain, dry); err != nil {
			t.Errorf("a pod that tolerates another pool is refused: %v", err)
		}
		agent := analytics("e2e", "agent")
		controller := true
		agent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent", Controller: &controller}}
		if _, err := pods.Create(t.Context(), agent, dry); err != nil {
			t.Errorf("a pod of a DaemonSet is refused: %v", err)
		}
	})
	t.Run("veto", func(t *testing.T) {
		inference, spot, onDemand := pools("veto")
		// The policy leaves kube-system alone, so the pod exists there.
		pods := e.clients.CoreV1().Pods("kube-system")
		if _, err := pods.Create(t.Context(), analytics("kube-system", "batch"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pods.Delete(context.Background(), "analytics", metav1.DeleteOptions{}) })
		p := e.provision(t, caclient.Release{Minor: 36, Patch: 1}, "kube-system", inference, spot, onDemand)
		eventually(t, 30*time.Second, "five loops", func() error {
			if n := len(p.asked()); n < 5 {
				return fmt.Errorf("%d calls", n)
			}
			return nil
		})
		for _, c := range p.asked() {
			if !c.answer.Vetoed() || !c.answer.Empty {
				t.Errorf("options %v: answer %+v, want a veto", c.options, c.answer)
			}
		}
		if n, err := p.nodes(t.Context(), inference.id); err != nil || n != 0 {
			t.Errorf("%d nodes of the inference pool, error %v", n, err)
		}
	})
}
