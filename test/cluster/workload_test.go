package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var scaledObjects = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}

// A workload is a Deployment with a ScaledObject.
type workload struct {
	*environment
	name string
}

// deploy makes a Deployment of so many replicas and puts an example ScaledObject over it, changed by the options.
func (e *environment) deploy(t *testing.T, name string, replicas int, example string, change ...func(spec map[string]any)) workload {
	t.Helper()
	ctx := t.Context()
	err := e.applyText(ctx, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: e2e}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: engine, image: engine, resources: {requests: {cpu: 100m}}}]
`, name, replicas))
	if err != nil {
		t.Fatal(err)
	}
	deployments := e.clients.AppsV1().Deployments("e2e")
	t.Cleanup(func() {
		_ = deployments.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	so := e.scaledObject(t, name, example)
	spec := so.Object["spec"].(map[string]any)
	for _, c := range change {
		c(spec)
	}
	if err := e.apply(ctx, false, so); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r, err := e.resource(scaledObjects, "e2e"); err == nil {
			_ = r.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	return workload{e, name}
}

// scaledObject is an example of deploy/examples for a service of the tests. What differs: names, the address, limits, and
// no stabilisation on the way down, which would make every step take five minutes.
func (e *environment) scaledObject(t *testing.T, name, example string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "deploy/examples", example))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(data)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%s: %d objects, %v", example, len(objects), err)
	}
	so := objects[0]
	so.SetName(name)
	so.SetNamespace("e2e")
	for path, value := range map[string]any{
		"scaleTargetRef.name": name, "minReplicaCount": int64(1), "maxReplicaCount": int64(30), "pollingInterval": int64(5),
		"advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds": int64(0),
	} {
		set(t, so.Object["spec"].(map[string]any), path, value)
	}
	trigger := so.Object["spec"].(map[string]any)["triggers"].([]any)[0].(map[string]any)
	trigger["metadata"].(map[string]any)["scalerAddress"] = e.warmpool.dial(e.warmpool.scaler)
	trigger["metadata"].(map[string]any)["service"] = name
	return so
}

// spec gives the HPA that KEDA made.
func (w workload) hpa(ctx context.Context) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return w.clients.AutoscalingV2().HorizontalPodAutoscalers("e2e").Get(ctx, "keda-hpa-"+w.name, metav1.GetOptions{})
}

// replicas is the count that the Deployment was told to have.
func (w workload) replicas(ctx context.Context) (int, error) {
	d, err := w.clients.AppsV1().Deployments("e2e").Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	return int(*d.Spec.Replicas), nil
}

// reaches waits for a count and records every count on the way.
func (w workload) reaches(t *testing.T, n int, limit time.Duration) (seen []int) {
	t.Helper()
	err := poll(limit, func() error {
		got, err := w.replicas(t.Context())
		if err != nil {
			return err
		}
		if len(seen) == 0 || seen[len(seen)-1] != got {
			seen = append(seen, got)
		}
		if got != n {
			return fmt.Errorf("%s has %d replicas, want %d", w.name, got, n)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v; %s", err, w.explain())
	}
	return seen
}

// holds checks that the count does not change for a while.
func (w workload) holds(t *testing.T, n int, span time.Duration) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if got, err := w.replicas(t.Context()); err != nil || got != n {
			t.Fatalf("%s has %d replicas (error %v), it should have kept %d; %s", w.name, got, err, n, w.explain())
		}
	}
}

// explain says what the HPA and KEDA know, for a failure.
func (w workload) explain() string {
	ctx := context.Background()
	text := ""
	if hpa, err := w.hpa(ctx); err == nil {
		text += fmt.Sprintf("HPA: current %d, desired %d, conditions %+v", hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas, hpa.Status.Conditions)
	}
	if r, err := w.resource(scaledObjects, "e2e"); err == nil {
		if so, err := r.Get(ctx, w.name, metav1.GetOptions{}); err == nil {
			text += fmt.Sprintf("; ScaledObject: %v", so.Object["status"])
		}
	}
	if d, err := w.decision(); err == nil {
		text += "; warmpool: " + d.Text
	}
	return text
}

// condition is the status of a condition of the ScaledObject.
func (w workload) condition(ctx context.Context, kind string) (string, error) {
	r, err := w.resource(scaledObjects, "e2e")
	if err != nil {
		return "", err
	}
	so, err := r.Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	conditions, _, err := unstructured.NestedSlice(so.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status, nil
		}
	}
	return "", err
}

// set changes a field by its path, such as scaleTargetRef.name.
func set(t *testing.T, object map[string]any, path string, value any) {
	t.Helper()
	if err := unstructured.SetNestedField(object, value, strings.Split(path, ".")...); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
