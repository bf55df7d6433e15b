package expander_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// threeStages is the usual ladder: the own pool, borrowed spot with a budget of one attempt, on-demand.
func threeStages() *expander.Policy {
	policy := online()
	policy.Workloads[0].Stages = []expander.Stage{
		{Labels: map[string]string{"tier": "own"}},
		{CapacityTypes: []expander.CapacityType{expander.Spot}, Escalate: expander.Escalation{Attempts: 1, FirstSeen: 5 * time.Minute}},
		{CapacityTypes: []expander.CapacityType{expander.OnDemand}},
	}
	return policy
}

// The budget of a later stage counts although the first stage was never tried, because it is full; and while the last
// stage is held after the failure, the first stage is used again at once when it has room.
func TestEveryStageHasItsBudget(t *testing.T) {
	policy := threeStages()
	own := groupOf("own", small, map[string]string{"tier": "own"})
	spotA, spotB := groupOf("spot-a", small, spotLabels()), groupOf("spot-b", small, spotLabels())
	onDemand := groupOf("od", small, onDemandLabels())
	full := []expander.Group{spotA, spotB, onDemand}

	d, history := expander.Select(policy, expander.View{Known: true}, offer([]expander.Pod{gpuPod("p")}, full...), expander.History{}, epoch)
	got := []string{d.Answer[0][:4]}
	view := expander.View{Known: true, Failures: []expander.Failure{{At: epoch.Add(time.Minute), GroupID: d.Answer[0], Class: expander.FailureStock}}}
	for _, step := range []struct {
		at     time.Duration
		pod    string
		groups []expander.Group
	}{
		{70 * time.Second, "p", full},                                              // one attempt failed: on-demand, not the other spot group
		{80 * time.Second, "q", full},                                              // held there for other pods
		{90 * time.Second, "r", []expander.Group{own, spotA, spotB, onDemand}},     // the own pool has room again
		{100 * time.Second, "s", full},                                             // full again, still held
		{4 * time.Minute, "t", full},                                               // no longer held: the spot group that did not fail
		{4*time.Minute + time.Second, "u", []expander.Group{own, spotB, onDemand}}, // the first stage goes first
	} {
		d, history = expander.Select(policy, view, offer([]expander.Pod{gpuPod(step.pod)}, step.groups...), history, epoch.Add(step.at))
		got = append(got, d.Answer[0])
	}
	other := map[string]string{"spot-a": "spot-b", "spot-b": "spot-a"}[view.Failures[0].GroupID]
	if diff := cmp.Diff([]string{"spot", "od", "od", "own", "od", other, "own"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// Waiting uses up the budget of a later stage as well.
func TestWaitingCountsInALaterStage(t *testing.T) {
	policy := threeStages()
	policy.Failures = expander.FailureMemory{}
	groups := []expander.Group{groupOf("spot-a", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	history := expander.History{}
	var got []string
	for _, at := range []time.Duration{0, 2 * time.Minute, 6 * time.Minute} {
		var d expander.Decision
		d, history = expander.Select(policy, expander.View{Known: true}, offer([]expander.Pod{gpuPod("p")}, groups...), history, epoch.Add(at))
		got = append(got, d.Answer[0])
	}
	if diff := cmp.Diff([]string{"spot-a", "spot-a", "od"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
