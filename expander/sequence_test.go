package expander_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

// Spot stock-out, the other spot group, on-demand within the budget, and back to spot after recovery.
func TestStockOutAndReturn(t *testing.T) {
	for _, view := range []bool{true, false} {
		s := &server{policy: online()}
		a := &autoscaler{ask: s.ask, view: view, groups: []*simGroup{
			{id: "spot-a", capacity: "spot", nodes: 0, available: outBetween(0, 20*time.Minute), class: expander.FailureStock},
			{id: "spot-b", capacity: "spot", nodes: 3, available: outBetween(0, 20*time.Minute), class: expander.FailureStock},
			{id: "od", capacity: "on-demand", available: always},
		}}
		a.run(time.Hour, func(at time.Duration) []string {
			switch at {
			case 0:
				return []string{"first"}
			case 30 * time.Minute:
				return []string{"second"}
			case 40 * time.Minute:
				return []string{"third"}
			}
			return nil
		})
		if len(a.log) != 5 {
			t.Fatalf("view %t: choices %v, want five", view, a.log)
		}
		if a.log[0].group == a.log[1].group || a.log[0].group == "od" || a.log[1].group == "od" || a.log[2].group != "od" {
			t.Errorf("view %t: the first pod went to %v, want both spot groups, then on-demand", view, groupsOf(a.log[:3]))
		}
		if a.log[2].at > 3*time.Minute {
			t.Errorf("view %t: on-demand at %s, want within the budget of 3m", view, a.log[2].at)
		}
		if a.log[3].group == "od" || a.log[4].group == "od" {
			t.Errorf("view %t: after recovery the choice was %v, want spot", view, groupsOf(a.log[3:]))
		}
	}
}

// A quota error blocks the whole quota group, and for longer than a stock-out.
func TestQuotaBlocksLonger(t *testing.T) {
	returned := map[expander.FailureClass]time.Duration{}
	for _, class := range []expander.FailureClass{expander.FailureStock, expander.FailureQuota} {
		s := &server{policy: online()}
		a := &autoscaler{ask: s.ask, view: true, groups: []*simGroup{
			{id: "spot-a", capacity: "spot", available: outBetween(0, 5*time.Minute), class: class},
			{id: "od", capacity: "on-demand", available: always},
		}}
		a.run(4*time.Hour, every(5*time.Minute))
		for _, step := range a.log[1:] {
			if step.group == "spot-a" {
				returned[class] = step.at
				break
			}
		}
	}
	if returned[expander.FailureStock] > 20*time.Minute || returned[expander.FailureQuota] < 2*time.Hour {
		t.Errorf("back to spot after %v", returned)
	}
}

// Two spot groups that never deliver must not be tried in turn: each is tried once per block, and on-demand takes
// the pods meanwhile.
func TestNothingCycles(t *testing.T) {
	for _, view := range []bool{true, false} {
		policy := online()
		policy.Failures.SingleGPU, policy.Failures.Factor = 10*time.Minute, 2
		s := &server{policy: policy}
		a := &autoscaler{ask: s.ask, view: view, groups: []*simGroup{
			{id: "spot-a", capacity: "spot", available: never, class: expander.FailureOther},
			{id: "spot-b", capacity: "spot", available: never, class: expander.FailureOther},
			{id: "od", capacity: "on-demand", available: always},
		}}
		a.run(45*time.Minute, every(40*time.Second))
		// A failure takes a minute to show, so each probe may be two choices; probes are blocks apart.
		for _, id := range []string{"spot-a", "spot-b"} {
			var probes []time.Duration
			for _, step := range a.log {
				if n := len(probes); step.group == id && (n == 0 || step.at-probes[n-1] > 2*time.Minute) {
					probes = append(probes, step.at)
				}
			}
			if limit := map[bool]int{true: 3, false: 4}[view]; len(probes) > limit {
				t.Errorf("view %t: %s without capacity probed at %v, want at most %d times", view, id, probes, limit)
			}
			for i := 1; i < len(probes); i++ {
				if gap := probes[i] - probes[i-1]; gap < 10*time.Minute {
					t.Errorf("view %t: %s probed again after %s, inside its block", view, id, gap)
				}
			}
		}
		if od := counts(a.log)["od"]; od < len(a.log)*3/4 {
			t.Errorf("view %t: only %d of %d choices are on-demand", view, od, len(a.log))
		}
	}
}

// While the server is down the Cluster Autoscaler goes on alone, here with the on-demand group that the server would
// have chosen as well. Afterwards everything is as if the server had always been there: blocks neither end early nor
// begin again, and nothing is tried twice.
func TestOutageChangesNothingAfterwards(t *testing.T) {
	policy := online()
	policy.Failures.SingleGPU = time.Hour
	run := func(down bool) []step {
		s := &server{policy: policy}
		ask := func(a *autoscaler, view expander.View, req expander.Request) []string {
			if down && a.now >= 20*time.Minute && a.now < 23*time.Minute {
				return nil
			}
			if down && a.now == 23*time.Minute { // the new process reads what the old one stored
				s = &server{policy: s.policy, history: throughJSON(t, s.history)}
			}
			return s.ask(a, view, req)
		}
		a := &autoscaler{ask: ask, view: true, groups: []*simGroup{
			{id: "od", capacity: "on-demand", available: always},
			{id: "spot-a", capacity: "spot", available: outBetween(10*time.Minute, 40*time.Minute), class: expander.FailureStock},
			{id: "spot-b", capacity: "spot", available: outBetween(8*time.Minute, 90*time.Minute), class: expander.FailureStock},
		}}
		a.run(2*time.Hour, every(150*time.Second))
		var after []step
		for _, step := range a.log {
			if step.at >= 24*time.Minute {
				after = append(after, step)
			}
		}
		return after
	}
	if diff := cmp.Diff(run(false), run(true), cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("choices after an outage of 3 minutes (-without +with):\n%s", diff)
	}
}

// Two instances asked in turn, which exchange their histories, choose what one instance would.
func TestTwoInstancesAnswerAlike(t *testing.T) {
	groups := func() []*simGroup {
		return []*simGroup{
			{id: "spot-a", capacity: "spot", available: outBetween(5*time.Minute, 50*time.Minute), class: expander.FailureStock},
			{id: "spot-b", capacity: "spot", available: outBetween(9*time.Minute, 30*time.Minute), class: expander.FailureQuota},
			{id: "od", capacity: "on-demand", available: always},
		}
	}
	for _, view := range []bool{true, false} {
		one := &server{policy: online()}
		single := &autoscaler{ask: one.ask, view: view, groups: groups()}
		single.run(2*time.Hour, every(70*time.Second))

		pair, turn := [2]*server{{policy: online()}, {policy: online()}}, 0
		both := &autoscaler{view: view, groups: groups(), ask: func(a *autoscaler, v expander.View, req expander.Request) []string {
			asked, other := pair[turn%2], pair[(turn+1)%2]
			turn++
			asked.history = expander.MergeHistory(asked.history, throughJSON(t, other.history))
			return asked.ask(a, v, req)
		}}
		both.run(2*time.Hour, every(70*time.Second))
		if diff := cmp.Diff(single.log, both.log, cmp.AllowUnexported(step{})); diff != "" {
			t.Errorf("view %t: choices (-one instance +two):\n%s", view, diff)
		}
	}
}

// After the history was lost a pod is taken to have waited one stage budget, but it needs an attempt all the same.
func TestRestartWithoutHistory(t *testing.T) {
	policy := online()
	policy.Workloads[0].Stages[0].Escalate = expander.Escalation{FirstSeen: 20 * time.Minute}
	policy.Failures = expander.FailureMemory{}
	a := &autoscaler{groups: []*simGroup{
		{id: "spot-a", capacity: "spot", available: always},
		{id: "od", capacity: "on-demand", available: always},
	}}
	req := requestOf(a, "old")
	history := expander.LostHistory(epoch)
	var got []string
	for _, at := range []time.Duration{20 * time.Second, 5 * time.Minute} {
		var d expander.Decision
		d, history = expander.Select(policy, expander.View{}, req, history, epoch.Add(at))
		got = append(got, d.Answer...)
	}
	if diff := cmp.Diff([]string{"spot-a", "od"}, got); diff != "" {
		t.Errorf("a pod that may have waited for long (-want +got):\n%s", diff)
	}
	// A pod that appears later was not waiting when the history was lost.
	late := requestOf(a, "late")
	got = nil
	for _, at := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		var d expander.Decision
		d, history = expander.Select(policy, expander.View{}, late, history, epoch.Add(at))
		got = append(got, d.Answer...)
	}
	if diff := cmp.Diff([]string{"spot-a", "spot-a"}, got); diff != "" {
		t.Errorf("a pod that came later (-want +got):\n%s", diff)
	}
}

// requestOf is what the autoscaler would ask for one pod.
func requestOf(a *autoscaler, uid string) expander.Request {
	var req expander.Request
	ask := func(_ *autoscaler, _ expander.View, r expander.Request) []string { req = r; return []string{} }
	probe := &autoscaler{groups: a.groups, ask: ask, pending: []string{uid}}
	probe.scaleUp()
	return req
}

func throughJSON(t testing.TB, h expander.History) expander.History {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back expander.History
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
