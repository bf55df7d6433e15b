package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// observingCluster knows the claims of every pod and the replicas of every target.
type observingCluster struct {
	fakeCluster
	seen     int
	current  int
	tolerant float64
}

func (c *observingCluster) ObserveRequest(_ *expander.Policy, r expander.Request, _ time.Time) expander.Request {
	if c.panic {
		panic("informer cache is gone")
	}
	c.seen++
	r.Pods = append([]expander.Pod{}, r.Pods...)
	r.Pods[0].Devices = map[string]int64{"gpu.example.com": 2}
	return r
}

func (c *observingCluster) Replicas(string, string) (int, float64) { return c.current, c.tolerant }

// What the view of the cluster knows of a request is in the situation that the decision was made in; a fault in it
// costs nothing but that.
func TestClusterObservesRequests(t *testing.T) {
	for _, broken := range []bool{false, true} {
		c := &observingCluster{fakeCluster: fakeCluster{panic: broken}}
		e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), Cluster: c})
		request := gpuRequest()
		got := e.observed(e.config.Load().Expander, request, time.Now())
		if d := got.Pods[0].Devices["gpu.example.com"]; (d == 2) == broken {
			t.Errorf("broken %v: the pod has %d devices", broken, d)
		}
		if request.Pods[0].Devices != nil {
			t.Error("the caller's request was changed")
		}
		if _, err := e.BestOptions(t.Context(), request); err != nil {
			t.Error(err)
		}
		if !broken && c.seen != 2 {
			t.Errorf("observed %d requests, want 2", c.seen)
		}
	}
}

// The autoscaler's own count and tolerance win over a count of pods and a default; unknown ones do not.
func TestReplicasOfTheAutoscaler(t *testing.T) {
	for _, c := range []struct {
		current  int
		tolerant float64
		want     scaler.Inputs
	}{
		{3, 0, scaler.Inputs{CurrentReplicas: 3, HPATolerance: 0}},
		{-1, -1, scaler.Inputs{CurrentReplicas: 7, HPATolerance: defaultTolerance}},
	} {
		e := newTestEngine(t, Options{
			Config: parseConfig(t, expanderYAML), Cluster: &observingCluster{current: c.current, tolerant: c.tolerant},
		})
		in := scaler.Inputs{CurrentReplicas: 7, HPATolerance: defaultTolerance}
		e.readReplicas(&Trigger{Namespace: "ml", ScaledObject: "llm"}, &in)
		if in.CurrentReplicas != c.want.CurrentReplicas || in.HPATolerance != c.want.HPATolerance {
			t.Errorf("current %d tolerance %v: inputs %d %v", c.current, c.tolerant, in.CurrentReplicas, in.HPATolerance)
		}
	}
}

// sharedStore is a store that another instance has just written to.
type sharedStore struct{ news []expander.History }

func (*sharedStore) Load(context.Context) (expander.History, error) { return expander.History{}, nil }

func (*sharedStore) Save(_ context.Context, h expander.History) (expander.History, error) {
	return h, nil
}

func (s *sharedStore) News() (expander.History, bool) {
	if len(s.news) == 0 {
		return expander.History{}, false
	}
	first := s.news[0]
	s.news = s.news[1:]
	return first, true
}

// A group that failed for another instance a minute ago is left alone in the very next request.
func TestNewsOfAnotherInstance(t *testing.T) {
	now := time.Now()
	failed := expander.History{Version: expander.HistoryVersion, Groups: map[string]expander.GroupHistory{
		"inference-a": {Failures: []expander.FailureRecord{{At: now.Add(-time.Minute), Class: expander.FailureStock, Proven: true}}},
	}}
	for _, news := range [][]expander.History{nil, {failed}} {
		e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), History: &sharedStore{news}})
		d, err := e.BestOptions(t.Context(), gpuRequest())
		if err != nil {
			t.Fatal(err)
		}
		want := "inference-a"
		if news != nil {
			want = "spot-a"
		}
		if len(d.Answer) != 1 || d.Answer[0] != want {
			t.Errorf("news %v: answer %v, want %s", news != nil, d.Answer, want)
		}
	}
}

type damagedError struct{}

func (damagedError) Error() string { return "damaged" }
func (damagedError) Corrupt() bool { return true }

func TestIsCorruptOfOtherStores(t *testing.T) {
	if !IsCorrupt(fmt.Errorf("load: %w", damagedError{})) || IsCorrupt(errors.New("unreachable")) {
		t.Error("a damaged content and an unreachable store are not told apart")
	}
}
