package expander_test

import (
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// What is told between requests is what the next request decides by.
func TestHeldBackIsWhatTheNextRequestSays(t *testing.T) {
	policy := online()
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	view := expander.View{Known: true, Failures: []expander.Failure{{At: epoch, GroupID: "spot", Class: expander.FailureStock}}}
	d, history := expander.Select(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...), expander.History{}, epoch.Add(time.Minute))
	workload := d.Workloads[0].Name
	held := expander.HeldBack(policy, history, workload, groups, epoch.Add(time.Minute))
	if len(held) != 1 || len(d.Failures) != 1 || held[0] != d.Failures[0] {
		t.Errorf("held back %+v, the decision says %+v", held, d.Failures)
	}
	if held = expander.HeldBack(policy, history, workload, groups, epoch.Add(25*time.Hour)); len(held) > 0 {
		t.Errorf("%+v are held back a day later", held)
	}
	for id, want := range map[string]int{"spot": 1, "od": 2} {
		for i := range groups {
			if got := policy.StageOf(workload, &groups[i]); groups[i].ID == id && got != want {
				t.Errorf("%s is in stage %d, want %d", id, got, want)
			}
		}
	}
	if got := policy.StageOf("nobody", &groups[0]); got != 0 {
		t.Errorf("stage %d of a workload that does not exist", got)
	}
}
