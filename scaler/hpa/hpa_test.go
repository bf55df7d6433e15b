package hpa

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/test/cases"
)

const caseFile = "../testdata/cases.yaml"

var start = time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)

func zero() *float64 { z := 0.0; return &z }

func target(n int) []Metric { return []Metric{{Type: AverageValue, Value: float64(n), Target: 1}} }

func plain(tolerance float64) Spec { return Spec{Min: 0, Max: 1000, Tolerance: tolerance} }

// exact is the behaviour section that makes every target exact.
func exact(most int) *Behavior {
	none := time.Duration(0)
	return &Behavior{
		ScaleUp:   Rules{Window: &none, Policies: []Policy{{Pods, most, SyncPeriod}}, Tolerance: zero()},
		ScaleDown: Rules{Window: &none, Policies: []Policy{{Percent, 100, SyncPeriod}}, Tolerance: zero()},
	}
}

// follows tells whether a target of n moves a scale target with that status to n.
func follows(t *testing.T, spec Spec, status, n int) bool {
	t.Helper()
	got, ok := Proposal(spec, Scale{Spec: status, Status: status, Ready: status}, target(n))
	if !ok {
		t.Fatal("no proposal")
	}
	return got == n
}

// The bands of targets that are not followed at the default tolerance, by the status count.
func TestToleranceBands(t *testing.T) {
	bands := map[int][2]int{
		10: {9, 11}, 12: {11, 13}, 15: {14, 16}, 20: {18, 22}, 25: {23, 27}, 30: {27, 33},
		40: {36, 44}, 50: {45, 55}, 60: {54, 66}, 64: {58, 70}, 80: {72, 88}, 100: {90, 110}, 120: {108, 132},
	}
	for status, band := range bands {
		for n := range 200 {
			want := n == status || n < band[0] || n > band[1]
			if got := follows(t, plain(DefaultTolerance), status, n); got != want {
				t.Errorf("status %d, target %d: follows %v, want %v", status, n, got, want)
			}
		}
	}
}

func TestToleranceCountsPairs(t *testing.T) {
	stuck, small := 0, 0
	for status := range 121 {
		for n := range 121 {
			held := !follows(t, plain(DefaultTolerance), status, n)
			if held != scaler.HeldByTolerance(status, n, DefaultTolerance) {
				t.Errorf("status %d, target %d: the model says held %v, the decision does not", status, n, held)
			}
			if held {
				stuck++
				if status <= 9 {
					small++
				}
			}
			if !follows(t, plain(0), status, n) {
				t.Fatalf("tolerance 0 does not follow %d at %d", n, status)
			}
		}
	}
	if stuck != 1277 || small != 0 {
		t.Errorf("%d of 14,641 pairs stick, %d of them up to 9 replicas; want 1277 and 0", stuck, small)
	}
}

// No trick repairs an up-step: 12 for 11 lands on 12.
func TestOvershootIsNoRemedy(t *testing.T) {
	if follows(t, plain(DefaultTolerance), 10, 11) {
		t.Error("10 to 11 is followed")
	}
	got, _ := Proposal(plain(DefaultTolerance), Scale{Spec: 10, Status: 10}, target(12))
	if got != 12 {
		t.Errorf("12 lands on %d", got)
	}
	fraction := []Metric{{Type: AverageValue, Value: 3.001, Target: 1}}
	if got, _ := Proposal(plain(0), Scale{Spec: 1, Status: 1}, fraction); got != 4 {
		t.Errorf("3.001 becomes %d, want 4", got)
	}
}

// With the type Value, replicas follow the ready pods: none while GPUs load, and twice as many as wanted when two are
// ready instead of one.
func TestValueFollowsReadyPods(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		want  int
	}{
		{Scale{Spec: 6, Status: 6, Ready: 0}, 0},
		{Scale{Spec: 1, Status: 1, Ready: 2}, 12},
		{Scale{Spec: 1, Status: 1, Ready: 1}, 6},
		{Scale{Spec: 0}, 6},
	} {
		got, _ := Proposal(plain(DefaultTolerance), c.scale, []Metric{{Type: Value, Value: 6, Target: 1}})
		if got != c.want {
			t.Errorf("%+v: %d, want %d", c.scale, got, c.want)
		}
	}
	inside := []Metric{{Type: Value, Value: 1.05, Target: 1}}
	if got, _ := Proposal(plain(DefaultTolerance), Scale{Spec: 7, Status: 8, Ready: 3}, inside); got != 7 {
		t.Errorf("inside the tolerance Value keeps the spec: %d, want 7", got)
	}
}

func TestFailedMetricNeverLowers(t *testing.T) {
	scale := Scale{Spec: 5, Status: 5, Ready: 5}
	failed := Metric{Err: true}
	if _, ok := Proposal(plain(0), scale, append(target(3), failed)); ok {
		t.Error("a failed metric lets another lower the count")
	}
	if got, ok := Proposal(plain(0), scale, append(target(8), failed)); !ok || got != 8 {
		t.Errorf("a failed metric keeps another from raising the count: %d %v", got, ok)
	}
	if _, ok := Proposal(plain(0), scale, []Metric{failed}); ok {
		t.Error("a proposal without any metric")
	}
}

// climb syncs until the count stands still.
func climb(spec Spec, from, to int) []int {
	counts, state, now := []int{from}, State{}, start
	for n := from; ; {
		next, s := Sync(spec, state, Scale{Spec: n, Status: n, Ready: n}, target(to), now)
		if next == n {
			return counts
		}
		counts, state, now, n = append(counts, next), s, now.Add(SyncPeriod), next
	}
}

func TestUpLimits(t *testing.T) {
	for name, c := range map[string]struct {
		behavior *Behavior
		want     []int
	}{
		"none":                      {nil, []int{1, 4, 8, 16, 32, 50}},
		"set, no scale-up policies": {&Behavior{}, []int{1, 5, 10, 20, 40, 50}},
		"pods policy":               {exact(50), []int{1, 50}},
		"smallest of the defaults":  {&Behavior{ScaleUp: Rules{Select: Min}}, []int{1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 50}},
		"disabled":                  {&Behavior{ScaleUp: Rules{Select: Disabled}}, []int{1}},
	} {
		spec := Spec{Min: 1, Max: 50, Behavior: c.behavior}
		if diff := cmp.Diff(c.want, climb(spec, 1, 50)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A pods policy counts what its whole period added.
func TestPolicyPeriod(t *testing.T) {
	spec := Spec{Min: 1, Max: 50, Behavior: &Behavior{ScaleUp: Rules{Policies: []Policy{{Pods, 2, time.Minute}}}}}
	n, state, now := 1, State{}, start
	var counts []int
	for range 9 {
		n, state = Sync(spec, state, Scale{Spec: n, Status: n}, target(50), now)
		counts, now = append(counts, n), now.Add(SyncPeriod)
	}
	if diff := cmp.Diff([]int{3, 3, 3, 3, 5, 5, 5, 5, 7}, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same on the way down: four pods a minute, or a tenth of what there was at its start.
func TestDownPolicyPeriod(t *testing.T) {
	none := time.Duration(0)
	for _, c := range []struct {
		policy Policy
		want   []int
	}{
		{Policy{Pods, 4, time.Minute}, []int{16, 16, 16, 16, 12, 12, 12, 12, 8}},
		{Policy{Percent, 10, 30 * time.Second}, []int{18, 18, 16, 16, 14, 14, 12, 12, 10}},
	} {
		spec := Spec{Min: 1, Max: 50, Behavior: &Behavior{ScaleDown: Rules{Window: &none, Policies: []Policy{c.policy}}}}
		n, state, now := 20, State{}, start
		var counts []int
		for range 9 {
			n, state = Sync(spec, state, Scale{Spec: n, Status: n}, target(1), now)
			counts, now = append(counts, n), now.Add(SyncPeriod)
		}
		if diff := cmp.Diff(c.want, counts); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.policy, diff)
		}
	}
}

// The scale-down window holds the largest recommendation of its span, with and without a behaviour section.
func TestScaleDownWindow(t *testing.T) {
	for name, behavior := range map[string]*Behavior{"none": nil, "default window": {}} {
		spec, state := Spec{Min: 1, Max: 50, Behavior: behavior}, State{}
		n, _ := Sync(spec, state, Scale{Spec: 10, Status: 10}, target(10), start)
		_, state = Sync(spec, state, Scale{Spec: 10, Status: 10}, target(10), start)
		var lowered time.Duration
		for at := SyncPeriod; lowered == 0 && at < time.Hour; at += SyncPeriod {
			n, state = Sync(spec, state, Scale{Spec: n, Status: n}, target(2), start.Add(at))
			if n < 10 {
				lowered = at
			}
		}
		if lowered != 300*time.Second || n != 2 {
			t.Errorf("%s: lowered to %d after %v, want 2 after 5m", name, n, lowered)
		}
	}
}

func TestSyncLimits(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		scale Scale
		want  int
	}{
		{Spec{Min: 2, Max: 5}, Scale{Spec: 9, Status: 9}, 5},
		{Spec{Min: 2, Max: 5}, Scale{Spec: 1, Status: 1}, 2},
		{Spec{Min: 1, Max: 5}, Scale{Spec: 0}, 0},
		{Spec{Min: 1, Max: 5}, Scale{Spec: 4, Status: 4}, 5},
	} {
		if got, _ := Sync(c.spec, State{}, c.scale, target(40), start); got != c.want {
			t.Errorf("%+v at %+v: %d, want %d", c.spec, c.scale, got, c.want)
		}
	}
}

// Case fields, as far as the model of the autoscaler is concerned.
type caseRows struct {
	Rows []struct {
		Spec, Status, Want                   int
		ValueSent, HPADefault, HPATolerance0 int
		HeldByTolerance                      bool
	}
}

func TestCasePresentation(t *testing.T) {
	for _, id := range []string{"keda-7900", "k8s-138505"} {
		var given, expect caseRows
		cases.Decode(t, caseFile, id, &given, &expect)
		for i, row := range given.Rows {
			want, scale := expect.Rows[i], Scale{Spec: row.Spec, Status: row.Status, Ready: row.Status}
			if scale.Spec == 0 {
				scale.Spec = row.Status
			}
			byDefault, _ := Proposal(plain(DefaultTolerance), scale, target(row.Want))
			byZero, _ := Proposal(plain(0), scale, target(row.Want))
			if byDefault != want.HPADefault || byZero != want.HPATolerance0 {
				t.Errorf("%s row %d: %d and %d, want %d and %d", id, i, byDefault, byZero, want.HPADefault, want.HPATolerance0)
			}
		}
	}
}

// From zero KEDA sets one replica, and the autoscaler takes the rest.
func TestCaseFromZero(t *testing.T) {
	var given struct{ MinReplicaCount, MaxReplicaCount, Want int }
	var expect struct {
		Replicas []struct {
			Name     string
			Timeline []struct{ Replicas int }
		}
	}
	cases.Decode(t, caseFile, "keda-7095", &given, &expect)
	if len(expect.Replicas) != 2 {
		t.Fatalf("%d variants", len(expect.Replicas))
	}
	for _, variant := range expect.Replicas {
		spec := Spec{Min: max(1, given.MinReplicaCount), Max: given.MaxReplicaCount, Tolerance: DefaultTolerance}
		if variant.Name == "behavior" {
			spec.Behavior = exact(10)
		}
		var want []int
		for _, point := range variant.Timeline {
			want = append(want, point.Replicas)
		}
		if diff := cmp.Diff(want, climb(spec, 1, given.Want)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", variant.Name, diff)
		}
	}
}
