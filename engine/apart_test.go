package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// meeting is what several instances share: a history and notes, as two ConfigMaps do. It is used by one goroutine.
type meeting struct {
	history  expander.History
	notes    map[string]string
	revision uint64
	written  map[string]int
	revised  map[string]uint64
}

func newMeeting() *meeting {
	return &meeting{notes: map[string]string{}, written: map[string]int{}, revised: map[string]uint64{}}
}

// attendant is one instance's end of it.
type attendant struct {
	*meeting
	seen uint64
}

func (a *attendant) Load(context.Context) (expander.History, error) { return a.history, nil }

func (a *attendant) Save(_ context.Context, h expander.History) (expander.History, error) {
	a.revision++
	a.history = expander.MergeHistory(a.history, h)
	return a.history, nil
}

func (a *attendant) News() (expander.History, bool) {
	if a.seen == a.revision {
		return expander.History{}, false
	}
	a.seen = a.revision
	return a.history, true
}

func (a *attendant) Peek() (expander.History, uint64) { return a.history, a.revision }

func (a *attendant) Put(key string, text []byte) {
	a.revision++
	a.notes[key], a.revised[key] = string(text), a.revision
	a.written[key]++
}

func (a *attendant) Get(key string) ([]byte, uint64) { return []byte(a.notes[key]), a.revised[key] }

// join makes the engine of one more instance over the same cluster, with the same configuration.
func (b *bridged) join(m *meeting) *Engine {
	a := &attendant{meeting: m}
	return newTestEngine(b.t, Options{
		Config: b.config.Load(), Source: b.source, Cluster: b.bridge, Clock: func() time.Time { return b.now }, History: a, Notes: a,
	})
}

// newApart is a bridged whose Cluster Autoscaler asks another instance than its KEDA.
func newApart(t *testing.T, base string, rules ...bool) *bridged {
	t.Helper()
	b := newBridged(t, base, rules...)
	b.meeting = newMeeting()
	b.Engine, b.asked = b.join(b.meeting), b.join(b.meeting)
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	return b
}

// inBoth runs a story with both halves in one process, and with each in an instance of its own.
func inBoth(t *testing.T, base string, story func(t *testing.T, b *bridged)) {
	t.Run("one process", func(t *testing.T) { story(t, newBridged(t, base)) })
	t.Run("halves apart", func(t *testing.T) { story(t, newApart(t, base)) })
}

// What is told is told once: a cluster in which nothing happens costs no writes.
func TestNothingNewIsNotWritten(t *testing.T) {
	b := newApart(t, "0")
	b.source.setDemand("ml", "chat", 1)
	b.add("p0", "spot-a", true)
	for i := range 40 {
		b.ask("unrelated")
		b.tick(time.Duration(i+1) * 15 * time.Second)
	}
	if b.meeting.written[asksKey] != 1 || b.meeting.written[computesKey] != 1 {
		t.Errorf("written %v in ten minutes, want each once", b.meeting.written)
	}
}

// A new leader goes on with the ceiling and the late nodes of the one before: neither is begun anew.
func TestNewLeaderRemembersTheLink(t *testing.T) {
	b := newApart(t, "0")
	b.source.setDemand("ml", "chat", 10)
	for i := range 10 {
		b.add("p"+string(rune('a'+i)), "spot-a", true)
	}
	b.register("spot-a", 10)
	b.ask("unrelated")
	b.tick(0)
	for id := range b.groups {
		g := b.groups[id]
		g.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: bridgeNoon}
		b.groups[id] = g
	}
	b.source.setDemand("ml", "chat", 20)
	if d := b.tick(15 * time.Second); d.Replicas != 11 {
		t.Fatalf("%d replicas with the first leader, want 11", d.Replicas)
	}
	b.add("pk", "", false)
	b.tick(30 * time.Second)
	b.Engine = b.join(b.meeting)
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	for i := range 4 {
		if d := b.tick(45*time.Second + time.Duration(i)*15*time.Second); d.Replicas != 11 {
			t.Fatalf("%d replicas with the second leader, want 11: %s", d.Replicas, d.Text)
		}
	}
	b.now = b.now.Add(time.Hour) // longer ago than anybody should go on from
	b.Engine = b.join(b.meeting)
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	if d := b.tick(b.now.Sub(bridgeNoon)); d.Replicas <= 11 {
		t.Errorf("%d replicas by a memory of an hour ago", d.Replicas)
	}
}

// The boots outlive the process, with notes and with a data directory alone.
func TestBootsOutliveTheProcess(t *testing.T) {
	b := newApart(t, "0")
	b.source.setDemand("ml", "chat", 1)
	b.add("p0", "spot-a", true)
	end := b.learn()
	b.Engine = b.join(b.meeting)
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	b.tick(end)
	if usual, ok := b.links.boots.Quantile("spot-a", 0.9); !ok || usual != 3*time.Minute {
		t.Errorf("boots by notes: %v, %v", usual, ok)
	}
	dir := t.TempDir()
	open := func() *Store {
		store, err := OpenStore(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	b.store = open()
	b.saveAll(true)
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	store := open()
	defer store.Close()
	again := newTestEngine(t, Options{Config: b.config.Load(), Store: store, Clock: func() time.Time { return b.now }})
	again.Tick(t.Context(), b.now)
	if usual, ok := again.links.boots.Quantile("spot-a", 0.9); !ok || usual != 3*time.Minute {
		t.Errorf("boots by the data directory: %v, %v", usual, ok)
	}
}

// A note of a later version, or one that is damaged, is as good as none.
func TestNotesThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"{", `{"version":2,"boots":{"spot-a":[1,2,3,4,5]},"groups":[{"ID":"x"}]}`} {
		b := newApart(t, "0")
		end := &attendant{meeting: b.meeting}
		end.Put(asksKey, []byte(text))
		end.Put(computesKey, []byte(text))
		b.source.setDemand("ml", "chat", 3)
		b.add("p0", "spot-a", true)
		if d := b.tick(0); d.Replicas != 3 || strings.Contains(d.Text, "capacity") {
			t.Errorf("%s: %d replicas: %s", text, d.Replicas, d.Text)
		}
		if _, ok := b.links.boots.Quantile("spot-a", 0.5); ok {
			t.Errorf("%s: boots were taken over", text)
		}
	}
}

// The page of the instance that computes knows the node groups that the other one was asked about.
func TestPoolsOfTheInstanceThatWasNotAsked(t *testing.T) {
	b := newApart(t, "0")
	b.ask("unrelated")
	b.tick(15 * time.Second)
	p := b.Pools()
	if len(p.Groups) != 2 || p.Groups[0].Pool != "spot" || p.Groups[1].Pool != "firm" || !p.LastRequest.Equal(bridgeNoon) {
		t.Errorf("groups %+v, last request %v", p.Groups, p.LastRequest)
	}
}
