package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/warmpool/warmpool/link"
)

func twoNodes() []runtime.Object {
	return these(
		scaledObjectOf("ai", "llm", "", "llm"),
		nodeOf("spot-1", map[string]string{"karpenter.sh/capacity-type": "spot"}),
		nodeOf("od-1", map[string]string{"karpenter.sh/capacity-type": "on-demand"}),
		podOf("ai", "llm-a", ofDeployment("llm"), withGPU(1), on("spot-1"), isReady),
		podOf("ai", "llm-b", ofDeployment("llm"), withGPU(1), on("od-1"), isReady),
		podOf("ai", "llm-c", ofDeployment("llm"), withGPU(1), unschedulable),
	)
}

func (w *world) replicas() map[string]link.Replica {
	w.t.Helper()
	target, example, ok := w.view.ReplicasOf("ai", "llm", time.Now())
	if !ok || target.Owner != "ReplicaSet" || target.Namespace != "ai" || example == nil {
		w.t.Fatalf("target %+v, example %v, %v", target, example, ok)
	}
	out := map[string]link.Replica{}
	for _, r := range target.Replicas {
		out[r.Name] = r
	}
	return out
}

func TestReplicasOf(t *testing.T) {
	inWorld(t, Options{}, twoNodes, func(w *world) {
		got := w.replicas()
		if target, _, _ := w.view.ReplicasOf("ai", "llm", time.Now()); target.Accelerators != 1 {
			t.Errorf("a replica asks for %d accelerators, want 1", target.Accelerators)
		}
		if a := got["llm-a"]; a.Capacity != link.Spot || a.Node != "spot-1" || !a.Ready || !a.Doomed.IsZero() || a.Cost != nil {
			t.Errorf("on spot: %+v", a)
		}
		if b := got["llm-b"]; b.Capacity != link.OnDemand {
			t.Errorf("on on-demand: %+v", b)
		}
		if c := got["llm-c"]; c.Node != "" || c.Ready || c.Capacity != link.Unknown {
			t.Errorf("without a node: %+v", c)
		}
		if free, ok := w.view.FreeAccelerators(); !ok || len(free) != 0 {
			t.Errorf("free in %v, %v; no group is known yet", free, ok)
		}
		if _, _, ok := w.view.ReplicasOf("ai", "other", time.Now()); ok {
			t.Error("a scaled object that does not exist has replicas")
		}
	})
}

// A taint without a time counts from when it was first seen, whatever changes on the node afterwards; a withdrawn one
// counts no more.
func TestNoticeOfANode(t *testing.T) {
	inWorld(t, Options{}, twoNodes, func(w *world) {
		at := time.Now()
		w.changeNode("spot-1", func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "aws-node-termination-handler/spot-itn", Value: "x", Effect: corev1.TaintEffectNoSchedule})
		})
		select {
		case <-w.view.Noticed():
		default:
			t.Error("nobody is told of the notice")
		}
		w.wait(30 * time.Second)
		w.changeNode("spot-1", func(n *corev1.Node) { n.Annotations = map[string]string{"other": "change"} })
		if a := w.replicas()["llm-a"]; !a.Doomed.Equal(at) {
			t.Errorf("notice at %v, want %v", a.Doomed, at)
		}
		w.changeNode("spot-1", func(n *corev1.Node) { n.Spec.Taints = nil })
		if a := w.replicas()["llm-a"]; !a.Doomed.IsZero() {
			t.Errorf("still doomed since %v", a.Doomed)
		}
		w.changeNode("spot-1", func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: "VMEventScheduled", Status: corev1.ConditionTrue, Message: "Preempt Scheduled: Mon", LastTransitionTime: metav1.NewTime(at),
			})
		})
		if a := w.replicas()["llm-a"]; !a.Doomed.Equal(at) {
			t.Errorf("condition at %v, want %v", a.Doomed, at)
		}
	})
}

func TestWriteCosts(t *testing.T) {
	inWorld(t, Options{WriteCosts: true}, twoNodes, func(w *world) {
		b := w.replicas()["llm-b"]
		w.view.WriteCosts("ai", []link.CostChange{{ID: b.ID, Name: b.Name, Cost: link.CostFallBack}, {ID: "gone", Name: "gone", Cost: link.CostPaid}})
		w.wait(time.Second)
		if cost := w.replicas()["llm-b"].Cost; cost == nil || *cost != link.CostFallBack {
			t.Fatalf("the pod carries %v", cost)
		}
		if written, failed := w.view.CostWrites(); written != 2 || failed != 0 {
			t.Errorf("%d written, %d failed; a pod that is gone is no failure", written, failed)
		}
		target, _, _ := w.view.ReplicasOf("ai", "llm", time.Now())
		if plan, _ := link.PlanCosts(target, 0, link.Rate{Burst: 9}, link.Bucket{}, time.Now()); len(plan.Changes) > 0 {
			t.Errorf("what was written is planned again: %v", plan.Changes)
		}
		react(&w.typed.Fake, "patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "llm-a", nil)
		})
		w.view.WriteCosts("ai", []link.CostChange{{ID: "ai-llm-a", Name: "llm-a", Cost: link.CostPaid}})
		w.wait(time.Second)
		if _, failed := w.view.CostWrites(); failed != 1 {
			t.Errorf("%d failures, want the refused write", failed)
		}
	})
}

// A cost that is no number is somebody's own as much as one that is.
func TestOddCostIsSeen(t *testing.T) {
	for text, want := range map[string]pod{"": {}, "7": {cost: new(int32(7))}, "low": {oddCost: true}, "1e3": {oddCost: true}, "99999999999": {oddCost: true}} {
		full := &corev1.Pod{}
		if text != "" {
			full.Annotations = map[string]string{link.CostAnnotation: text}
		}
		trimmed, err := trimPod(full)
		if err != nil {
			t.Fatal(err)
		}
		if got := trimmed.(*pod); got.oddCost != want.oddCost || (got.cost == nil) != (want.cost == nil) {
			t.Errorf("%q: cost %v, odd %v", text, got.cost, got.oddCost)
		}
	}
}

// Without the permission to write nothing is sent, and a flood finds no more room than there is.
func TestWriteCostsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, nil)
		w.view.WriteCosts("ai", []link.CostChange{{ID: "a", Name: "a"}})
		if n := len(w.view.costs.queue); n != 0 {
			t.Errorf("%d writes wait although they are off", n)
		}
		w.view.options.WriteCosts = true
		for range 2 {
			var flood []link.CostChange
			for i := range 3 * mostCosts {
				flood = append(flood, link.CostChange{ID: string(rune('a' + i)), Name: "p", Cost: link.CostPaid})
			}
			w.view.WriteCosts("ai", flood)
		}
		if n := len(w.view.costs.queue); n != mostCosts {
			t.Errorf("%d writes wait, want %d", n, mostCosts)
		}
	})
}

func offering(name, gpus string) *corev1.Node {
	n := nodeOf(name, nil)
	n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(gpus)
	return n
}

// What pods hold of each node's accelerators is counted pod by pod; nodes without any are left out.
func TestGPUNodes(t *testing.T) {
	objects := func() []runtime.Object {
		return these(
			offering("a", "4"), offering("b", "4"), offering("cpu", "0"),
			podOf("ai", "one", withGPU(1), on("a"), isReady), podOf("ai", "two", withGPU(2), on("a"), isReady),
			podOf("ai", "three", withGPU(1), on("b"), isReady), podOf("ai", "waits", withGPU(1), unschedulable),
		)
	}
	inWorld(t, Options{}, objects, func(w *world) {
		nodes, ok := w.view.GPUNodes()
		if !ok {
			t.Fatal("not known")
		}
		got := link.AssessPacking(nodes)
		if len(got) != 1 || got[0].Nodes != 2 || got[0].Held != 4 || got[0].Fragments != 4 || got[0].Enough != 1 || !got[0].Spreads {
			t.Errorf("%+v", got)
		}
	})
}

// An event about a node is a notice as a taint is, for a while; one about a node of the same name before it, an old one,
// and one that only warns is none.
func TestNoticeByEvent(t *testing.T) {
	event := func(name, reason, node string, at time.Time) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node}, Reason: reason, Message: "told by a handler",
			FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at),
		}
	}
	for name, c := range map[string]struct {
		reason, node string
		ago          time.Duration // of the event
		created      time.Duration // the node before the event; negative is after it
		want         bool
	}{
		"spot interruption":             {"SpotInterruption", "spot-1", 0, time.Hour, true},
		"the queue's":                   {"SQSTermination", "spot-1", time.Minute, time.Hour, true},
		"Karpenter's":                   {"SpotInterrupted", "spot-1", time.Minute, time.Hour, true},
		"a recommendation":              {"RebalanceRecommendation", "spot-1", 0, time.Hour, false},
		"another node":                  {"SpotInterruption", "od-1", 0, time.Hour, false},
		"a node of the name before":     {"SpotInterruption", "spot-1", 5 * time.Minute, -time.Minute, false},
		"the machine stayed after all":  {"SpotInterruption", "spot-1", 15 * time.Minute, time.Hour, false},
		"told in the moment of its end": {"ASGLifecycle", "spot-1", 14 * time.Minute, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, twoNodes, func(w *world) {
				at := time.Now().Add(-c.ago)
				w.changeNode("spot-1", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(at.Add(-c.created)) })
				_, err := w.typed.CoreV1().Events("default").Create(t.Context(), event("e", c.reason, c.node, at), metav1.CreateOptions{})
				w.must(err)
				w.wait(2 * time.Second)
				a := w.replicas()["llm-a"]
				if got := a.Doomed; got.IsZero() == c.want || c.want && !got.Equal(at.Truncate(time.Second)) {
					t.Errorf("doomed since %v, want %v: %v", got, c.want, at)
				}
				select {
				case <-w.view.Noticed():
				default:
					if c.want {
						t.Error("nobody is told of the notice")
					}
				}
				w.wait(toldFor)
				if a := w.replicas()["llm-a"]; !a.Doomed.IsZero() {
					t.Errorf("still doomed since %v by an event", a.Doomed)
				}
			})
		})
	}
}

// A taint and an event about one node are one notice, the earlier one; the event goes on when the taint is withdrawn.
func TestNoticeByEventAndTaint(t *testing.T) {
	inWorld(t, Options{}, twoNodes, func(w *world) {
		at := time.Now()
		_, err := w.typed.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e"},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "spot-1"}, Reason: "SpotInterruption", EventTime: metav1.NewMicroTime(at),
		}, metav1.CreateOptions{})
		w.must(err)
		w.wait(time.Second)
		w.changeNode("spot-1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "aws-node-termination-handler/spot-itn", Effect: corev1.TaintEffectNoSchedule}}
		})
		for range 2 {
			if a := w.replicas()["llm-a"]; !a.Doomed.Equal(at) {
				t.Errorf("doomed since %v, want %v", a.Doomed, at)
			}
			w.changeNode("spot-1", func(n *corev1.Node) { n.Spec.Taints = nil })
		}
	})
}
