package expander_test

import (
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// A choice is the same attempt as one before it for less than half a minute, if it is for more than half of its pods and
// the earlier one has not failed.
func TestRepeatedChoice(t *testing.T) {
	groups := []expander.Group{groupOf("only", large, nil)}
	pods := func(uids ...string) (list []expander.Pod) {
		for _, uid := range uids {
			list = append(list, gpuPod(uid))
		}
		return list
	}
	for _, test := range []struct {
		name    string
		after   time.Duration
		pods    []expander.Pod
		failed  bool
		choices int
	}{
		{"the same pods, a moment before", 30*time.Second - time.Millisecond, pods("a", "b"), false, 1},
		{"the same pods, half a minute later", 30 * time.Second, pods("a", "b"), false, 2},
		{"most of the pods", time.Second, pods("a", "b", "c"), false, 1},
		{"half of the pods", time.Second, pods("a", "c"), false, 2},
		{"other pods", time.Second, pods("c", "d"), false, 2},
		{"after a failure", time.Second, pods("a", "b"), true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			policy := active()
			_, history := expander.Select(policy, expander.View{}, offer(pods("a", "b"), groups...), expander.History{}, epoch)
			if len(history.Choices) != 1 {
				t.Fatalf("choices %+v", history.Choices)
			}
			history.Choices[0].Failed = test.failed
			d, history := expander.Select(policy, expander.View{}, offer(test.pods, groups...), history, epoch.Add(test.after))
			if len(history.Choices) != test.choices {
				t.Errorf("%s: choices %+v, want %d", d.Outcome, history.Choices, test.choices)
			}
		})
	}
}

// Reports of failures less than five minutes apart are about one, those further apart about two.
func TestFailuresOfOneGroupAreFiveMinutesApart(t *testing.T) {
	for apart, want := range map[time.Duration]int{0: 1, 5*time.Minute - time.Millisecond: 1, 5 * time.Minute: 2} {
		failed := func(at time.Time) expander.History {
			return expander.History{Version: expander.HistoryVersion, Groups: map[string]expander.GroupHistory{
				"g": {Failures: []expander.FailureRecord{{At: at, Class: expander.FailureStock, Proven: true}}},
			}}
		}
		merged := expander.MergeHistory(failed(epoch), failed(epoch.Add(apart)))
		if failures := merged.Groups["g"].Failures; len(failures) != want {
			t.Errorf("%s apart: %+v, want %d", apart, failures, want)
		}
	}
}
