package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// selects tells whether a pod may go to nodes with the labels, as far as selector and required affinity say.
func (w *workload) selects(labels map[string]string) bool {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: w.pod}).Match(node)
	return err == nil && fits
}

// intolerable are the taints that keep the pod away.
func (w *workload) intolerable(taints []corev1.Taint) (left []corev1.Taint) {
	for i := range taints {
		t := &taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(w.pod.Tolerations, func(one corev1.Toleration) bool { return tolerates(one, t) }) {
			left = append(left, *t)
		}
	}
	return left
}

func tolerates(t corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key == "" {
		return t.Operator == corev1.TolerationOpExists
	}
	return t.Key == taint.Key && (t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
}

// gpuPools are the pools with accelerators.
func (s *Set) gpuPools() (pools []*pool) {
	for _, p := range s.pools {
		if p.hasGPU() {
			pools = append(pools, p)
		}
	}
	return pools
}
