package expander_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// A node that is only late holds its pool back for the time of a suspicion, does not let the blocks of proven failures
// grow, and does not use up the budget of a stage.
func TestLateNodeIsASuspicion(t *testing.T) {
	policy := online()
	policy.Failures.Suspected = 5 * time.Minute
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	late := expander.Failure{At: epoch.Add(4 * time.Minute), GroupID: "spot", Class: expander.FailureOther, Suspected: true}
	view := expander.View{Known: true}
	_, history := expander.Select(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...), expander.History{}, epoch)
	view.Failures = []expander.Failure{late}
	var got []string
	for _, at := range []time.Duration{5 * time.Minute, 8 * time.Minute, 10 * time.Minute} {
		d, next := expander.Select(policy, view, offer([]expander.Pod{gpuPod("b" + at.String())}, groups...), history, epoch.Add(at))
		got, history = append(got, d.Answer[0]), next
	}
	if diff := cmp.Diff([]string{"od", "od", "spot"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f := history.Groups["spot"].Failures; len(f) != 1 || f[0].Proven {
		t.Errorf("recorded failures %+v, want one suspicion", f)
	}
	if history.Choices[0].Failed {
		t.Error("the choice counts as failed although its nodes may still come")
	}
}

// Pods that a stranger invents, and sends again and again as if no node had come for them, hold a group back for the time
// of a suspicion where nothing else is known; where there is a view of the cluster they prove nothing.
func TestInventedPodsProveNothing(t *testing.T) {
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	for _, known := range []bool{true, false} {
		history := expander.History{}
		at := time.Duration(0)
		for ; at <= 2*time.Hour; at += 10 * time.Second {
			_, history = expander.Select(online(), expander.View{Known: known}, offer([]expander.Pod{gpuPod("invented")}, groups...), history, epoch.Add(at))
		}
		longest := time.Duration(0)
		d, _ := expander.Select(online(), expander.View{Known: known}, offer([]expander.Pod{gpuPod("real")}, groups...), history, epoch.Add(at))
		for _, f := range d.Failures {
			if f.Proven {
				t.Errorf("view %v: %+v is proven", known, f)
			}
			longest = max(longest, f.Until.Sub(epoch.Add(at)))
		}
		if known && longest > 0 || longest > online().Failures.Suspected {
			t.Errorf("view %v: groups are held back for %v by %+v", known, longest, d.Failures)
		}
	}
}
