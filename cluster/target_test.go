package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/warmpool/warmpool/scaler"
)

// Every kind of scale target finds its own pods, and those only.
func TestPodsByKindOfTarget(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		options    []podOption
	}{
		{"", "llm", []podOption{ofDeployment("llm")}},
		{"Deployment", "llm", []podOption{ofDeployment("llm")}},
		{"StatefulSet", "llm", []podOption{ownedBy("apps/v1", "StatefulSet", "llm")}},
		{"Rollout", "llm", []podOption{ownedBy("apps/v1", "ReplicaSet", "llm-77aa"), labelled("rollouts-pod-template-hash", "77aa")}},
		{"LeaderWorkerSet", "llm", []podOption{labelled(leaderName, "llm"), labelled(leaderGroup, "0"), ownedBy("apps/v1", "StatefulSet", "llm")}},
		{"InferenceService", "llm", []podOption{labelled("serving.kserve.io/inferenceservice", "llm"), labelled("component", "predictor"), ofDeployment("llm-predictor")}},
		{"LLMInferenceService", "llm", []podOption{labelled("app.kubernetes.io/part-of", "llminferenceservice"), labelled("app.kubernetes.io/name", "llm"), ofDeployment("llm-kserve")}},
		{"ModelServer", "llm", []podOption{ownedBy("example.com/v1", "ModelServer", "llm")}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			inWorld(t, Options{}, func() []runtime.Object {
				other := podOf("ai", "other", ofDeployment("llm-two"), isReady)
				return these(
					scaledObjectOf("ai", "scaler", c.kind, c.name), other,
					podOf("ai", "up", append([]podOption{isReady}, c.options...)...),
					podOf("elsewhere", "up", append([]podOption{isReady}, c.options...)...),
					podOf("ai", "gone", append([]podOption{isReady, func(p *corev1.Pod) {
						p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x"}
					}}, c.options...)...),
					podOf("ai", "failed", append([]podOption{func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }}, c.options...)...),
				)
			}, func(w *world) {
				got := w.view.Pods("ai", "scaler")
				if !got.Known || got.Ready != 1 || len(got.Starting) != 0 {
					t.Errorf("%+v, want one ready replica", got)
				}
				if other := w.view.Pods("ai", "nobody"); other.Known {
					t.Errorf("%+v for a scaled object that is not there", other)
				}
			})
		})
	}
}

// A kind whose pods nobody can tell is unknown, not at zero; a Deployment without pods is at zero.
func TestNoPodsIsZeroOnlyForKnownKinds(t *testing.T) {
	inWorld(t, Options{}, func() []runtime.Object {
		return these(scaledObjectOf("ai", "known", "Deployment", "llm"), scaledObjectOf("ai", "strange", "Strange", "llm"))
	}, func(w *world) {
		if got := w.view.Pods("ai", "known"); !got.Known || got.Ready+len(got.Starting) != 0 {
			t.Errorf("Deployment: %+v", got)
		}
		if got := w.view.Pods("ai", "strange"); got.Known {
			t.Errorf("strange kind: %+v", got)
		}
	})
}

// From creation to ready: a warm and a cold start, their parts, and what a pod that stops being ready counts as.
func TestStarts(t *testing.T) {
	gpu := map[string]string{"nvidia.com/gpu.product": "NVIDIA-L4"}
	inWorld(t, Options{}, func() []runtime.Object {
		return these(scaledObjectOf("ai", "scaler", "", "llm"), nodeOf("old", gpu))
	}, func(w *world) {
		w.addPod(podOf("ai", "warm", ofDeployment("llm"), on("old"), notReady))
		w.addPod(podOf("ai", "cold", ofDeployment("llm"), unschedulable, notReady))
		w.wait(60 * time.Second)
		want := scaler.Pods{Known: true, Starting: []time.Duration{60 * time.Second, 60 * time.Second}}
		if diff := cmp.Diff(want, w.view.Pods("ai", "scaler")); diff != "" {
			t.Errorf("while starting (-want +got):\n%s", diff)
		}
		w.changePod("ai", "warm", isReady)
		became := time.Now()
		_, err := w.typed.CoreV1().Nodes().Create(t.Context(), nodeOf("new", gpu), metav1.CreateOptions{})
		w.must(err)
		w.wait(30 * time.Second)
		w.changePod("ai", "cold", on("new"))
		w.wait(90 * time.Second)
		w.changePod("ai", "cold", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-20 * time.Second))}}}}
			isReady(p)
		})
		wantStarts := []Start{
			{At: became.Truncate(time.Second), Took: 60 * time.Second, GPU: "NVIDIA-L4"},
			{At: time.Now().Truncate(time.Second), Took: 180 * time.Second, Scheduled: 90 * time.Second, Started: 160 * time.Second, GPU: "NVIDIA-L4", Cold: true},
		}
		got := w.view.Starts("ai", "scaler")
		for i := range got {
			got[i].At = got[i].At.UTC()
		}
		for i := range wantStarts {
			wantStarts[i].At = wantStarts[i].At.UTC()
		}
		if diff := cmp.Diff(wantStarts, got); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		w.wait(600 * time.Second)
		w.changePod("ai", "warm", notReady)
		w.wait(10 * time.Second)
		if got := w.view.Pods("ai", "scaler"); got.Ready != 1 || !slices.Equal(got.Starting, []time.Duration{10 * time.Second}) {
			t.Errorf("a pod that stopped being ready: %+v, want it starting for 10 s", got)
		}
		w.changePod("ai", "warm", isReady)
		if n := len(w.view.Starts("ai", "scaler")); n != 2 {
			t.Errorf("%d starts recorded, want 2: a pod starts once", n)
		}
	})
}

// A LeaderWorkerSet group is one replica: ready when all its pods are, started when the last of them was.
func TestLeaderWorkerSetGroups(t *testing.T) {
	group := func(index string) []podOption {
		return []podOption{labelled(leaderName, "big"), labelled(leaderGroup, index), func(p *corev1.Pod) { p.Annotations = map[string]string{leaderSize: "2"} }}
	}
	inWorld(t, Options{}, func() []runtime.Object { return these(scaledObjectOf("ai", "scaler", "LeaderWorkerSet", "big")) }, func(w *world) {
		for _, name := range []string{"0", "1"} {
			w.addPod(podOf("ai", "big-"+name, append(group(name), notReady)...))
		}
		w.wait(10 * time.Second)
		w.addPod(podOf("ai", "big-0-1", append(group("0"), notReady)...))
		w.changePod("ai", "big-0", isReady)
		w.changePod("ai", "big-1", isReady)
		if got := w.view.Pods("ai", "scaler"); got.Ready != 0 || len(got.Starting) != 2 {
			t.Errorf("%+v, want two groups starting: one waits for a pod, one has too few", got)
		}
		w.wait(20 * time.Second)
		w.changePod("ai", "big-0-1", isReady)
		got := w.view.Pods("ai", "scaler")
		want := scaler.Pods{Known: true, Ready: 1, Starting: []time.Duration{30 * time.Second}, StartTimes: []time.Duration{30 * time.Second}}
		got.BecameReady = time.Time{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Pods that were ready before anybody looked are guesses; enough starts that were seen replace them.
func TestGuessedStarts(t *testing.T) {
	inWorld(t, Options{}, func() []runtime.Object {
		early := podOf("ai", "early", ofDeployment("llm"), isReady)
		early.CreationTimestamp = metav1.NewTime(time.Now().Add(-40 * time.Second))
		restarted := podOf("ai", "restarted", ofDeployment("llm"), isReady)
		restarted.CreationTimestamp = metav1.NewTime(time.Now().Add(-5 * time.Hour))
		restarted.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
		return these(scaledObjectOf("ai", "scaler", "", "llm"), early, restarted)
	}, func(w *world) {
		w.wait(2 * time.Second)
		if got := w.view.Pods("ai", "scaler").StartTimes; !slices.Equal(got, []time.Duration{40 * time.Second}) {
			t.Errorf("start times %v, want the one of 40 s", got)
		}
		var want []time.Duration
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.addPod(podOf("ai", name, ofDeployment("llm"), notReady))
			w.wait(7 * time.Second)
			w.changePod("ai", name, isReady)
			want = append(want, 7*time.Second)
		}
		if got := w.view.Pods("ai", "scaler").StartTimes; !slices.Equal(got, want) {
			t.Errorf("start times %v, want %v", got, want)
		}
	})
}

// What the autoscaler itself counts and tolerates.
func TestReplicas(t *testing.T) {
	tolerance := func(text string) *autoscalingv2.HPAScalingRules {
		q := resource.MustParse(text)
		return &autoscalingv2.HPAScalingRules{Tolerance: &q}
	}
	for name, c := range map[string]struct {
		behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
		kind     string
		current  int
		want     float64
	}{
		"of the cluster": {nil, "Deployment", 4, -1},
		"exact":          {&autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: tolerance("0"), ScaleDown: tolerance("0")}, "Deployment", 4, 0},
		"one direction":  {&autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: tolerance("0")}, "Deployment", 4, 0.1},
		"wider":          {&autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: tolerance("0.05"), ScaleDown: tolerance("0.2")}, "Deployment", 4, 0.2},
		"another target": {nil, "StatefulSet", -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func() []runtime.Object {
				a := autoscalerOf("ai", "keda-hpa-scaler", c.kind, "llm", 4)
				a.Spec.Behavior = c.behavior
				return these(scaledObjectOf("ai", "scaler", "", "llm"), a)
			}, func(w *world) {
				if target, ok := w.view.Target("ai", "scaler"); !ok || target.Kind != "Deployment" || target.Name != "llm" || target.Min != 1 || target.Max != 9 || target.Current != c.current {
					t.Errorf("target %+v", target)
				}
				if current, got := w.view.Replicas("ai", "scaler"); current != c.current || got != c.want {
					t.Errorf("current %d tolerance %v, want %d and %v", current, got, c.current, c.want)
				}
			})
		})
	}
}
