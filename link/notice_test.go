package link

import (
	"testing"
	"time"
)

func TestReadNotices(t *testing.T) {
	at := noon.Add(-20 * time.Second)
	for _, c := range []struct {
		name  string
		marks []Mark
		until time.Time
		none  bool
	}{
		{"no mark", nil, time.Time{}, true},
		{"spot interruption", []Mark{{Taint, "aws-node-termination-handler/spot-itn", "spot-itn-4f1b", at}}, at.Add(2 * time.Minute), false},
		{"rebalance recommendation is no notice", []Mark{{Taint, "aws-node-termination-handler/rebalance-recommendation", "x", at}}, time.Time{}, true},
		{"taint without a time counts from now", []Mark{{Taint, "cloud.google.com/impending-node-termination", "", time.Time{}}}, noon.Add(30 * time.Second), false},
		{"Azure drains for an eviction", []Mark{{Taint, "cloudprovider.azure.microsoft.com/draining", "spot-eviction", at}}, at.Add(30 * time.Second), false},
		{"Azure drains for something else", []Mark{{Taint, "cloudprovider.azure.microsoft.com/draining", "maintenance", at}}, time.Time{}, true},
		{"a frozen machine comes back", []Mark{{Condition, "VMEventScheduled", "Freeze Scheduled: Mon", at}}, time.Time{}, true},
		{"a preempted one does not", []Mark{{Condition, "VMEventScheduled", "Preempt Scheduled: Mon", at}}, at.Add(30 * time.Second), false},
		{"Karpenter consolidates", []Mark{{Taint, "karpenter.sh/disrupted", "", at}}, time.Time{}, true},
		{"the autoscaler empties", []Mark{{Taint, "ToBeDeletedByClusterAutoscaler", "17", at}}, time.Time{}, true},
		{"a condition by the name of a taint", []Mark{{Condition, "aws-node-termination-handler/spot-itn", "", at}}, time.Time{}, true},
	} {
		got, ok := ReadNotices(c.marks, noon)
		if ok == c.none || !got.Until.Equal(c.until) {
			t.Errorf("%s: %+v, %v; want until %v", c.name, got, ok, c.until)
		}
	}
}

func TestEarliestNoticeCounts(t *testing.T) {
	early, late := noon.Add(-time.Minute), noon.Add(-time.Second)
	got, _ := ReadNotices([]Mark{
		{Taint, "aws-node-termination-handler/spot-itn", "", late}, {Condition, "PreemptScheduled", "", early},
	}, noon)
	if !got.At.Equal(early) || got.Source == "" {
		t.Errorf("%+v, want the notice of %v with its source", got, early)
	}
}

func TestEverySignHasASource(t *testing.T) {
	for _, s := range Signs {
		if s.Source == "" || s.Name == "" {
			t.Errorf("%+v: name and source are needed", s)
		}
	}
}

// From the notice to the end of the pod a replica is doomed, and never after: its controller replaces it then.
func TestWatchCountsUntilThePodIsGone(t *testing.T) {
	a, b := replica("a", Spot), replica("b", Spot)
	if d := Watch([]Replica{a, b}); d.Replicas != 0 {
		t.Errorf("without notice: %+v", d)
	}
	a.Doomed = noon
	if d := Watch([]Replica{a, b}); d.Replicas != 1 || d.Serving != 1 || !d.First.Equal(noon) {
		t.Errorf("at the notice: %+v", d)
	}
	a.Ready = false
	if d := Watch([]Replica{a, b}); d.Replicas != 1 || d.Serving != 0 {
		t.Errorf("when it stops to serve: %+v", d)
	}
	if d := Watch([]Replica{b, replica("c", OnDemand)}); d.Replicas != 0 {
		t.Errorf("when it is gone and replaced: %+v", d)
	}
}
