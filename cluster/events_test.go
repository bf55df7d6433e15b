package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/warmpool/warmpool/expander"
)

// Events about failed scale-ups name a group and an error; repeated ones count at both ends, others not at all.
func TestFailureEvents(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 3, 4, 10, minute, 0, 0, time.UTC)) }
	event := func(name, reason, message string, first, last int) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Name: "cluster-autoscaler-status"},
			FirstTimestamp: at(first), LastTimestamp: at(last),
		}
	}
	newForm := event("d", "FailedToScaleUpGroup", "Scale-up failed for group gke-d: googleapi: Error 403: Quota 'NVIDIA_L4_GPUS' exceeded", 0, 0)
	newForm.FirstTimestamp, newForm.LastTimestamp = metav1.Time{}, metav1.Time{}
	newForm.EventTime = metav1.NewMicroTime(at(9).Time)
	inWorld(t, Options{}, func() []runtime.Object {
		return these(
			event("a", "ScaleUpFailed", "Failed adding 2 nodes (2 unseen previously) to group spot-a due to OutOfResourcesErrorClass.RESOURCE_POOL_EXHAUSTED; source errCode=...", 1, 1),
			event("b", "ScaleUpTimedOut", "Nodes added to group spot-b failed to register within 15m0.5s", 2, 7),
			event("c", "ScaleUpFailed", "Failed adding 1 nodes (1 unseen previously) to group https://example.com/zones/a/c-grp due to OutOfResourcesErrorClass.QUOTA_EXCEEDED", 3, 3),
			newForm,
			event("e", "ScaledUpGroup", "Scale-up: group spot-a size set to 3", 4, 4),
			event("f", "ScaleUpFailed", "something else", 5, 5),
		)
	}, func(w *world) {
		want := []expander.Failure{
			{At: at(1).Time, GroupID: "spot-a", Class: expander.FailureStock, Reason: "ScaleUpFailed"},
			{At: at(2).Time, GroupID: "spot-b", Class: expander.FailureOther, Reason: "ScaleUpTimedOut"},
			{At: at(3).Time, GroupID: "https://example.com/zones/a/c-grp", Class: expander.FailureQuota, Reason: "ScaleUpFailed"},
			{At: at(7).Time, GroupID: "spot-b", Class: expander.FailureOther, Reason: "ScaleUpTimedOut"},
			{At: at(9).Time, GroupID: "gke-d", Class: expander.FailureQuota, Reason: "FailedToScaleUpGroup"},
		}
		if diff := cmp.Diff(want, w.view.ExpanderView(time.Now()).Failures); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
