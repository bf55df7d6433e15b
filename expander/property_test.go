package expander_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
)

func (in *instance) decide(history expander.History) (expander.Decision, expander.History) {
	return expander.Select(&in.policy, in.view, in.req, history, epoch)
}

func optionIDs(req expander.Request) []string {
	ids := []string{}
	for _, o := range req.Options {
		ids = append(ids, o.GroupID)
	}
	return ids
}

func TestAnswerIsSubsetOfOptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t)
		d, _ := in.decide(expander.History{})
		ids := optionIDs(in.req)
		seen := map[string]bool{}
		for _, id := range d.Answer {
			if !slices.Contains(ids, id) || seen[id] {
				t.Fatalf("answer %v to options %v", d.Answer, ids)
			}
			seen[id] = true
		}
		switch {
		case d.Outcome == expander.Selected && (len(d.Answer) != 1 || !slices.Equal(d.Answer, d.Selected)):
			t.Fatalf("selected %v, answer %v", d.Selected, d.Answer)
		case d.Outcome == expander.Veto && (len(d.Answer) != 0 || !in.policy.VetoSupported):
			t.Fatalf("veto with answer %v, supported: %t", d.Answer, in.policy.VetoSupported)
		case d.Outcome == expander.PassThrough && len(ids) > 0 && len(d.Answer) == 0:
			t.Fatal("an empty answer by accident")
		}
		if len(d.Candidates) != len(ids) {
			t.Fatalf("%d candidates of %d options", len(d.Candidates), len(ids))
		}
	})
}

// shuffled is the same request with options, pods and groups in another order.
func shuffled(t *rapid.T, req expander.Request) expander.Request {
	order := make([]int, len(req.Pods))
	for i := range order {
		order[i] = i
	}
	order = rapid.Permutation(order).Draw(t, "pods")
	pods, at := make([]expander.Pod, len(order)), make([]int, len(order))
	for to, from := range order {
		pods[to], at[from] = req.Pods[from], to
	}
	out := expander.Request{Pods: pods, Groups: rapid.Permutation(req.Groups).Draw(t, "groups")}
	for _, o := range rapid.Permutation(req.Options).Draw(t, "options") {
		var moved []int
		for _, pod := range rapid.Permutation(o.Pods).Draw(t, "pods of option") {
			moved = append(moved, at[pod])
		}
		out.Options = append(out.Options, expander.Option{GroupID: o.GroupID, NodeCount: o.NodeCount, Pods: moved})
	}
	return out
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t)
		var history, other expander.History
		for i := range 3 { // the same again later, so that the history takes part
			now := epoch.Add(time.Duration(i) * 4 * time.Minute)
			var a, b expander.Decision
			a, history = expander.Select(&in.policy, in.view, in.req, history, now)
			b, other = expander.Select(&in.policy, in.view, shuffled(t, in.req), other, now)
			if a.Outcome != b.Outcome || !slices.Equal(a.Selected, b.Selected) || !cmp.Equal(sorted(a.Answer), sorted(b.Answer)) {
				t.Fatalf("%s %v, in another order %s %v", a.Outcome, a.Answer, b.Outcome, b.Answer)
			}
			if diff := cmp.Diff(history, other); diff != "" {
				t.Fatalf("histories differ:\n%s", diff)
			}
		}
	})
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

func TestArgumentsStayAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t)
		_, history := in.decide(expander.History{})
		frozen := func() string {
			data, err := json.Marshal([]any{in.view, in.req, history, in.policy.Workloads, in.policy.Rank})
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		before := frozen()
		first, next := expander.Select(&in.policy, in.view, in.req, history, epoch.Add(time.Minute))
		again, nextAgain := expander.Select(&in.policy, in.view, in.req, history, epoch.Add(time.Minute))
		if diff := cmp.Diff(before, frozen()); diff != "" {
			t.Fatalf("arguments changed:\n%s", diff)
		}
		if diff := cmp.Diff(first, again) + cmp.Diff(next, nextAgain); diff != "" {
			t.Fatalf("the same arguments, another result:\n%s", diff)
		}
	})
}

// pricedInstance has prices everywhere, one workload with all groups, no failures, and all pods in every option, so
// that only the recommended choice decides.
func pricedInstance(t *rapid.T) instance {
	in := drawInstance(t)
	in.view.Failures = nil
	in.policy.Rank, in.policy.CPUPods = nil, expander.CPUPodsAllow
	in.policy.Workloads = []expander.Workload{{Name: "all", Stages: []expander.Stage{{Any: true}}}}
	all := make([]int, len(in.req.Pods))
	for i := range all {
		all[i] = i
		in.req.Pods[i].Claims, in.req.Pods[i].Annotations = 0, nil
	}
	in.req.Options = nil
	for i := range in.req.Groups {
		g := &in.req.Groups[i]
		delete(g.Labels, "nvidia.com/gpu.sharing-strategy")
		if in.policy.Pools[i].HourlyCost == 0 {
			in.policy.Pools[i].HourlyCost = 1
		}
		in.req.Options = append(in.req.Options, expander.Option{GroupID: g.ID, NodeCount: rapid.IntRange(1, 4).Draw(t, "nodes"), Pods: all})
		// Every pod fits every node, so that no option is one that the Cluster Autoscaler would never offer.
		g.Allocatable.Extended = map[string]int64{"nvidia.com/gpu": max(2, g.Allocatable.Extended["nvidia.com/gpu"])}
		g.Capacity = g.Allocatable
	}
	return in
}

// A dearer copy of any option, with more nodes for the same pods, never changes the winner.
func TestWorseOptionNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := pricedInstance(t)
		before, _ := in.decide(expander.History{})
		i := rapid.IntRange(0, len(in.req.Groups)-1).Draw(t, "copy of")
		g, o := in.req.Groups[i], in.req.Options[i]
		g.ID, o.GroupID, g.Labels = "worse", "worse", maps.Clone(g.Labels)
		o.NodeCount += rapid.IntRange(0, 2).Draw(t, "more nodes")
		in.req.Groups, in.req.Options = append(in.req.Groups, g), append(in.req.Options, o)
		pool := in.policy.Pools[i]
		pool.HourlyCost *= 1 + rapid.Float64Range(0.01, 2).Draw(t, "dearer")
		pool.Match = expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^worse$")}}
		in.policy.Pools = append(in.policy.Pools, pool)
		after, _ := in.decide(expander.History{})
		if !slices.Equal(before.Selected, after.Selected) {
			t.Fatalf("selected %v, with a worse option %v\n%s", before.Selected, after.Selected, table(after))
		}
	})
}

// More GPUs on the nodes of the winner, at the same price and for the same pods, leave it the winner; so do fewer
// nodes.
func TestMoreForTheSameMoneyNeverHurts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := pricedInstance(t)
		before, _ := in.decide(expander.History{})
		i := slices.Index(optionIDs(in.req), before.Selected[0])
		if rapid.Bool().Draw(t, "fewer nodes") {
			in.req.Options[i].NodeCount = max(1, in.req.Options[i].NodeCount-1)
		}
		more := maps.Clone(in.req.Groups[i].Allocatable.Extended)
		more["nvidia.com/gpu"] += rapid.Int64Range(0, 4).Draw(t, "more GPUs")
		in.req.Groups[i].Allocatable.Extended = more
		after, _ := in.decide(expander.History{})
		if !slices.Equal(before.Selected, after.Selected) {
			t.Fatalf("selected %v, with more of it %v\nbefore\n%safter\n%s", before.Selected, after.Selected, table(before), table(after))
		}
	})
}

func TestMergeIsCommutativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawHistory(t), drawHistory(t)
		ab, ba := expander.MergeHistory(a, b), expander.MergeHistory(b, a)
		if diff := cmp.Diff(ab, ba); diff != "" {
			t.Fatalf("merging in the other order differs:\n%s", diff)
		}
		if diff := cmp.Diff(ab, expander.MergeHistory(ab, ab)); diff != "" {
			t.Fatalf("merging with itself changes something:\n%s", diff)
		}
		if diff := cmp.Diff(ab, expander.MergeHistory(ab, b)); diff != "" {
			t.Fatalf("merging a second time changes something:\n%s", diff)
		}
		if diff := cmp.Diff(ab, restored(t, ab), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("JSON loses something:\n%s", diff)
		}
	})
}

// drawHistory runs a few requests on one instance.
func drawHistory(t *rapid.T) expander.History {
	in := drawInstance(t)
	var history expander.History
	for i := range rapid.IntRange(0, 4).Draw(t, "requests") {
		in.view.Known = rapid.Bool().Draw(t, "view")
		now := epoch.Add(time.Duration(i*rapid.IntRange(1, 600).Draw(t, "seconds")) * time.Second)
		_, history = expander.Select(&in.policy, in.view, in.req, history, now)
	}
	return expander.MergeHistory(history, expander.History{})
}

func restored(t *rapid.T, h expander.History) expander.History {
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

// The history stays bounded whatever is sent.
func TestHistoryIsBounded(t *testing.T) {
	policy := online()
	var history expander.History
	for i := range 40 {
		req := expander.Request{}
		for j := range 300 {
			id := fmt.Sprintf("g-%d-%d", i, j)
			req.Groups = append(req.Groups, expander.Group{ID: id, Labels: map[string]string{"karpenter.sh/capacity-type": "spot"}, Capacity: gpuResources(8, 32, 1)})
			req.Pods = append(req.Pods, expander.Pod{UID: fmt.Sprintf("00000000-0000-0000-0000-%06d%06d", i, j), Requests: gpuResources(4, 16, 1)})
			req.Options = append(req.Options, expander.Option{GroupID: id, NodeCount: 1, Pods: []int{j}})
		}
		view := expander.View{Known: true}
		for _, g := range req.Groups {
			view.Failures = append(view.Failures, expander.Failure{At: epoch.Add(time.Duration(i) * time.Minute), GroupID: g.ID, Class: expander.FailureStock})
		}
		_, history = expander.Select(policy, view, req, history, epoch.Add(time.Duration(i)*time.Minute))
	}
	data, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 1<<20 {
		t.Errorf("history of %d bytes, a ConfigMap holds 1 MiB", len(data))
	}
	if len(history.Pods) != 2000 || len(history.Groups) != 500 {
		t.Errorf("%d pods and %d groups kept, want the newest 2000 and 500", len(history.Pods), len(history.Groups))
	}
	if _, history = expander.Select(policy, expander.View{}, expander.Request{}, history, epoch.Add(48*time.Hour)); len(history.Pods)+len(history.Groups)+len(history.Choices)+len(history.Workloads) != 0 {
		t.Errorf("after two days still %d pods, %d groups, %d choices, %d workloads", len(history.Pods), len(history.Groups), len(history.Choices), len(history.Workloads))
	}
}

// A history that a later release wrote is not read: nothing is known, and pods may have waited.
func TestLaterVersionIsLost(t *testing.T) {
	later := expander.History{Version: expander.HistoryVersion + 1, Pods: map[string]expander.PodHistory{"a": {FirstSeen: epoch}}}
	_, next := expander.Select(online(), expander.View{}, expander.Request{}, later, epoch)
	if len(next.Pods) != 0 || !next.LostAt.Equal(epoch) || next.Version != expander.HistoryVersion {
		t.Errorf("history after a later version: %+v", next)
	}
	if merged := expander.MergeHistory(later, next); len(merged.Pods) != 0 {
		t.Errorf("merged with a later version: %+v", merged)
	}
}

// FuzzSelect feeds arbitrary requests, views and histories: whatever they hold, the answer is a subset of the options,
// and nothing panics.
func FuzzSelect(f *testing.F) {
	policy, view, req := largeRequest(3, 4, 2)
	_, history := expander.Select(policy, view, req, expander.History{}, epoch)
	var seeds [3][]byte
	for i, value := range []any{req, view, history} {
		data, err := json.Marshal(value)
		if err != nil {
			f.Fatal(err)
		}
		seeds[i] = data
	}
	f.Add(seeds[0], seeds[1], seeds[2])
	f.Add([]byte(`{"Pods":[{"UID":"a","Requests":{"MilliCPU":-1}}],"Options":[{"GroupID":"g","NodeCount":-3,"Pods":[0,0,9]}],"Groups":[{"ID":"g"}]}`),
		[]byte(`{"Groups":{"g":{"Target":9,"Backoff":{}}}}`), []byte(`{"workloads":{"online":{"stage":77,"stageAt":"2026-03-02T09:00:00Z"}},"choices":[{"group":"g"}]}`))
	f.Fuzz(func(t *testing.T, requestJSON, viewJSON, historyJSON []byte) {
		var req expander.Request
		var view expander.View
		var history expander.History
		if json.Unmarshal(requestJSON, &req) != nil || json.Unmarshal(viewJSON, &view) != nil || json.Unmarshal(historyJSON, &history) != nil {
			return
		}
		d, next := expander.Select(policy, view, req, history, epoch)
		for _, id := range d.Answer {
			if !slices.Contains(optionIDs(req), id) {
				t.Fatalf("answer %q is no option", id)
			}
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("decision is no JSON: %v", err)
		}
		expander.Select(policy, view, req, next, epoch.Add(time.Minute))
	})
}

// Pods that stay pending for hours do not make the history grow: each remembers its newest choices only.
func TestLongPendingPodsStayBounded(t *testing.T) {
	policy := online()
	policy.Failures.StickFor = 0
	req := expander.Request{Groups: []expander.Group{groupOf("od", small, onDemandLabels())}}
	o := expander.Option{GroupID: "od", NodeCount: 1000}
	for i := range 2000 {
		req.Pods = append(req.Pods, gpuPod(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)))
		o.Pods = append(o.Pods, i)
	}
	req.Options = []expander.Option{o}
	var history expander.History
	for i := range 60 {
		_, history = expander.Select(policy, expander.View{Known: true}, req, history, epoch.Add(time.Duration(i)*time.Minute))
	}
	data, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 1<<20 {
		t.Errorf("history of %d bytes after an hour, a ConfigMap holds 1 MiB", len(data))
	}
	if got := len(history.Pods["00000000-0000-0000-0000-000000000000"].Choices); got != 12 {
		t.Errorf("a pod remembers %d choices, want the newest 12", got)
	}
}
