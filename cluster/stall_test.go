package cluster

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

const backoffNow = "{status: Backoff, backoffInfo: {errorCode: RESOURCE_POOL_EXHAUSTED}}"

// Pods wait for a GPU, and for each way in which nothing happens the watch finds its own reason, after the wait and not
// before, and no reason where nothing is wrong.
func TestStallReasons(t *testing.T) {
	ask := func(w *world, pods ...string) {
		r := expander.Request{}
		for _, name := range pods {
			r.Pods = append(r.Pods, expander.Pod{UID: "ai-" + name, Namespace: "ai", Name: name})
		}
		w.view.ObserveRequest(&expander.Policy{}, r, time.Now())
	}
	fresh := func(w *world, groups ...string) func() {
		return func() { w.setStatus(statusNow(groups...)) }
	}
	for name, c := range map[string]struct {
		pod podOption
		// each minute
		minute func(w *world) func()
		want   Stall
	}{
		"nobody asks": {
			minute: func(w *world) func() { return fresh(w, groupLine("g", 1, 1, 3, "{}")) }, want: StallNoCall,
		},
		"nobody asks and there is no status": {minute: func(*world) func() { return func() {} }, want: StallNoCall},
		"every group is full or in backoff": {
			minute: func(w *world) func() {
				return fresh(w, groupLine("g", 3, 3, 3, "{}"), groupLine("h", 0, 0, 3, backoffNow))
			}, want: StallNoOption,
		},
		"asked for other pods only": {
			minute: func(w *world) func() {
				return func() {
					w.setStatus(statusNow(groupLine("g", 1, 1, 3, "{}")))
					ask(w, "another")
				}
			}, want: StallNoOption,
		},
		"phantom nodes": {
			minute: func(w *world) func() { return fresh(w, groupLine("g", 3, 1, 9, backoffNow)) }, want: StallUpcoming,
		},
		"the autoscaler is gone": {minute: func(w *world) func() {
			first := fresh(w, groupLine("g", 1, 1, 3, "{}"))
			return func() { first(); first = func() {} }
		}, want: StallSilent},
		"asked for again and again": {
			minute: func(w *world) func() {
				return func() {
					w.setStatus(statusNow(groupLine("g", 1, 1, 3, "{}")))
					ask(w, "p")
				}
			},
		},
		"held back by a gate": {
			pod: func(p *corev1.Pod) {
				condition(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated)
			}, minute: func(*world) func() { return func() {} },
		},
		"expendable": {
			pod: func(p *corev1.Pod) {
				low := int32(-100)
				p.Spec.Priority = &low
			}, minute: func(*world) func() { return func() {} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{WatchStalls: true}, func() []runtime.Object {
				objects := these(statusOf(""))
				if strings.Contains(name, "no status") {
					objects = nil
				}
				return objects
			}, func(w *world) {
				options := []podOption{withGPU(1), ofDeployment("llm"), unschedulable}
				if c.pod != nil {
					options = append(options, c.pod)
				}
				minute := c.minute(w)
				w.addPod(podOf("ai", "p", options...))
				minute()
				w.wait(90 * time.Second)
				if f := w.view.Stalls(); f.Stall != "" {
					t.Errorf("%s already after 90 s", f.Stall)
				}
				for range 10 {
					minute()
					w.wait(time.Minute)
				}
				f := w.view.Stalls()
				if f.Stall != c.want || (c.want != "" && (f.Text == "" || f.Pods != 1)) {
					t.Errorf("%+v, want %q", f, c.want)
				}
			})
		})
	}
}

// A node that is on its way is worth waiting for, as long as the Cluster Autoscaler itself waits.
func TestStallWaitsForNodes(t *testing.T) {
	inWorld(t, Options{WatchStalls: true}, func() []runtime.Object { return these(statusOf("")) }, func(w *world) {
		w.addPod(podOf("ai", "p", withGPU(1), unschedulable))
		w.wait(time.Minute)
		w.view.ObserveRequest(&expander.Policy{}, expander.Request{Pods: []expander.Pod{{UID: "ai-p"}}}, time.Now())
		for minute := range 20 {
			w.setStatus(statusNow(groupLine("g", 2, 1, 3, "{status: InProgress}")))
			w.wait(time.Minute - 1100*time.Millisecond)
			if f, late := w.view.Stalls(), minute >= 15; (f.Stall != "") != late {
				t.Errorf("minute %d: %q", minute, f.Stall)
			}
		}
	})
}

// What another instance answered counts as a call.
func TestStallKnowsOtherInstances(t *testing.T) {
	h := NewHistory(nil, nil)
	inWorld(t, Options{WatchStalls: true, History: h}, nothing, func(w *world) {
		w.addPod(podOf("ai", "p", withGPU(1), unschedulable))
		for range 5 {
			w.wait(time.Minute)
			h.mu.Lock()
			h.stored.Pods = map[string]expander.PodHistory{"ai-p": {LastSeen: time.Now()}}
			h.mu.Unlock()
		}
		w.wait(10 * time.Second)
		if f := w.view.Stalls(); f.Stall != "" || f.LastCall.IsZero() {
			t.Errorf("%+v although another instance is asked", f)
		}
	})
}

func nothing() []runtime.Object { return nil }

// The owner of the pods gets one event in ten minutes, whichever instance writes it, and the reason is in the metrics.
func TestStallEvents(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	inWorld(t, Options{WatchStalls: true, Metrics: registry}, nothing, func(w *world) {
		w.addPod(podOf("ai", "p1", withGPU(1), ofDeployment("llm"), unschedulable))
		w.addPod(podOf("ai", "p2", withGPU(1), ofDeployment("llm"), unschedulable))
		w.addPod(podOf("ai", "alone", withGPU(1), unschedulable))
		second, err := New(Options{Clients: w.clients, WatchStalls: true})
		w.must(err)
		end := w.end
		w.view = second
		w.start()
		defer end()
		w.wait(9 * time.Minute)
		events, err := w.typed.CoreV1().Events("ai").List(t.Context(), metav1.ListOptions{})
		w.must(err)
		about := map[string]int{}
		for _, e := range events.Items {
			about[e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name]++
			if e.Reason != "ScaleUpStalled" || e.Type != corev1.EventTypeWarning || !strings.Contains(e.Message, "grpc-expander-cert") {
				t.Errorf("%+v", e)
			}
		}
		if len(about) != 2 || about["ReplicaSet/llm-5f6d"] < 1 || about["ReplicaSet/llm-5f6d"] > 2 || about["Pod/alone"] < 1 {
			t.Errorf("events about %v", about)
		}
		got := map[string]float64{}
		families, err := registry.Gather()
		w.must(err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				key := family.GetName()
				for _, l := range m.GetLabel() {
					key += " " + l.GetValue()
				}
				got[key] = m.GetGauge().GetValue()
			}
		}
		for key, want := range map[string]float64{
			"warmpool_expander_stalled no-call": 1, "warmpool_expander_stalled no-option": 0, "warmpool_pending_gpu_pods": 3,
			"warmpool_cluster_view_age_seconds": 0, "warmpool_cluster_source_up pods": 1,
		} {
			if v, ok := got[key]; !ok || v != want {
				t.Errorf("%s = %v (%v), want %v", key, v, ok, want)
			}
		}
	})
}

// TestAskedForIsBounded: callers who invent pods take the place of the oldest ones, and never more than that.
func TestAskedForIsBounded(t *testing.T) {
	var d demand
	now := time.Now()
	ask := func(round, pods int) {
		var r expander.Request
		for i := range pods {
			r.Pods = append(r.Pods, expander.Pod{UID: fmt.Sprint(round, "-", i)})
		}
		d.observe(nil, &r, now.Add(time.Duration(round)*time.Second))
	}
	for round := range 5 {
		ask(round, mostAsked/2)
	}
	if len(d.lastAsked) != mostAsked {
		t.Errorf("%d pods are remembered, want %d", len(d.lastAsked), mostAsked)
	}
	if at, _ := d.asked("4-0"); at.IsZero() {
		t.Error("the newest pods are forgotten")
	}
	if at, _ := d.asked("0-0"); !at.IsZero() {
		t.Error("the oldest pods are still there")
	}
	ask(6, 2*mostAsked)
	if len(d.lastAsked) != mostAsked {
		t.Errorf("%d pods of one request are remembered, want %d", len(d.lastAsked), mostAsked)
	}
}

// An API server that takes long to write an event does not keep the view from what it shows.
func TestViewDoesNotWaitForEvents(t *testing.T) {
	inWorld(t, Options{WatchStalls: true}, func() []runtime.Object {
		return these(podOf("ai", "p", withGPU(1), unschedulable), statusOf(statusNow(groupLine("g", 1, 1, 3, "{}"))))
	}, func(w *world) {
		writing, seen := make(chan struct{}), make(chan struct{})
		defer close(seen)
		began := sync.OnceFunc(func() { close(writing) })
		react(&w.typed.Fake, "create", "events", func(ktesting.Action) (bool, runtime.Object, error) {
			began()
			<-seen
			return true, nil, nil
		})
		<-writing // two minutes later
		// The tracker stands for the API server's watches; client-go's fake makes further calls wait.
		w.must(w.typed.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), statusOf(statusNow(groupLine("g", 1, 1, 3, backoffNow))), "kube-system"))
		w.wait(1100 * time.Millisecond)
		if g := w.groups()["g"]; g.Backoff == nil {
			t.Errorf("the backoff is not in the view: %+v", g)
		}
	})
}
