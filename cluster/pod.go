package cluster

import (
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/wire"
)

// pod is what is kept of a pod. Times are in Unix seconds, 0 is never.
type pod struct {
	metav1.ObjectMeta
	node  string
	owner owner
	// targets are the keys of the scale targets that the pod may belong to, see targetKeys.
	targets [2]string
	// group and size are those of a LeaderWorkerSet group; size 0 is a pod of its own.
	group string
	size  int32

	leaving, ended bool
	ready          bool
	// readySince is since when it is ready, or not ready any more; the others are the steps of its start.
	readySince, scheduled, pulled, started int64
	restarts                               int32
	// unschedulableSince is since when the scheduler finds no node; 0 also while the pod is held back by a gate.
	unschedulableSince int64
	priority           int32
	// cost is the deletion cost that the pod carries; nil without one, or with one that is no number, which oddCost tells.
	cost         *int32
	oddCost      bool
	accelerators int32
	claims       []claimRef
	// shape is what a policy matches workloads by, of pods that want an accelerator.
	shape unique.Handle[string]
}

// owner is the controller of a pod.
type owner struct {
	apiVersion, kind, name string
	uid                    types.UID
}

// claimRef names a resource claim, or the template that one is made from.
type claimRef struct{ claim, template string }

// wantsAccelerator tells whether the pod asks for GPUs, counted or claimed.
func (p *pod) wantsAccelerator() bool { return p.accelerators > 0 || len(p.claims) > 0 }

// pending tells whether the pod waits for a node. What the Cluster Autoscaler takes for expendable does not count.
func (p *pod) pending() bool {
	const expendable = -10
	return p.unschedulableSince != 0 && p.node == "" && !p.leaving && !p.ended && p.priority >= expendable
}

const (
	leaderName  = "leaderworkerset.sigs.k8s.io/name"
	leaderGroup = "leaderworkerset.sigs.k8s.io/group-index"
	leaderSize  = "leaderworkerset.sigs.k8s.io/size"
)

// trimPod keeps of a pod what is used. Repeated strings are shared.
func trimPod(o any) (any, error) {
	full, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	p := &pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: full.Name, Namespace: share(full.Namespace), UID: full.UID, ResourceVersion: full.ResourceVersion,
			CreationTimestamp: full.CreationTimestamp,
		},
		node:    share(full.Spec.NodeName),
		leaving: full.DeletionTimestamp != nil,
		ended:   full.Status.Phase == corev1.PodSucceeded || full.Status.Phase == corev1.PodFailed,
	}
	if controller := metav1.GetControllerOfNoCopy(full); controller != nil {
		p.owner = owner{share(controller.APIVersion), share(controller.Kind), share(controller.Name), types.UID(share(string(controller.UID)))}
	}
	p.targets = targetKeys(full, p.owner)
	if name := full.Labels[leaderName]; name != "" {
		p.group = share(name + "/" + full.Labels[leaderGroup])
		if size, err := strconv.ParseInt(full.Annotations[leaderSize], 10, 32); err == nil && size > 0 {
			p.size = int32(size)
		}
	}
	if text, ok := full.Annotations[link.CostAnnotation]; ok {
		if cost, err := strconv.ParseInt(text, 10, 32); err == nil {
			p.cost = new(int32(cost))
		} else {
			p.oddCost = true
		}
	}
	if full.Spec.Priority != nil {
		p.priority = *full.Spec.Priority
	}
	p.readStatus(&full.Status)
	p.readDemand(full)
	return p, nil
}

func share(text string) string {
	if text == "" {
		return ""
	}
	return unique.Make(text).Value()
}

func (p *pod) readStatus(s *corev1.PodStatus) {
	for i := range s.Conditions {
		condition := &s.Conditions[i]
		at := condition.LastTransitionTime.Unix()
		if condition.LastTransitionTime.IsZero() {
			at = 0
		}
		switch condition.Type {
		case corev1.PodReady:
			p.ready, p.readySince = condition.Status == corev1.ConditionTrue, at
		case corev1.PodScheduled:
			if condition.Status == corev1.ConditionTrue {
				p.scheduled = at
			} else if condition.Reason == corev1.PodReasonUnschedulable {
				p.unschedulableSince = at
			}
		}
	}
	for i := range s.ContainerStatuses {
		container := &s.ContainerStatuses[i]
		p.restarts += container.RestartCount
		if running := container.State.Running; running != nil && !running.StartedAt.IsZero() {
			// The image of a container is there when it starts, at the latest.
			at := running.StartedAt.Unix()
			p.started = max(p.started, at)
			if p.pulled == 0 || at < p.pulled {
				p.pulled = at
			}
		}
	}
}

// readDemand takes in accelerators and claims. Only pods that want some carry the facts that workloads match by.
func (p *pod) readDemand(full *corev1.Pod) {
	reduced := wire.Pod(full)
	p.accelerators = int32(min(expander.Accelerators{}.Accelerated(reduced.Requests.Extended), 1<<20)) //nolint:gosec // bounded
	for i := range full.Spec.ResourceClaims {
		claim := &full.Spec.ResourceClaims[i]
		var ref claimRef
		switch {
		case claim.ResourceClaimName != nil:
			ref.claim = share(*claim.ResourceClaimName)
		case claim.ResourceClaimTemplateName != nil:
			ref.template = share(*claim.ResourceClaimTemplateName)
		default:
			continue
		}
		p.claims = append(p.claims, ref)
	}
	if p.wantsAccelerator() {
		p.shape = unique.Make(encodeShape(&reduced))
	}
}

// encodeShape writes what a policy matches workloads by; decodeShape reads it.
func encodeShape(p *expander.Pod) string {
	var text strings.Builder
	line := func(parts ...string) {
		text.WriteString(strings.Join(parts, "\x00"))
		text.WriteByte('\n')
	}
	line("n", p.Namespace, p.PriorityClass)
	for l := range strings.Lines(encodeLabels(p.Labels)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "=")
		if key != "pod-template-hash" && key != "rollouts-pod-template-hash" && key != "statefulset.kubernetes.io/pod-name" {
			line("l", key, value)
		}
	}
	for _, t := range p.Tolerations {
		line("t", t.Key, t.Operator, t.Value, t.Effect)
	}
	return text.String()
}

func decodeShape(text string) *expander.Pod {
	p := &expander.Pod{Labels: map[string]string{}}
	for l := range strings.Lines(text) {
		switch f := strings.Split(strings.TrimSuffix(l, "\n"), "\x00"); f[0] {
		case "n":
			p.Namespace, p.PriorityClass = f[1], f[2]
		case "l":
			p.Labels[f[1]] = f[2]
		case "t":
			p.Tolerations = append(p.Tolerations, expander.Toleration{Key: f[1], Operator: f[2], Value: f[3], Effect: f[4]})
		}
	}
	return p
}
