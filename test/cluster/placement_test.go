package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The scheduler settings of the examples pack GPUs, and a node that has the model comes before packing.
func TestSchedulerPacks(t *testing.T) {
	e := running(t)
	ctx := t.Context()
	if err := e.applyText(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: packing}}"); err != nil {
		t.Fatal(err)
	}
	for _, node := range []struct{ name, label string }{{"packing-empty", "none"}, {"packing-used", "none"}, {"packing-cached", "model-cache.ai/llama-7b: cached"}} {
		label := "packing: \"true\""
		if node.label != "none" {
			label += ", " + node.label
		}
		err := e.applyText(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata:
  name: %[1]s
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: %[1]s, %[2]s}
status:
  capacity: {cpu: "96", memory: 768Gi, pods: "110", nvidia.com/gpu: "8"}
  allocatable: {cpu: "96", memory: 768Gi, pods: "110", nvidia.com/gpu: "8"}
`, node.name, label))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.clients.CoreV1().Nodes().Delete(context.Background(), node.name, metav1.DeleteOptions{}) })
	}
	// place runs a pod and says where it went.
	place := func(name string, gpus int, extra string) string {
		t.Helper()
		err := e.applyText(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: packing}
spec:
  schedulerName: gpu-packing
  terminationGracePeriodSeconds: 0
  nodeSelector: {packing: "true"}
  containers: [{name: engine, image: engine, resources: {requests: {nvidia.com/gpu: %d}, limits: {nvidia.com/gpu: %d}}}]
%s`, name, gpus, gpus, extra))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = e.clients.CoreV1().Pods("packing").Delete(context.Background(), name, metav1.DeleteOptions{})
		})
		var node string
		eventually(t, 30*time.Second, "the pod runs", func() error {
			pod, err := e.clients.CoreV1().Pods("packing").Get(ctx, name, metav1.GetOptions{})
			if err == nil && pod.Spec.NodeName == "" {
				err = fmt.Errorf("%+v", pod.Status.Conditions)
			}
			if err == nil {
				node = pod.Spec.NodeName
			}
			return err
		})
		return node
	}
	place("first", 4, "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [packing-used]}]}]}}}\n")
	for i := range 3 {
		if node := place(fmt.Sprintf("next-%d", i), 1, ""); node != "packing-used" {
			t.Errorf("pod %d went to %s: GPUs are not packed", i, node)
		}
	}
	const prefersCache = "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, preference: {matchExpressions: [{key: model-cache.ai/llama-7b, operator: In, values: [cached]}]}}]}}\n"
	if node := place("cached", 1, prefersCache); node != "packing-cached" {
		t.Errorf("with its model on packing-cached the pod went to %s", node)
	}
}
