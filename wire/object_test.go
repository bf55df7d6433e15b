package wire_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/wire"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func requests(pairs ...string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: list(pairs...)}
}

// Requests are what the scheduler counts, which is not the sum over the containers.
func TestPodRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := func(s corev1.PodSpec) *corev1.Pod { return &corev1.Pod{Spec: s} }
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want expander.Resources
	}{
		{"containers add up", pod(corev1.PodSpec{Containers: []corev1.Container{
			{Resources: requests("cpu", "1500m", "memory", "1Gi", "nvidia.com/gpu", "1")},
			{Resources: requests("cpu", "500m", "nvidia.com/gpu", "1")},
		}}), expander.Resources{MilliCPU: 2000, Memory: 1 << 30, Extended: map[string]int64{"nvidia.com/gpu": 2}}},
		{"an init container counts while it is the largest", pod(corev1.PodSpec{
			InitContainers: []corev1.Container{{Resources: requests("cpu", "4", "memory", "1Gi")}},
			Containers:     []corev1.Container{{Resources: requests("cpu", "1", "memory", "3Gi")}},
		}), expander.Resources{MilliCPU: 4000, Memory: 3 << 30}},
		{"a sidecar adds to both", pod(corev1.PodSpec{
			InitContainers: []corev1.Container{
				{RestartPolicy: &always, Resources: requests("cpu", "1")},
				{Resources: requests("cpu", "4")},
			},
			Containers: []corev1.Container{{Resources: requests("cpu", "2")}},
		}), expander.Resources{MilliCPU: 5000}},
		{"overhead adds", pod(corev1.PodSpec{
			Containers: []corev1.Container{{Resources: requests("cpu", "1")}},
			Overhead:   list("cpu", "250m", "memory", "120Mi"),
		}), expander.Resources{MilliCPU: 1250, Memory: 120 << 20}},
		{"pod-level requests replace cpu and memory", pod(corev1.PodSpec{
			Resources:  &corev1.ResourceRequirements{Requests: list("cpu", "8")},
			Containers: []corev1.Container{{Resources: requests("cpu", "1", "memory", "2Gi", "nvidia.com/gpu", "1")}},
		}), expander.Resources{MilliCPU: 8000, Memory: 2 << 30, Extended: map[string]int64{"nvidia.com/gpu": 1}}},
		{"no requests", pod(corev1.PodSpec{Containers: []corev1.Container{{}}}), expander.Resources{}},
		{"parts of a unit are rounded up", pod(corev1.PodSpec{Containers: []corev1.Container{
			{Resources: requests("cpu", "100n", "memory", "1m")},
		}}), expander.Resources{MilliCPU: 1, Memory: 1}},
		{"out of range is the largest number, negative is zero", pod(corev1.PodSpec{Containers: []corev1.Container{
			{Resources: requests("cpu", "9E", "memory", "9223372036854775807", "nvidia.com/gpu", "-1")},
			{Resources: requests("memory", "9223372036854775807")},
		}}), expander.Resources{MilliCPU: math.MaxInt64, Memory: math.MaxInt64, Extended: map[string]int64{"nvidia.com/gpu": 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, wire.Pod(tc.pod).Requests); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPod(t *testing.T) {
	yes, no, priority := true, false, int32(-7)
	got := wire.Pod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"},
			OwnerReferences: []metav1.OwnerReference{{UID: "no", Controller: &no}, {UID: "also no"}, {UID: "yes", Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			Priority: &priority, PriorityClassName: "low",
			NodeSelector:   map[string]string{"s": "3"},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "a"}, {Name: "b"}},
			Tolerations:    []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpEqual, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
			Affinity:       &corev1.Affinity{NodeAffinity: anyAffinity("zone")},
		},
	})
	term := expander.Term{Requirements: []expander.Requirement{{Key: "zone", Operator: "In", Values: []string{"x", "zone"}}}}
	want := expander.Pod{
		UID: "u", Namespace: "ns", Name: "n", OwnerUID: "yes",
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"},
		Priority: -7, PriorityClass: "low", Claims: 2,
		Tolerations:  []expander.Toleration{{Key: "spot", Operator: "Equal", Value: "true", Effect: "NoSchedule"}},
		NodeSelector: map[string]string{"s": "3"},
		Required:     []expander.Term{term, {}},
		Preferred:    []expander.PreferredTerm{{Weight: 7, Term: term}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroup(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template-node-for-gpu-123", Labels: map[string]string{"l": "1"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}}},
		Status:     corev1.NodeStatus{Capacity: list("cpu", "8", "memory", "32Gi", "pods", "110")},
	}
	full := expander.Resources{MilliCPU: 8000, Memory: 32 << 30, Extended: map[string]int64{"pods": 110}}
	want := expander.Group{
		ID: "gpu", Labels: map[string]string{"l": "1"}, Capacity: full, Allocatable: full,
		Taints: []expander.Taint{{Key: "k", Value: "v", Effect: "NoExecute"}},
	}
	if diff := cmp.Diff(want, wire.Group("gpu", node)); diff != "" {
		t.Errorf("without allocatable (-want +got):\n%s", diff)
	}
	node.Status.Allocatable = list("cpu", "7900m")
	want.Allocatable = expander.Resources{MilliCPU: 7900}
	if diff := cmp.Diff(want, wire.Group("gpu", node)); diff != "" {
		t.Errorf("with allocatable (-want +got):\n%s", diff)
	}
}
