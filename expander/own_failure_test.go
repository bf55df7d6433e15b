package expander_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// spotView is what is known of a group of spot nodes.
func spotView(registered, target int) expander.View {
	group := expander.UnknownGroup()
	group.Nodes, group.Registered, group.Target, group.Max = registered, registered, target, 10
	return expander.View{Known: true, Groups: map[string]expander.GroupView{"spot": group}}
}

// The failure that a choice met is remembered, however it is dated: in the same millisecond, in whole seconds, by a clock
// that is behind; and whatever the view showed when the choice was made.
func TestTheFailureOfAChoiceIsKept(t *testing.T) {
	policy := online()
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	chosen := epoch.Add(time.Minute + 700*time.Millisecond + 312*time.Microsecond)
	for _, dated := range []struct {
		name string
		at   time.Time
	}{
		{"in the same millisecond", chosen.Add(200 * time.Microsecond)},
		{"in whole seconds", chosen.Truncate(time.Second)},
		{"by a clock that is behind", chosen.Add(-4 * time.Second)},
		{"a minute later", chosen.Add(time.Minute)},
	} {
		for _, reported := range []string{"backoff", "event"} {
			for _, shown := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s/%s/%d nodes shown", dated.name, reported, shown), func(t *testing.T) {
					_, history := expander.Select(policy, spotView(0, 0), offer([]expander.Pod{gpuPod("first")}, groups...), expander.History{}, epoch)
					// The node of the first choice is there; the view may not show it yet.
					d, history := expander.Select(policy, spotView(shown, shown), offer([]expander.Pod{gpuPod("second")}, groups...), history, chosen)
					if diff := cmp.Diff([]string{"spot"}, d.Answer); diff != "" {
						t.Fatalf("the second choice (-want +got):\n%s", diff)
					}
					view := spotView(1, 1)
					if reported == "backoff" {
						g := view.Groups["spot"]
						g.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: dated.at}
						view.Groups["spot"] = g
					} else {
						view.Failures = []expander.Failure{{At: dated.at, GroupID: "spot", Class: expander.FailureStock, Reason: "ScaleUpFailed"}}
					}
					// It is seen again in every request, and the groups may be offered again.
					for i := range 3 {
						now := chosen.Add(2*time.Minute + time.Duration(i)*10*time.Second)
						d, history = expander.Select(policy, view, offer([]expander.Pod{gpuPod("third")}, groups...), history, now)
						if len(d.Failures) != 1 || d.Failures[0].GroupID != "spot" || !d.Failures[0].Proven || d.Failures[0].Class != expander.FailureStock {
							t.Errorf("request %d: held back %+v, want spot for its proven failure; history %+v", i, d.Failures, history.Groups["spot"])
						}
						if diff := cmp.Diff([]string{"od"}, d.Answer); diff != "" {
							t.Errorf("request %d (-want +got):\n%s", i, diff)
						}
					}
					if standing := history.Groups["spot"].Standing(); len(standing) != 1 {
						t.Errorf("failures that count: %+v", standing)
					}
					for _, c := range history.Choices {
						if c.Group == "spot" && !c.Failed {
							t.Errorf("choice of %v is not known to have failed", c.At)
						}
					}
				})
			}
		}
	}
}

// Nodes count for the choices in their order: those that an earlier choice waits for do not prove a later one.
func TestNodesCountInOrder(t *testing.T) {
	policy := online()
	spot := groupOf("spot", small, spotLabels())
	request := func(uids ...string) expander.Request {
		var pods []expander.Pod
		for _, uid := range uids {
			pods = append(pods, gpuPod(uid))
		}
		return offer(pods, spot)
	}
	for _, test := range []struct {
		registered int
		want       []bool
	}{{0, []bool{false, false}}, {1, []bool{true, false}}, {2, []bool{true, false}}, {3, []bool{true, true}}} {
		_, history := expander.Select(policy, spotView(0, 0), request("a", "b"), expander.History{}, epoch)
		history.Choices[0].Nodes = 2
		_, history = expander.Select(policy, spotView(0, 2), request("c"), history, epoch.Add(time.Minute))
		if len(history.Choices) != 2 {
			t.Fatalf("%d choices", len(history.Choices))
		}
		before := expander.NodesBefore(policy, history)
		if first, second := before[history.Choices[0].ID], before[history.Choices[1].ID]; first != 0 || second != 2 {
			t.Errorf("nodes before the choices: %d and %d, want 0 and 2", first, second)
		}
		var got []bool
		_, history = expander.Select(policy, spotView(test.registered, 3), request("d"), history, epoch.Add(3*time.Minute))
		for _, c := range history.Choices[:2] {
			got = append(got, c.Delivered)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d nodes (-want +got):\n%s", test.registered, diff)
		}
	}
}

// A choice whose nodes never came takes nothing from those after it: a failed one at once, another one when the time to
// wait is over.
func TestNodesOfALostChoiceAreNotWaitedFor(t *testing.T) {
	policy := online()
	spot := groupOf("spot", small, spotLabels())
	_, history := expander.Select(policy, spotView(0, 0), offer([]expander.Pod{gpuPod("a")}, spot), expander.History{}, epoch)
	for _, test := range []struct {
		name   string
		failed bool
		second time.Duration
		want   bool
	}{
		{"still waited for", false, time.Minute, false},
		{"failed", true, 6 * time.Minute, true},
		{"waited for long enough", false, 16 * time.Minute, true},
	} {
		view := spotView(0, 0)
		if test.failed {
			view.Failures = []expander.Failure{{At: epoch.Add(30 * time.Second), GroupID: "spot", Class: expander.FailureStock}}
		}
		_, next := expander.Select(policy, view, offer([]expander.Pod{gpuPod("b")}, spot), history, epoch.Add(test.second))
		_, next = expander.Select(policy, spotView(1, 1), offer([]expander.Pod{gpuPod("c")}, spot), next, epoch.Add(test.second+3*time.Minute))
		if got := next.Choices[1].Delivered; got != test.want {
			t.Errorf("%s: the second choice has brought nodes: %t, want %t", test.name, got, test.want)
		}
	}
}
