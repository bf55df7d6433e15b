package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// handOver gives everything on one engine's board to another one.
func handOver(t *testing.T, from, to *Engine) {
	t.Helper()
	sub, err := from.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	u, err := sub.Next(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Receive(u); err != nil {
		t.Fatal(err)
	}
}

// TestFollowerComputesNothing keeps the ticks of a follower from the metric store, and its old ticks from the board.
func TestFollowerComputesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 3)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		e.Lead(1)
		start := time.Now()
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 3)

		// A tick is on its way when the lease is lost: its answer must not reach the board.
		source.setDemand("ml", "chat", 9)
		source.mu.Lock()
		for expr := range source.values {
			source.delays[expr] = 5 * time.Second
		}
		source.mu.Unlock()
		done := make(chan struct{})
		go func() { defer close(done); e.Tick(t.Context(), start.Add(15*time.Second)) }()
		time.Sleep(time.Second)
		e.Follow("")
		<-done
		wantTarget(t, e, id, 3)

		reads := len(source.requests)
		e.Tick(t.Context(), start.Add(30*time.Second))
		e.Activate(t.Context(), start.Add(31*time.Second))
		if len(source.requests) != reads {
			t.Error("a follower read the metric store")
		}
		wantTarget(t, e, id, 3)
		if _, err := e.Subscribe(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("a follower gives out its board: %v", err)
		}
	})
}

// TestFollowerStoresWhatItServes restarts a follower from its own data directory: it must know the leader's last answer,
// not the one of its own time as leader.
func TestFollowerStoresWhatItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, c := newFakeSource(), testConfig(t, serviceYAML("ml", "chat", ""))
		source.setDemand("ml", "chat", 2)
		store, err := OpenStore(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		leader := newTestEngine(t, Options{Config: c, Source: source})
		follower := newTestEngine(t, Options{Config: c, Source: source, Store: store})
		id := mustResolve(t, leader, triggerOf("ml", "object", "chat"))
		mustResolve(t, follower, triggerOf("ml", "object", "chat"))
		leader.Lead(1)
		follower.Tick(t.Context(), time.Now()) // it computed 2 once
		wantTarget(t, follower, id, 2)
		follower.Follow("leader")
		source.setDemand("ml", "chat", 20)
		leader.Tick(t.Context(), time.Now().Add(15*time.Second))
		handOver(t, leader, follower)
		wantTarget(t, follower, id, 20)
		follower.saveAll(true)
		stored, ok := store.state(id)
		if !ok || stored.N != 20 {
			t.Errorf("stored %d, %v; want 20", stored.N, ok)
		}
	})
}

// TestLeaderAgain leads, is cut off for an hour without a board, and leads again: what it remembers is no state to go on
// from, but its answer starts a window.
func TestLeaderAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.rewind = true
		source.setDemand("ml", "chat", 20)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		start := time.Now()
		e.Lead(1)
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 20)
		e.Follow("")
		source.setDemand("ml", "chat", 1)
		sleepUntil(t.Context(), start.Add(time.Hour))
		if _, err := e.Target(id); !errors.Is(err, ErrNoData) {
			t.Errorf("an hour without a leader: %v, want no answer", err)
		}
		e.Lead(2)
		for at := time.Hour; at < time.Hour+60*time.Second; at += 15 * time.Second {
			e.Tick(t.Context(), start.Add(at))
			wantTarget(t, e, id, 20)
			sleepUntil(t.Context(), start.Add(at+15*time.Second))
		}
		e.Tick(t.Context(), start.Add(time.Hour+75*time.Second))
		wantTarget(t, e, id, 1)
	})
}

// TestUnreadableState is a leader of another version: its answer holds for a window.
func TestUnreadableState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, state := range map[string][]byte{"none": nil, "damaged": []byte("{"), "never valid": []byte(`{"valid":false}`)} {
			source, c := newFakeSource(), testConfig(t, serviceYAML("ml", "chat", ""))
			source.rewind = true
			source.setDemand("ml", "chat", 20)
			leader := newTestEngine(t, Options{Config: c, Source: source})
			next := newTestEngine(t, Options{Config: c, Source: source})
			id := mustResolve(t, leader, triggerOf("ml", "object", "chat"))
			leader.Lead(1)
			leader.Tick(t.Context(), time.Now())
			next.Follow("leader")
			sub, err := leader.Subscribe()
			if err != nil {
				t.Fatal(err)
			}
			u, err := sub.Next(t.Context(), time.Second)
			sub.Close()
			if err != nil {
				t.Fatal(err)
			}
			for i := range u.Entries {
				u.Entries[i].State = state
			}
			if err := next.Receive(u); err != nil {
				t.Fatal(err)
			}
			wantTarget(t, next, id, 20)
			source.setDemand("ml", "chat", 1)
			next.Lead(2)
			next.Tick(t.Context(), time.Now())
			if d := wantTarget(t, next, id, 20); d.Raw != 1 {
				t.Errorf("%s: raw %d, want 1", name, d.Raw)
			}
			time.Sleep(time.Minute + time.Second)
			next.Tick(t.Context(), time.Now())
			wantTarget(t, next, id, 1)
		}
	})
}

// TestShortIntervalHoldsUntilTheLeaseEnds lets a leader die whose evaluation interval is short: the Lease names it for 15 s
// more, and as long as it may be seen to have died the board is held.
func TestShortIntervalHoldsUntilTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, c := newFakeSource(), testConfig(t, serviceYAML("ml", "chat", ""))
		c.EvaluationInterval = time.Second
		source.setDemand("ml", "chat", 3)
		leader := newTestEngine(t, Options{Config: c, Source: source})
		mustResolve(t, leader, triggerOf("ml", "object", "chat"))
		leader.Lead(1)
		leader.Tick(t.Context(), time.Now())
		follower := newTestEngine(t, Options{Config: c, Source: source})
		id := mustResolve(t, follower, triggerOf("ml", "object", "chat"))
		follower.Follow("leader")
		handOver(t, leader, follower)
		wantTarget(t, follower, id, 3)
		time.Sleep(24 * time.Second) // the last word was 5 s old, the Lease lasts 15 s, and is looked at in turns
		wantTarget(t, follower, id, 3)
		time.Sleep(7 * time.Second)
		if _, err := follower.Target(id); !errors.Is(err, ErrNoData) {
			t.Errorf("a leader is silent for long: %v, want no answer", err)
		}
	})
}
