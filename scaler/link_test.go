package scaler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// linked is a service of one slot per replica with a long window and small steps down: a replacement that these held
// would still be there much later.
func linked() Policy {
	policy := slotPolicy(1, 40)
	policy.ScaleDown = ScaleDown{Window: 10 * time.Minute, MaxStep: 0.1, Period: 5 * time.Minute}
	policy.Startup = StartupRule{Prior: 5 * time.Minute}
	return policy
}

// The life of a notice: at once one more, for as long as the doomed replica counts, and back as soon as it is gone; the
// window and the steps hold nothing of it, so that the replacement is ordered once.
func TestNoticeIsReplacedOnce(t *testing.T) {
	policy, state := linked(), State{}
	step := func(after time.Duration, want int, pods Pods, link *Link) Decision {
		t.Helper()
		now := caseStart.Add(after)
		in := slotInputs(8, pods.Ready+len(pods.Starting)+pods.Doomed)
		in.Signals[Running][0].At = now
		in.Pods, in.Link = pods, link
		var d Decision
		if d, state = Evaluate(policy, state, in, now); d.Replicas != want {
			t.Fatalf("after %v: %d replicas, want %d: %s", after, d.Replicas, want, d.Text)
		}
		return d
	}
	step(0, 8, Pods{Known: true, Ready: 8}, &Link{})
	d := step(15*time.Second, 9, Pods{Known: true, Ready: 7, Doomed: 1, DoomedServing: 1}, &Link{Replace: 1})
	if d.Ready != 7 || d.Doomed != 1 || d.Replacing != 1 || !slices.Contains(d.Reasons, ReasonDoomed) {
		t.Errorf("at the notice: %+v", d)
	}
	starting := []time.Duration{15 * time.Second}
	step(30*time.Second, 9, Pods{Known: true, Ready: 7, Starting: starting, Doomed: 1, DoomedServing: 1}, &Link{Replace: 1})
	step(2*time.Minute, 8, Pods{Known: true, Ready: 7, Starting: starting}, &Link{})
	if state.N != 8 {
		t.Errorf("the state goes on from %d, want 8", state.N)
	}
}

// A late node is missing until as many serve as are needed, and never more than the stuck surge makes of it anyway.
func TestLateNodeIsMissing(t *testing.T) {
	policy := linked()
	eval := func(ready int, ages []time.Duration, missing int) Decision {
		in := slotInputs(20, ready+len(ages))
		in.Pods, in.Link = Pods{Known: true, Ready: ready, Starting: ages}, &Link{Missing: missing}
		d, _ := Evaluate(policy, State{N: 20, Valid: true}, in, caseStart)
		return d
	}
	young, old := []time.Duration{4 * time.Minute}, []time.Duration{7 * time.Minute}
	for _, c := range []struct {
		name          string
		ready         int
		ages          []time.Duration
		missing, want int
	}{
		{"one late", 19, young, 1, 21},
		{"its replacement serves", 20, young, 1, 20},
		{"late and stuck is one thing", 19, old, 1, 21},
		{"two late, one stuck", 18, append(young, old...), 2, 22},
	} {
		if d := eval(c.ready, c.ages, c.missing); d.Replicas != c.want {
			t.Errorf("%s: %d replicas, want %d: %s", c.name, d.Replicas, c.want, d.Text)
		}
	}
}

func TestCeilingWithoutSupply(t *testing.T) {
	policy := linked()
	in := slotInputs(30, 10)
	in.Pods = Pods{Known: true, Ready: 10}
	in.Link = &Link{Ceiling: 11, Text: "no capacity until about 12:40 UTC; spot is left alone until 12:40 UTC: STOCK"}
	d, state := Evaluate(policy, State{N: 10, Valid: true}, in, caseStart)
	if d.Replicas != 11 || d.Limited != limitedSupply || d.Need != 30 || !strings.Contains(d.Text, "no capacity until about 12:40 UTC") {
		t.Errorf("%d replicas limited by %q: %s", d.Replicas, d.Limited, d.Text)
	}
	in.Link = nil
	in.Signals[Running][0].At = caseStart.Add(15 * time.Second)
	if d, _ = Evaluate(policy, state, in, caseStart.Add(15*time.Second)); d.Replicas != 30 {
		t.Errorf("%d replicas when there is supply again, want the need of 30", d.Replicas)
	}
	policy.Override = &Override{Min: new(25), Reason: "launch"}
	in.Link = &Link{Ceiling: 11}
	if d, _ = Evaluate(policy, state, in, caseStart.Add(30*time.Second)); d.Replicas != 25 {
		t.Errorf("%d replicas, want the minimum that an operator asked for", d.Replicas)
	}
}

// The nodes change the answer only: the state is the same with and without them, and what they add is bounded.
func TestLinkLeavesTheStateAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		state, now := drawRun(t, policy, rapid.IntRange(0, 10).Draw(t, "steps"))
		in := drawInputs(t, policy, now)
		plain, without := Evaluate(policy, state, in, now)
		in.Link = &Link{
			Replace: rapid.IntRange(0, 5).Draw(t, "replace"), Missing: rapid.IntRange(0, 5).Draw(t, "missing"),
			Ceiling: rapid.SampledFrom([]int{0, 0, 1, 5, 50}).Draw(t, "ceiling"),
		}
		d, with := Evaluate(policy, state, in, now)
		if encode(t, without) != encode(t, with) {
			t.Fatalf("the state differs:\n%s\n%s", encode(t, without), encode(t, with))
		}
		switch {
		case d.Unavailable != "" || d.Frozen != "":
			if d.Replicas != plain.Replicas {
				t.Fatalf("%d became %d although nothing may change", plain.Replicas, d.Replicas)
			}
		case d.Replicas > max(plain.Replicas+in.Link.Replace+in.Link.Missing, 0) || d.Replicas > max(d.Max, plain.Replicas):
			t.Fatalf("%d became %d with %+v", plain.Replicas, d.Replicas, *in.Link)
		case in.Link.Ceiling == 0 && d.Replicas < plain.Replicas, d.Replicas < min(plain.Replicas, max(in.Link.Ceiling, d.Min)):
			t.Fatalf("%d fell to %d with %+v", plain.Replicas, d.Replicas, *in.Link)
		}
	})
}
