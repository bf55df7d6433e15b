package expander_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// After a failure the later stage is kept for as long as choices stick: fresh pods a few seconds later do not go back.
func TestReturnToSpotHasHysteresis(t *testing.T) {
	policy := online()
	policy.Workloads[0].Stages[0].Escalate = expander.Escalation{Attempts: 1}
	groups := []expander.Group{groupOf("spot-a", small, spotLabels()), groupOf("spot-b", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	first := offer([]expander.Pod{gpuPod("old")}, groups...)
	d, history := expander.Select(policy, expander.View{Known: true}, first, expander.History{}, epoch)
	failed := expander.View{Known: true, Failures: []expander.Failure{{At: epoch.Add(time.Minute), GroupID: d.Answer[0], Class: expander.FailureStock}}}
	d, history = expander.Select(policy, failed, first, history, epoch.Add(70*time.Second))
	if !slices.Equal(d.Answer, []string{"od"}) {
		t.Fatalf("after the failed attempt %v, want od", d.Answer)
	}
	var got []string
	for _, at := range []time.Duration{80 * time.Second, 3 * time.Minute, 3*time.Minute + 10*time.Second} {
		d, history = expander.Select(policy, failed, offer([]expander.Pod{gpuPod("new" + at.String())}, groups...), history, epoch.Add(at))
		got = append(got, d.Answer[0][:2])
	}
	if diff := cmp.Diff([]string{"od", "od", "sp"}, got); diff != "" {
		t.Errorf("fresh pods after the escalation (-want +got):\n%s", diff)
	}
}

// Blocks grow with every failure, and a choice that delivered resets them.
func TestMemoryGrowsAndDeliveryResets(t *testing.T) {
	policy := online()
	policy.Failures.Factor = 2
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	var history expander.History
	var failures []expander.Failure
	registered := 3
	ask := func(at time.Duration, uid string) string {
		seen := expander.UnknownGroup()
		seen.Registered, seen.Target = registered, registered
		view := expander.View{Known: true, Failures: failures, Groups: map[string]expander.GroupView{"spot": seen}}
		var d expander.Decision
		d, history = expander.Select(policy, view, offer([]expander.Pod{gpuPod(uid)}, groups...), history, epoch.Add(at))
		return d.Answer[0]
	}
	fail := func(at time.Duration) {
		failures = append(failures, expander.Failure{At: epoch.Add(at), GroupID: "spot", Class: expander.FailureStock})
	}
	var got []string
	got = append(got, ask(0, "a"))
	fail(time.Minute)
	got = append(got, ask(10*time.Minute, "b"), ask(12*time.Minute, "c")) // blocked to 11m
	fail(13 * time.Minute)
	got = append(got, ask(25*time.Minute, "d"), ask(34*time.Minute, "e")) // 20 minutes, to 33m
	registered = 4
	got = append(got, ask(40*time.Minute, "f")) // the choice at 34m delivered
	fail(50 * time.Minute)
	got = append(got, ask(59*time.Minute, "g"), ask(61*time.Minute, "h")) // again the first failure: to 60m
	if diff := cmp.Diff([]string{"spot", "od", "spot", "od", "spot", "spot", "od", "spot"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A target that is still above the registered count after the provision time is a proven failure.
func TestTimeOutIsProof(t *testing.T) {
	policy := online()
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	seen := expander.UnknownGroup()
	seen.Registered, seen.Target = 2, 2
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{"spot": seen}}
	_, history := expander.Select(policy, view, offer([]expander.Pod{gpuPod("a")}, groups...), expander.History{}, epoch)
	seen.Target = 3
	view.Groups = map[string]expander.GroupView{"spot": seen}
	early, _ := expander.Select(policy, view, offer([]expander.Pod{gpuPod("b")}, groups...), history, epoch.Add(14*time.Minute))
	late, _ := expander.Select(policy, view, offer([]expander.Pod{gpuPod("c")}, groups...), history, epoch.Add(16*time.Minute))
	if !slices.Equal(early.Answer, []string{"spot"}) || !slices.Equal(late.Answer, []string{"od"}) {
		t.Errorf("after 14 minutes %v, after 16 %v", early.Answer, late.Answer)
	}
	if len(late.Failures) != 1 || !late.Failures[0].Proven || !late.Failures[0].Until.Equal(epoch.Add(25*time.Minute)) {
		t.Errorf("failures %+v, want one proven until 25m", late.Failures)
	}
}

// The same backoff seen in every request is one failure, and the event of it is the same one.
func TestOneFailureIsCountedOnce(t *testing.T) {
	policy := online()
	policy.Failures.Factor = 2
	var history expander.History
	var d expander.Decision
	for at := time.Minute; at <= 8*time.Minute; at += 10 * time.Second {
		seen := expander.UnknownGroup()
		seen.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: epoch.Add(time.Minute)}
		view := expander.View{
			Known: true, Groups: map[string]expander.GroupView{"spot": seen},
			Failures: []expander.Failure{{At: epoch.Add(58 * time.Second), GroupID: "spot", Class: expander.FailureOther}},
		}
		req := offer([]expander.Pod{gpuPod("p" + at.String())}, groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels()))
		req.Options = req.Options[1:]
		d, history = expander.Select(policy, view, req, history, epoch.Add(at))
	}
	want := []expander.FailureState{{GroupID: "spot", Class: expander.FailureStock, Proven: true, Failures: 1, Until: epoch.Add(58*time.Second + 10*time.Minute)}}
	if diff := cmp.Diff(want, d.Failures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A stage whose budget is used up is taken all the same when no later one has an option.
func TestUsedUpStageIsTheLastResort(t *testing.T) {
	policy := online()
	policy.Workloads[0].Stages[0].Escalate = expander.Escalation{Attempts: 1}
	policy.Failures.SingleGPU = time.Minute
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("spot", small, spotLabels()))
	_, history := expander.Select(policy, expander.View{Known: true}, req, expander.History{}, epoch)
	view := expander.View{Known: true, Failures: []expander.Failure{{At: epoch.Add(time.Minute), GroupID: "spot"}}}
	d, _ := expander.Select(policy, view, req, history, epoch.Add(5*time.Minute))
	if !slices.Equal(d.Answer, []string{"spot"}) || d.Workloads[0].Stage != 1 || d.Workloads[0].StageReason != expander.StageRelaxed {
		t.Errorf("answer %v, workload %+v", d.Answer, d.Workloads[0])
	}
}

// A backoff without a time is one failure for as long as it can last, and a new one after another choice.
func TestBackoffWithoutTime(t *testing.T) {
	policy := online()
	policy.Failures.Factor = 2
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	var history expander.History
	failures := func(at time.Duration, backoff bool) int {
		seen := expander.UnknownGroup()
		if backoff {
			seen.Backoff = &expander.Backoff{Class: expander.FailureOther}
		}
		view := expander.View{Known: true, Groups: map[string]expander.GroupView{"spot": seen}}
		req := offer([]expander.Pod{gpuPod("p" + at.String())}, groups...)
		if backoff {
			req.Options = req.Options[1:]
		}
		_, history = expander.Select(policy, view, req, history, epoch.Add(at))
		return len(history.Groups["spot"].Failures)
	}
	var got []int
	for _, at := range []time.Duration{0, 6 * time.Minute, 20 * time.Minute} { // the backoff of 20 minutes goes on
		got = append(got, failures(at, true))
	}
	got = append(got, failures(25*time.Minute, false), failures(27*time.Minute, true)) // chosen, and failed again
	if diff := cmp.Diff([]int{1, 1, 1, 1, 2}, got); diff != "" {
		t.Errorf("failures counted (-want +got):\n%s", diff)
	}
}

// Without a view a single pod of nine that comes back says nothing about the group; most of them do.
func TestSuspicionNeedsMostPods(t *testing.T) {
	policy := online()
	groups := []expander.Group{groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels())}
	var pods []expander.Pod
	for _, uid := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		pods = append(pods, gpuPod(uid))
	}
	_, history := expander.Select(policy, expander.View{}, offer(pods, groups...), expander.History{}, epoch)
	for back, want := range map[int]string{1: "spot", 4: "spot", 5: "od"} {
		d, _ := expander.Select(policy, expander.View{}, offer(pods[:back], groups...), history, epoch.Add(2*time.Minute+30*time.Second))
		if !slices.Equal(d.Answer, []string{want}) {
			t.Errorf("%d of 9 pods are back: %v, want %s", back, d.Answer, want)
		}
	}
}

// A choice that has failed no longer sticks, even where the memory is off.
func TestFailedChoiceDoesNotStick(t *testing.T) {
	policy := online()
	policy.Failures = expander.FailureMemory{StickFor: 10 * time.Minute}
	policy.Workloads[0].Stages[0].Escalate = expander.Escalation{Attempts: 1}
	req := offer([]expander.Pod{gpuPod("a")}, groupOf("spot", small, spotLabels()), groupOf("od", small, onDemandLabels()))
	_, history := expander.Select(policy, expander.View{Known: true}, req, expander.History{}, epoch)
	view := expander.View{Known: true, Failures: []expander.Failure{{At: epoch.Add(time.Minute), GroupID: "spot"}}}
	if d, _ := expander.Select(policy, view, req, history, epoch.Add(2*time.Minute)); !slices.Equal(d.Answer, []string{"od"}) {
		t.Errorf("answer %v, want od", d.Answer)
	}
}
