package load

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/bench/load/caclient"
)

// Wave is the size of a request: every group has an option that serves every pod.
type Wave struct {
	Groups, Pods int
	// PodBytes is the size of one serialised pod, reached by managed fields as in real pods and exceeded by at most
	// 100 bytes; 0 adds none.
	PodBytes int
}

// Loop builds the pods and node templates of a wave.
func (w Wave) Loop() caclient.Loop {
	pods := make([]*corev1.Pod, 0, w.Pods)
	for i := range w.Pods {
		pods = append(pods, w.pod(i))
	}
	l := caclient.Loop{Nodes: make(map[string]*corev1.Node, w.Groups)}
	for i := range w.Groups {
		id := fmt.Sprintf("gpu-pool-%03d", i)
		gpus := int64(1) << (i % 4)
		l.Nodes[id] = node(id, gpus)
		l.Options = append(l.Options, caclient.Option{
			GroupID:   id,
			NodeCount: int((int64(w.Pods) + gpus - 1) / gpus),
			Pods:      pods,
		})
	}
	return l
}

func (w Wave) pod(i int) *corev1.Pod {
	name := fmt.Sprintf("llm-70b-6d5f7c9b8d-%05d", i)
	isController := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "inference", UID: types.UID(fmt.Sprintf("5f1c7c1e-0000-4000-8000-%012d", i)),
			Labels:      map[string]string{"app": "llm-70b", "workload-tier": "inference", "pod-template-hash": "6d5f7c9b8d"},
			Annotations: map[string]string{"gpu.ai/memory-required": "70Gi", "model.ai/name": "llama-70b"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "llm-70b-6d5f7c9b8d",
				UID: "0f9d8a52-1111-4000-8000-000000000000", Controller: &isController,
			}},
			CreationTimestamp: metav1.NewTime(time.Date(2026, 8, 1, 12, 0, i%60, 0, time.UTC)),
		},
		Spec: corev1.PodSpec{
			Containers:        []corev1.Container{server()},
			InitContainers:    []corev1.Container{{Name: "fetch-model", Image: "registry.example.com/fetch:3", Args: []string{"--model=llama-70b"}}},
			Volumes:           []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}},
			NodeSelector:      map[string]string{"workload-tier": "inference"},
			Tolerations:       []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			PriorityClassName: "inference-high",
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.",
			}},
		},
	}
	w.fill(p)
	return p
}

// fill adds managed fields up to the size of the wave.
func (w Wave) fill(p *corev1.Pod) {
	for missing := w.PodBytes - p.Size(); missing > 0; missing = w.PodBytes - p.Size() {
		have := 0
		if len(p.ManagedFields) > 0 {
			have = len(p.ManagedFields[0].FieldsV1.GetRawString())
		} else if missing < 120 {
			return
		}
		text := strings.Repeat(`{"f:spec":{"f:containers":{}}}`, (have+missing)/30+1)
		p.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(text[:have+max(1, missing-100)]),
		}}
	}
}

func server() corev1.Container {
	c := corev1.Container{
		Name: "vllm", Image: "registry.example.com/vllm/vllm-openai:v0.11.0",
		Args:  []string{"--model=/cache/llama-70b", "--tensor-parallel-size=1", "--max-model-len=32768"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8000, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("64Gi"),
				"nvidia.com/gpu": resource.MustParse("1"),
			},
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
	}
	for i := range 12 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VLLM_SETTING_%02d", i), Value: "a value of usual length"})
	}
	return c
}

func node(id string, gpus int64) *corev1.Node {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(12*gpus, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gpus*96<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
		"nvidia.com/gpu":      *resource.NewQuantity(gpus, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "template-node-for-" + id + "-4711",
			Labels: map[string]string{
				"cloud.google.com/gke-accelerator": "nvidia-h100-80gb", "workload-tier": "inference", "pool": id,
				"node.kubernetes.io/instance-type": fmt.Sprintf("gpu-%dx", gpus),
			},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list},
	}
}
