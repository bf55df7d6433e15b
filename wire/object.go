package wire

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/warmpool/warmpool/expander"
)

// Pod reduces a pod to what a choice of node group can depend on. Requests are counted as the scheduler counts a
// pod that is not running: init containers, sidecars, overhead and pod-level requests included.
func Pod(p *corev1.Pod) expander.Pod {
	pod := expander.Pod{
		UID:           string(p.UID),
		Namespace:     p.Namespace,
		Name:          p.Name,
		Labels:        p.Labels,
		Annotations:   p.Annotations,
		PriorityClass: p.Spec.PriorityClassName,
		Requests:      amounts(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})),
		Claims:        len(p.Spec.ResourceClaims),
		NodeSelector:  p.Spec.NodeSelector,
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		pod.OwnerUID = string(owner.UID)
	}
	if p.Spec.Priority != nil {
		pod.Priority = *p.Spec.Priority
	}
	for _, t := range p.Spec.Tolerations {
		pod.Tolerations = append(pod.Tolerations, expander.Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect),
		})
	}
	if p.Spec.Affinity != nil && p.Spec.Affinity.NodeAffinity != nil {
		pod.Required, pod.Preferred = nodeAffinity(p.Spec.Affinity.NodeAffinity)
	}
	return pod
}

// Group reduces a node template. Without allocatable amounts the capacity stands in, as it does in the API server.
func Group(id string, n *corev1.Node) expander.Group {
	group := expander.Group{
		ID:          id,
		Labels:      n.Labels,
		Capacity:    amounts(n.Status.Capacity),
		Allocatable: amounts(n.Status.Allocatable),
	}
	if len(n.Status.Allocatable) == 0 {
		group.Allocatable = amounts(n.Status.Capacity)
	}
	for _, t := range n.Spec.Taints {
		group.Taints = append(group.Taints, expander.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	return group
}

func nodeAffinity(a *corev1.NodeAffinity) ([]expander.Term, []expander.PreferredTerm) {
	var required []expander.Term
	if a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			required = append(required, term(&a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[i]))
		}
	}
	var preferred []expander.PreferredTerm
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		preferred = append(preferred, expander.PreferredTerm{Term: term(&p.Preference), Weight: p.Weight})
	}
	return required, preferred
}

// term leaves out matchFields: they compare the name of a node, and a node that does not exist has none to keep.
func term(t *corev1.NodeSelectorTerm) expander.Term {
	var out expander.Term
	for _, r := range t.MatchExpressions {
		out.Requirements = append(out.Requirements, expander.Requirement{
			Key: r.Key, Operator: string(r.Operator), Values: r.Values,
		})
	}
	return out
}

func amounts(list corev1.ResourceList) expander.Resources {
	var out expander.Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			out.MilliCPU = amount(q, resource.Milli)
		case corev1.ResourceMemory:
			out.Memory = amount(q, 0)
		default:
			if out.Extended == nil {
				out.Extended = make(map[string]int64, len(list))
			}
			out.Extended[string(name)] = amount(q, 0)
		}
	}
	return out
}

var (
	mostWhole = *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
	mostMilli = *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
)

// amount is a quantity in units of 10^scale, rounded up. Below zero it is zero, above the range the largest
// number: the plain conversion of a quantity wraps around.
func amount(q resource.Quantity, scale resource.Scale) int64 {
	most := mostWhole
	if scale == resource.Milli {
		most = mostMilli
	}
	switch {
	case q.Sign() <= 0:
		return 0
	case q.Cmp(most) >= 0:
		return math.MaxInt64
	default:
		return q.ScaledValue(scale)
	}
}
