package expander_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warmpool/warmpool/expander"
)

// elsewhere are the cases about bytes on the wire and the listener's limits, which the core never sees, with the file
// of the tests that name them. What comes of the podsLost and nodesLost requests is in TestUnknownParts here.
var elsewhere = map[string]string{
	"ca-pr-5422": "../server/expander_test.go",
	"ca-pr-8660": "../wire/decode_test.go",
}

func TestCases(t *testing.T) {
	for _, spec := range loadCases(t) {
		t.Run(spec.ID, func(t *testing.T) {
			if where, ok := elsewhere[spec.ID]; ok {
				if tests, err := os.ReadFile(where); err != nil || !bytes.Contains(tests, []byte(spec.ID)) {
					t.Errorf("no test of %s names the case: %v", where, err)
				}
				return
			}
			switch {
			case spec.Kind == "detect":
				runDetect(t, spec)
			case len(spec.Given.Steps) > 0:
				runSteps(t, spec)
			case len(spec.Given.Variants) > 0:
				runVariants(t, spec)
			case len(spec.Given.Clients) > 0:
				runClients(t, spec)
			default:
				runDecision(t, spec)
			}
		})
	}
}

func runDecision(t *testing.T, spec caseSpec) {
	s := newScenario(t, spec)
	req, view := s.request(caseStep{}), s.view(caseStep{}, nil)
	lints := expander.Lint(s.policy, req, expander.LintOptions{Provider: spec.Given.Provider, BalanceSimilarGroups: spec.Given.Balance})
	var history expander.History
	for i := range max(1, spec.Given.Repeat) {
		var decision expander.Decision
		decision, history = expander.Select(s.policy, view, req, history, epoch.Add(time.Duration(i)*10*time.Second))
		if i == 0 {
			checkBaseline(t, spec, req, decision)
			checkCapacityTypes(t, spec, decision)
		}
		if spec.Kind != "lint" || spec.Expect.Outcome != "" {
			check(t, s, req, decision, spec.Expect.outcome, lints)
			checkSubset(t, req, decision)
		} else {
			checkWarnings(t, spec.Expect.Warnings, lints)
		}
	}
	for _, id := range spec.Expect.NoWarningsFor {
		if i := slices.IndexFunc(lints, func(l string) bool { return strings.HasSuffix(l, ":"+id) }); i >= 0 {
			t.Errorf("unwanted lint %s", lints[i])
		}
	}
	if want := spec.Expect.SimilarTo; want != nil {
		got := expander.SimilarGroups(req.Groups, want.Group, spec.Given.Provider)
		if diff := cmp.Diff(want.Similar, got); diff != "" {
			t.Errorf("groups similar to %s (-want +got):\n%s", want.Group, diff)
		}
	}
}

func runSteps(t *testing.T, spec caseSpec) {
	if len(spec.Given.Steps) != len(spec.Expect.Steps) {
		t.Fatalf("%d steps, %d expectations", len(spec.Given.Steps), len(spec.Expect.Steps))
	}
	s := newScenario(t, spec)
	var history expander.History
	for i, step := range spec.Given.Steps {
		policy := *s.policy
		if step.Policy.TrustTemplateCache != nil {
			policy.TrustTemplateCache = step.Policy.TrustTemplateCache
		}
		req := s.request(step)
		var decision expander.Decision
		decision, history = expander.Select(&policy, s.view(step, nil), req, history, epoch.Add(step.At.Duration))
		t.Run(fmt.Sprintf("step %d at %s", i+1, step.At), func(t *testing.T) {
			check(t, s, req, decision, spec.Expect.Steps[i], nil)
			checkCapacityTypes(t, spec, decision)
			checkSubset(t, req, decision)
			checkAges(t, step, history)
		})
	}
}

func runVariants(t *testing.T, spec caseSpec) {
	for i, variant := range spec.Given.Variants {
		s := newScenario(t, spec)
		want := spec.Expect.Variants[i]
		seen := map[string]bool{}
		for range spec.Given.PodSets {
			req := s.request(caseStep{FreshPods: anyOf{all: true}})
			view := s.view(caseStep{}, variant.CurrentNodes)
			decision, _ := expander.Select(s.policy, view, req, expander.History{}, epoch)
			checkBaseline(t, spec, req, decision)
			checkCapacityTypes(t, spec, decision)
			again, _ := expander.Select(s.policy, view, req, expander.History{}, epoch)
			if spec.Expect.SamePodsSameAnswer && !slices.Equal(decision.Answer, again.Answer) {
				t.Errorf("%s: same pods, answers %v and %v", variant.Name, decision.Answer, again.Answer)
			}
			want.Outcome = spec.Expect.Outcome
			check(t, s, req, decision, want, nil)
			seen[decision.Answer[0]] = true
		}
		if want.EachAtLeastOnce && len(seen) != len(want.OneOf) {
			t.Errorf("%s: %d pod sets reached %v, want all of %v", variant.Name, spec.Given.PodSets, seen, want.OneOf)
		}
	}
}

func runClients(t *testing.T, spec caseSpec) {
	for _, want := range spec.Expect.PerClient {
		spec.Given.CAVersion = want.CAVersion
		s := newScenario(t, spec)
		req := s.request(caseStep{})
		decision, _ := expander.Select(s.policy, s.view(caseStep{}, nil), req, expander.History{}, epoch)
		check(t, s, req, decision, want.outcome, nil)
	}
}

func runDetect(t *testing.T, spec caseSpec) {
	var calls expander.Calls
	groups := map[string]expander.GroupView{}
	var got []stallExpect
	for _, event := range spec.Given.Timeline {
		now := epoch.Add(event.At.Duration)
		switch event.Event {
		case "BestOptions call":
			calls.Last = now
		case "pending pods":
			calls.PendingSince = now
		case "status":
			g := expander.UnknownGroup()
			g.Target, g.Registered = event.Target, event.Registered
			g.Backoff = &expander.Backoff{Class: expander.FailureOther, Since: now}
			groups[event.Group] = g
		}
		for _, want := range spec.Expect.detect {
			if want.At == event.At {
				stall := expander.DetectStall(groups, calls, spec.Given.AlertAfter.Duration, now)
				got = append(got, stallExpect{At: event.At, Stalled: stall.Stalled, PhantomNodes: stall.PhantomNodes})
			}
		}
	}
	if diff := cmp.Diff(spec.Expect.detect, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("stalls (-want +got):\n%s", diff)
	}
}

// check compares a decision with what a case expects.
func check(t *testing.T, s *scenario, req expander.Request, d expander.Decision, want outcome, lints []string) {
	t.Helper()
	if string(d.Outcome) != want.Outcome {
		t.Errorf("outcome %s %v, want %s %v; reasons %v, candidates:\n%s", d.Outcome, d.Answer, want.Outcome, want.Groups, d.Reasons, table(d))
		return
	}
	if len(want.OneOf) > 0 {
		if len(d.Answer) != 1 || !slices.Contains(want.OneOf, d.Answer[0]) {
			t.Errorf("answer %v, want one of %v", d.Answer, want.OneOf)
		}
	} else if diff := cmp.Diff(want.Groups, d.Answer, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("answer (-want +got):\n%s\nreasons %v\n%s", diff, d.Reasons, table(d))
	}
	checkWarnings(t, want.Warnings, append(slices.Clone(d.Warnings), lints...))
	for id, code := range want.Rejected {
		i := slices.IndexFunc(d.Candidates, func(c expander.Candidate) bool { return c.ID == id })
		if i < 0 || d.Candidates[i].Rejected != code {
			t.Errorf("%s is not rejected as %q:\n%s", id, code, table(d))
		}
	}
	checkServed(t, d, want.Served, true)
	checkServed(t, d, want.Unserved, false)
	for _, w := range d.Workloads {
		for _, set := range want.IgnoredForAge {
			if !slices.ContainsFunc(w.IgnoredForAge, func(uid string) bool { return strings.HasPrefix(uid, set+"-") }) {
				t.Errorf("pods of %s not ignored for age: %v", set, w.IgnoredForAge)
			}
		}
		if len(want.IgnoredForAge) == 0 && len(w.IgnoredForAge) > 0 {
			t.Errorf("ignored for age: %v", w.IgnoredForAge)
		}
	}
	for set := range want.PodClass {
		if !slices.ContainsFunc(req.Pods, func(p expander.Pod) bool { return p.Labels["set"] == set }) {
			t.Errorf("no pod of %s in the request", set)
		}
	}
	for i := range req.Pods {
		if class, ok := want.PodClass[req.Pods[i].Labels["set"]]; ok && string(expander.DemandOf(s.policy, &req.Pods[i])) != class {
			t.Errorf("%s is %s, want %s", req.Pods[i].Name, expander.DemandOf(s.policy, &req.Pods[i]), class)
		}
	}
}

func checkServed(t *testing.T, d expander.Decision, workloads []string, served bool) {
	t.Helper()
	for _, name := range workloads {
		i := slices.IndexFunc(d.Workloads, func(w expander.WorkloadDecision) bool { return w.Name == name })
		if i < 0 || d.Workloads[i].Served != served {
			t.Errorf("workload %s: served is not %t in %+v", name, served, d.Workloads)
		}
	}
}

// checkSubset: an answer only ever keeps options of the request.
func checkSubset(t *testing.T, req expander.Request, d expander.Decision) {
	t.Helper()
	for _, id := range d.Answer {
		if !slices.ContainsFunc(req.Options, func(o expander.Option) bool { return o.GroupID == id }) {
			t.Errorf("%s is answered and is no option", id)
		}
	}
}

// checkAges compares the first sights that were learnt with the ages of the case, which never come from the creation.
func checkAges(t *testing.T, step caseStep, history expander.History) {
	t.Helper()
	for set, age := range step.Ages {
		found := false
		for uid, pod := range history.Pods {
			if strings.HasPrefix(uid, set+"-g") && pod.LastSeen.Equal(epoch.Add(step.At.Duration)) {
				found = true
				if got := pod.LastSeen.Sub(pod.FirstSeen); got != age.Duration {
					t.Errorf("%s was first seen %s ago, want %s", uid, got, age)
				}
			}
		}
		if !found {
			t.Errorf("no pod of %s is remembered", set)
		}
	}
}

func checkWarnings(t *testing.T, want, got []string) {
	t.Helper()
	for _, code := range want {
		if !slices.Contains(got, code) {
			t.Errorf("no warning %s in %v", code, got)
		}
	}
}

func checkBaseline(t *testing.T, spec caseSpec, req expander.Request, d expander.Decision) {
	t.Helper()
	if spec.Baseline == nil {
		return
	}
	if diff := cmp.Diff(spec.Baseline.LeastWaste, d.LeastWaste.Groups); diff != "" {
		t.Errorf("least-waste (-want +got):\n%s", diff)
	}
	for i := range req.Options {
		for j := range req.Groups {
			want, ok := spec.Baseline.Scores[req.Groups[j].ID]
			if !ok || req.Groups[j].ID != req.Options[i].GroupID {
				continue
			}
			if got := expander.LeastWasteScore(req, &req.Options[i], &req.Groups[j]); math.Abs(got-want) > 1e-4 {
				t.Errorf("least-waste score of %s is %.5f, want %.5f", req.Groups[j].ID, got, want)
			}
		}
	}
}

// checkCapacityTypes compares what was read from the labels with what the case says they mean.
func checkCapacityTypes(t *testing.T, spec caseSpec, d expander.Decision) {
	t.Helper()
	for _, g := range spec.Given.Groups {
		want := strings.TrimSuffix(g.CapacityType, "unknown")
		for _, c := range d.Candidates {
			if c.ID == g.ID && string(c.CapacityType) != want {
				t.Errorf("%s is %q, want %q", g.ID, c.CapacityType, want)
			}
		}
	}
}

func table(d expander.Decision) string {
	var b strings.Builder
	for _, c := range d.Candidates {
		fmt.Fprintf(&b, "  %-12s rejected=%q", c.ID, c.Rejected)
		for _, v := range c.Criteria {
			value := math.NaN()
			if v.Value != nil {
				value = *v.Value
			}
			fmt.Fprintf(&b, " %s=%.4f kept=%t", v.Name, value, v.Kept)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
