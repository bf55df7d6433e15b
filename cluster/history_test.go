package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

// shared is one ConfigMap's worth of cluster with several instances of the store.
type shared struct {
	t      *testing.T
	client *fake.Clientset
	end    []func()
}

// withStores runs a test in virtual time. The fake compares no resource versions, as the real API server does: that
// is added here, with a new version for each write.
func withStores(t *testing.T, objects []runtime.Object, test func(s *shared)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shared{t: t, client: fake.NewClientset(objects...)}
		var mu sync.Mutex
		version := 0
		react(&s.client.Fake, "update", "configmaps", func(a ktesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			next := a.(ktesting.UpdateAction).GetObject().(*corev1.ConfigMap)
			now, err := s.client.Tracker().Get(a.GetResource(), a.GetNamespace(), next.Name)
			if err != nil {
				return true, nil, err
			}
			if now.(*corev1.ConfigMap).ResourceVersion != next.ResourceVersion {
				return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), next.Name, errors.New("changed meanwhile"))
			}
			version++
			next = next.DeepCopy()
			next.ResourceVersion = fmt.Sprint("v", version)
			return true, next, s.client.Tracker().Update(a.GetResource(), next, a.GetNamespace())
		})
		defer func() {
			for _, end := range s.end {
				end()
			}
		}()
		test(s)
	})
}

// instance starts a store; end stops it and waits for its last write.
func (s *shared) instance() (h *History, end func()) {
	h = NewHistory(&Clients{Kubernetes: s.client, Namespace: "warmpool"}, nil)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		h.Run(ctx)
		close(ended)
	}()
	end = func() {
		cancel()
		<-ended
	}
	s.end = append(s.end, end)
	synctest.Wait()
	return h, end
}

func (s *shared) content() *corev1.ConfigMap {
	s.t.Helper()
	m, err := s.client.CoreV1().ConfigMaps("warmpool").Get(s.t.Context(), HistoryName, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func failureOf(group string, at time.Time) expander.History {
	return expander.History{Version: expander.HistoryVersion, Groups: map[string]expander.GroupHistory{
		group: {Failures: []expander.FailureRecord{{At: at.UTC().Truncate(time.Millisecond), Class: expander.FailureStock, Proven: true}}},
	}}
}

func groupsOf(h expander.History) map[string]bool {
	known := map[string]bool{}
	for id := range h.Groups {
		known[id] = true
	}
	return known
}

// Two instances that write at the same time lose nothing, and each learns what the other wrote.
func TestHistoryIsShared(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a, _ := s.instance()
		b, _ := s.instance()
		for _, h := range []*History{a, b} {
			if loaded, err := h.Load(t.Context()); err != nil || len(loaded.Groups) != 0 {
				t.Fatalf("%+v, %v before anything was written", loaded, err)
			}
		}
		if _, err := a.Save(t.Context(), failureOf("one", time.Now())); err != nil {
			t.Error(err)
		}
		if _, err := b.Save(t.Context(), failureOf("two", time.Now())); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		want := map[string]bool{"one": true, "two": true}
		stored, err := decodeHistory(s.content().Data[historyKey])
		if diff := cmp.Diff(want, groupsOf(stored)); diff != "" || err != nil {
			t.Errorf("stored: %v\n%s", err, diff)
		}
		for name, h := range map[string]*History{"a": a, "b": b} {
			news, ok := h.News()
			if diff := cmp.Diff(want, groupsOf(expander.MergeHistory(news, failureOf(map[string]string{"a": "one", "b": "two"}[name], time.Now())))); diff != "" {
				t.Errorf("%s: news %v:\n%s", name, ok, diff)
			}
			if _, again := h.News(); again {
				t.Errorf("%s: told twice", name)
			}
		}
	})
}

// What an instance wrote itself is no news to it, however often it looks, and what is saved during a write is written
// too.
func TestHistoryOfOneInstance(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		h, _ := s.instance()
		both := expander.MergeHistory(failureOf("one", time.Now()), failureOf("two", time.Now()))
		s.refuse("create", func(int) error {
			_, err := h.Save(t.Context(), both)
			return err
		})
		_, _ = h.Save(t.Context(), failureOf("one", time.Now()))
		time.Sleep(writeEvery)
		synctest.Wait()
		got, before := h.Peek()
		if diff := cmp.Diff(groupsOf(both), groupsOf(got)); diff != "" {
			t.Error(diff)
		}
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if news, ok := h.News(); ok {
			t.Errorf("news of itself: %+v", news)
		}
		if _, after := h.Peek(); after != before {
			t.Errorf("revision %d became %d without a change", before, after)
		}
	})
}

// A restart finds what was learnt, also what was saved right before the end.
func TestHistorySurvivesARestart(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a, end := s.instance()
		want := failureOf("one", time.Now())
		_, _ = a.Save(t.Context(), failureOf("other", time.Now()))
		time.Sleep(time.Millisecond)
		synctest.Wait() // written; the next one has to wait a second
		_, _ = a.Save(t.Context(), expander.MergeHistory(want, failureOf("other", time.Now())))
		end()
		b, _ := s.instance()
		got, err := b.Load(t.Context())
		if err != nil || !groupsOf(got)["one"] || !groupsOf(got)["other"] {
			t.Errorf("%v, %v", groupsOf(got), err)
		}
	})
}

// Nobody waits for an API server that does not answer; once it does, what was learnt meanwhile is written.
func TestHistoryWaitsForNobody(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		var mu sync.Mutex
		down := true
		react(&s.client.Fake, "*", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return down, nil, errors.New("connection refused")
		})
		h, _ := s.instance()
		if _, err := h.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("load: %v", err)
		}
		before := time.Now()
		if _, err := h.Save(t.Context(), failureOf("one", time.Now())); err == nil || time.Since(before) != 0 {
			t.Errorf("save: %v after %v", err, time.Since(before))
		}
		time.Sleep(2 * sharedPoll)
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if stored, err := decodeHistory(s.content().Data[historyKey]); err != nil || !groupsOf(stored)["one"] {
			t.Errorf("%v %v", stored, err)
		}
		if _, err := h.Save(t.Context(), failureOf("one", time.Now())); err != nil {
			t.Errorf("save after the outage: %v", err)
		}
	})
}

func mapOf(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "warmpool", Name: HistoryName, ResourceVersion: "7"}, Data: data}
}

// Damaged content is told once, kept aside, and replaced.
func TestDamagedHistory(t *testing.T) {
	const damaged = `{"groups": {"one": `
	withStores(t, []runtime.Object{mapOf(map[string]string{historyKey: damaged})}, func(s *shared) {
		h, _ := s.instance()
		_, err := h.Load(t.Context())
		var lost interface{ Corrupt() bool }
		if !errors.As(err, &lost) || !lost.Corrupt() || !strings.Contains(err.Error(), damagedKey) {
			t.Errorf("load: %v", err)
		}
		if _, err := h.Load(t.Context()); err != nil {
			t.Errorf("second load: %v", err)
		}
		_, _ = h.Save(t.Context(), failureOf("two", time.Now()))
		time.Sleep(sharedPoll)
		synctest.Wait()
		m := s.content()
		stored, err := decodeHistory(m.Data[historyKey])
		if err != nil || !groupsOf(stored)["two"] || m.Data[damagedKey] != damaged {
			t.Errorf("%v, %v, aside %q", stored, err, m.Data[damagedKey])
		}
	})
}

// What a later version has written is not overwritten by this one.
func TestHistoryOfALaterVersion(t *testing.T) {
	text := fmt.Sprintf(`{"version": %d}`, expander.HistoryVersion+1)
	withStores(t, []runtime.Object{mapOf(map[string]string{historyKey: text})}, func(s *shared) {
		h, _ := s.instance()
		if _, err := h.Load(t.Context()); err != nil {
			t.Error(err)
		}
		_, _ = h.Save(t.Context(), failureOf("two", time.Now()))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if got := s.content().Data[historyKey]; got != text {
			t.Errorf("overwritten by %s", got)
		}
	})
}

// The largest history that the expander keeps fits into a ConfigMap; what is left out is the oldest.
func TestHistoryIsBounded(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	full := expander.History{Version: expander.HistoryVersion, Pods: map[string]expander.PodHistory{}, Groups: map[string]expander.GroupHistory{}}
	for i := range 2000 {
		full.Pods[fmt.Sprintf("1ac3d5e7-0b2d-4f6a-8c1e-%012d", i)] = expander.PodHistory{FirstSeen: at, LastSeen: at.Add(time.Duration(i) * time.Second), Choices: []uint64{1 << 60, 1 << 61, 1 << 62}}
	}
	for i := range 500 {
		failures := make([]expander.FailureRecord, 16)
		for j := range failures {
			failures[j] = expander.FailureRecord{At: at.Add(time.Duration(j) * time.Hour), Class: expander.FailureStock, Proven: true, QuotaGroup: "quota"}
		}
		full.Groups[fmt.Sprintf("https://www.googleapis.com/compute/v1/projects/p/zones/europe-west4-a/instanceGroups/gke-main-%d-grp", i)] = expander.GroupHistory{Failures: failures, DeliveredAt: at}
		full.Choices = append(full.Choices, expander.Choice{ID: uint64(i), At: at, Group: "g", Workload: "online", Stages: map[string]int{"online": 1}})
	}
	text, kept, err := encodeHistory(full, mostHistoryBytes)
	if err != nil || len(text) > mostHistoryBytes {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	whole, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes cut to %d; %d pods, %d choices, %d groups kept", len(whole), len(text), len(kept.Pods), len(kept.Choices), len(kept.Groups))
	if len(kept.Groups) != 500 || len(kept.Pods) < 1000 {
		t.Errorf("%d groups and %d pods kept, want all groups and most pods", len(kept.Groups), len(kept.Pods))
	}
	small, kept, err := encodeHistory(full, 200<<10)
	if err != nil || len(small) > 200<<10 || len(kept.Groups) == 0 {
		t.Errorf("%d bytes, %d groups, %v", len(small), len(kept.Groups), err)
	}
	if _, _, err := encodeHistory(full, 10); err == nil {
		t.Error("ten bytes suffice")
	}
}
