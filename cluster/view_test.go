package cluster

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/warmpool/warmpool/expander"
)

const zoneKey = "topology.kubernetes.io/zone"

func spotPolicy() *expander.Policy {
	return &expander.Policy{
		Hash: "a",
		Pools: []expander.Pool{
			{Name: "spot", CapacityType: expander.Spot, Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^spot")}}},
			{Name: "firm", CapacityType: expander.OnDemand, Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^firm")}}},
		},
		Workloads: []expander.Workload{{Name: "online", Match: expander.WorkloadMatch{PodLabels: map[string]string{"tier": "online"}}, Stages: []expander.Stage{{Any: true}}}},
	}
}

// One look at a cluster with two groups: sizes, readiness, model caches, zones by pool, replicas by capacity type.
func TestViewCounts(t *testing.T) {
	spot, firm := map[string]string{"pool": "spot", zoneKey: "a"}, map[string]string{"pool": "firm", zoneKey: "a"}
	inWorld(t, Options{}, func() []runtime.Object {
		cold := nodeOf("s2", spot)
		cold.Status.Conditions[0].Status = corev1.ConditionFalse
		return these(
			nodeOf("s1", map[string]string{"pool": "spot", zoneKey: "b", "model-cache.ai/llm": "cached"}), cold,
			nodeOf("f1", firm), nodeOf("odd", map[string]string{zoneKey: "c"}),
			statusOf(statusNow(groupLine("spot-1", 3, 2, 5, "{status: InProgress}"))),
			podOf("ai", "a", withGPU(1), labelled("tier", "online"), on("s1")),
			podOf("ai", "b", withGPU(1), labelled("tier", "online"), on("f1")),
			podOf("ai", "c", withGPU(1), labelled("tier", "batch"), on("f1")),
		)
	}, func(w *world) {
		w.view.ObserveRequest(spotPolicy(), expander.Request{Groups: []expander.Group{templateOf("spot-1", spot), templateOf("firm-1", firm), templateOf("empty", map[string]string{"pool": "none"})}}, time.Now())
		view := w.view.ExpanderView(time.Now())
		want := map[string]expander.GroupView{
			"spot-1": {Nodes: 2, Registered: 2, Target: 3, Min: 0, Max: 5, ReadyNodes: 1, CacheNodes: map[string]int{"model-cache.ai/llm": 1}, ReclaimsPerHour: -1},
			"firm-1": {Nodes: 1, Registered: 1, Target: -1, Min: -1, Max: -1, ReadyNodes: 1, ReclaimsPerHour: -1},
			"empty":  {Target: -1, Min: -1, Max: -1, ReclaimsPerHour: -1},
		}
		if diff := cmp.Diff(want, view.Groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		if !view.Known || !view.At.Equal(time.Now()) {
			t.Errorf("known %v as of %v", view.Known, view.At)
		}
		if diff := cmp.Diff(map[string]int{"a": 2, "b": 1, "c": 1}, view.ZoneNodes); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]map[string]int{"spot": {"a": 1, "b": 1}, "firm": {"a": 1}}, view.PoolZoneNodes); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]map[expander.CapacityType]int{"online": {expander.Spot: 1, expander.OnDemand: 1}}, view.CapacityReplicas); diff != "" {
			t.Error(diff)
		}
		offered, held, ok := w.view.Accelerators()
		if diff := cmp.Diff([]map[string]int{{"spot-1": 2, "firm-1": 1}, {"spot-1": 1, "firm-1": 2}}, []map[string]int{offered, held}); diff != "" || !ok {
			t.Errorf("accelerators offered and held: %v %s", ok, diff)
		}
	})
}

// Without a status that is kept up to date nothing can be proven, so the view does not count as known; its counts stay.
func TestViewIsKnownOnlyWithAFreshStatus(t *testing.T) {
	labels := map[string]string{"pool": "x"}
	inWorld(t, Options{}, func() []runtime.Object {
		return these(nodeOf("n", labels), statusOf(statusNow(groupLine("g", 1, 1, 2, "{}"))))
	}, func(w *world) {
		w.view.ObserveRequest(spotPolicy(), expander.Request{Groups: []expander.Group{templateOf("g", labels)}}, time.Now())
		if !w.view.ExpanderView(time.Now()).Known {
			t.Error("not known with a fresh status")
		}
		w.wait(staleAfter + time.Second)
		if v := w.view.ExpanderView(time.Now()); v.Known || v.Groups["g"].Nodes != 1 {
			t.Errorf("known %v, nodes %d with a status that is not written any more", v.Known, v.Groups["g"].Nodes)
		}
		w.setStatus("something else")
		if g := w.groups()["g"]; g.Target != 1 {
			t.Errorf("a broken status took the last one away: %+v", g)
		}
		w.setStatus(statusNow(groupLine("g", 4, 1, 4, "{status: Backoff, backoffInfo: {errorCode: QUOTA_EXCEEDED}, lastTransitionTime: \"2026-01-02T03:04:05Z\"}")))
		v := w.view.ExpanderView(time.Now())
		want := &expander.Backoff{Class: expander.FailureQuota, Code: "QUOTA_EXCEEDED", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		if diff := cmp.Diff(want, v.Groups["g"].Backoff); !v.Known || diff != "" {
			t.Errorf("known %v, backoff (-want +got):\n%s", v.Known, diff)
		}
		w.must(w.typed.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "cluster-autoscaler-status", metav1.DeleteOptions{}))
		w.wait(2 * time.Second)
		if v := w.view.ExpanderView(time.Now()); v.Known || v.Groups["g"].Target != -1 {
			t.Errorf("known %v, target %d without a status", v.Known, v.Groups["g"].Target)
		}
	})
}

// A spot node that gets a notice or vanishes counts once; one that an autoscaler takes away does not.
func TestReclaims(t *testing.T) {
	spot := map[string]string{"pool": "spot"}
	inWorld(t, Options{}, func() []runtime.Object {
		return these(nodeOf("a", spot), nodeOf("b", spot), nodeOf("c", spot), nodeOf("d", spot), nodeOf("f", map[string]string{"pool": "firm"}))
	}, func(w *world) {
		w.view.ObserveRequest(spotPolicy(), expander.Request{Groups: []expander.Group{templateOf("spot-1", spot), templateOf("firm-1", map[string]string{"pool": "firm"})}}, time.Now())
		if rate := w.groups()["spot-1"].ReclaimsPerHour; rate != -1 {
			t.Errorf("rate %v before anything was seen", rate)
		}
		w.wait(time.Hour)
		taint := func(key string) func(*corev1.Node) {
			return func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: "NoSchedule"})
			}
		}
		gone := func(name string) {
			w.must(w.typed.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		w.changeNode("a", taint("aws-node-termination-handler/spot-itn"))
		gone("a")
		gone("b")
		w.changeNode("c", taint("ToBeDeletedByClusterAutoscaler"))
		gone("c")
		gone("f")
		w.wait(2 * time.Second)
		rate := w.groups()["spot-1"].ReclaimsPerHour
		if want := 2.0 / 4; rate < want*0.98 || rate > want*1.02 {
			t.Errorf("rate %v, want about %v: two losses in an hour with four nodes", rate, want)
		}
		if g := w.groups()["spot-1"]; g.Lost != 2 || time.Since(g.LostAt) > 3*time.Second {
			t.Errorf("%d lost lately, the newest at %v; want 2, just now", g.Lost, g.LostAt)
		}
		if rate := w.groups()["firm-1"].ReclaimsPerHour; rate != -1 {
			t.Errorf("rate %v of a group that is not spot", rate)
		}
		w.wait(25 * time.Hour)
		w.changeNode("d", func(n *corev1.Node) { n.Labels["changed"] = "yes" })
		w.wait(2 * time.Second)
		if g := w.groups()["spot-1"]; g.Lost != 0 || !g.LostAt.IsZero() {
			t.Errorf("%d lost lately a day later, at %v", g.Lost, g.LostAt)
		}
		if rate := w.groups()["spot-1"].ReclaimsPerHour; rate != 0 {
			t.Errorf("rate %v a day later, want 0", rate)
		}
	})
}
