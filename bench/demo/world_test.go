package demo

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/link"
)

var monday = time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)

// drive runs the world for a while with a fixed rule for replicas and a fixed preference among node groups.
func drive(t *testing.T, w *world, span time.Duration, replicas func() int) []sim.Event {
	t.Helper()
	var events []sim.Event
	for at := w.queue.Now().Add(step); !at.After(w.start.Add(span)); at = at.Add(step) {
		w.advance(at)
		if at.Sub(w.start)%sim.HPASync == 0 {
			w.scrape()
			if n := replicas(); n != w.replicas {
				w.scaleTo(n, at)
			}
		}
		if at.Sub(w.start)%sim.ScanInterval == 0 {
			w.autoscale(func(o offer) []string { return o.ids()[:1] })
		}
		events = append(events, w.takeEvents()...)
	}
	return events
}

// TestDayBegins checks the world before anybody has touched it.
func TestDayBegins(t *testing.T) {
	w, err := newWorld(monday, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(w.readyBefore); got != smallest {
		t.Errorf("%d replicas are ready at midnight, want %d", got, smallest)
	}
	if pods := w.Pods(namespace, scaledObject); !pods.Known || pods.Ready != smallest || len(pods.StartTimes) != smallest {
		t.Errorf("pods %+v", pods)
	}
	if w.Pods(namespace, "other").Known {
		t.Error("the pods of another scaled object are known")
	}
	h, err := w.History(t.Context(), config.Query{}, monday.Add(-time.Hour), monday.Add(time.Hour), 5*time.Minute)
	if err != nil || len(h) != 24 {
		t.Fatalf("%d slots of history, %v", len(h), err)
	}
	for i, v := range h {
		if past := i < 12; past != (v > 0) { // NaN and the future are not above 0
			t.Errorf("slot %d before and after midnight: %v", i, v)
		}
	}
}

// TestReplicasComeAndGo follows four more replicas until they serve, and back.
func TestReplicasComeAndGo(t *testing.T) {
	w, err := newWorld(monday, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := smallest + 4
	drive(t, w, 20*time.Minute, func() int { return want })
	if got := len(w.readyBefore); got != want {
		t.Fatalf("%d replicas are ready after 20 min, want %d", got, want)
	}
	if s := w.startTimes[len(w.startTimes)-1]; s < 3*time.Minute || s > 9*time.Minute {
		t.Errorf("the last one took %s to start", s)
	}
	want = smallest
	drive(t, w, 40*time.Minute, func() int { return want })
	if got := len(w.readyBefore); got != want {
		t.Errorf("%d replicas are left, want %d", got, want)
	}
	b := w.queue.Balance(monday)
	if b.Arrived != b.Served+b.Dropped+b.InService+b.Waiting {
		t.Errorf("requests were lost: %+v", b)
	}
}

// TestSpotIsReclaimed: with every replica on spot the morning outage kills them, and the ReplicaSet replaces them.
func TestSpotIsReclaimed(t *testing.T) {
	w, err := newWorld(monday, 1)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, e := range drive(t, w, 11*time.Hour, func() int { return 8 }) {
		if e.Kind == sim.PodKilled {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no pod was killed by the spot outage from 09:20 on")
	}
	if got := len(w.replicaPods()); got != 8 {
		t.Errorf("%d replicas exist after the outage, want 8", got)
	}
}

// The pod with the lowest deletion cost goes first, also when it is the oldest.
func TestDeletionCostsAreHonoured(t *testing.T) {
	w, err := newWorld(monday, 1)
	if err != nil {
		t.Fatal(err)
	}
	drive(t, w, 30*time.Minute, func() int { return 4 })
	pods := w.replicaPods()
	oldest := slices.MaxFunc(pods, func(a, b sim.PodState) int { return cmp.Compare(a.Age, b.Age) })
	w.WriteCosts(namespace, []link.CostChange{{ID: oldest.UID, Cost: link.CostFallBack}})
	w.publish()
	target, _, _ := w.ReplicasOf(namespace, scaledObject, monday)
	for _, r := range target.Replicas {
		if marked := r.Cost != nil && *r.Cost == link.CostFallBack; marked != (r.ID == oldest.UID) {
			t.Errorf("%s carries %v", r.ID, r.Cost)
		}
	}
	w.scaleTo(3, w.queue.Now())
	if slices.ContainsFunc(w.replicaPods(), func(p sim.PodState) bool { return p.UID == oldest.UID }) || len(w.replicaPods()) != 3 {
		t.Errorf("%d pods are left, the marked one among them or not: %v", len(w.replicaPods()), w.replicaPods())
	}
}
