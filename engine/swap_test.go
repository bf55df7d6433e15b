package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/link"
)

// swapsBack turns the moving back to spot on for the instance that computes.
func (b *bridged) swapsBack() {
	on := *b.config.Load()
	on.Rebalance.Mode = config.Swap
	b.config.Store(&on)
}

// Two replicas fell back during an outage. When spot can be had again the target has one more, whose node the Cluster
// Autoscaler orders from spot; when it serves the target is what it was, and the replica that goes by its cost is one that
// fell back. The other one waits for the end of the trial.
func TestSwap(t *testing.T) { inBoth(t, "0", swap) }

func swap(t *testing.T, b *bridged) {
	b.swapsBack()
	b.source.setDemand("ml", "chat", 3)
	b.add("f1", "od-a", true)
	b.add("f2", "od-a", true)
	b.add("s1", "spot-a", true)
	b.register("spot-a", 1)
	b.register("od-a", 2)
	b.ask("unrelated")
	b.tick(0)
	var at time.Duration
	step := func(want int) string {
		t.Helper()
		at += 15 * time.Second
		d := b.tick(at)
		if d.Replicas != want {
			t.Fatalf("after %v: %d replicas, want %d: %s", at, d.Replicas, want, d.Text)
		}
		return d.Text
	}
	for range 3 { // costs are written and seen
		at += 15 * time.Second
		b.tick(at)
	}
	if text := step(4); !strings.Contains(text, "+1 while a replica moves back to spot") {
		t.Errorf("the decision does not say why: %s", text)
	}
	b.add("s2", "", false)
	if got := b.ask("s2"); got != "spot-a" {
		t.Fatalf("the replacement is ordered from %s", got)
	}
	for range 8 {
		step(4)
	}
	r := &b.target.Replicas[len(b.target.Replicas)-1]
	r.Node, r.Pool, r.Ready = "node-s2", "spot-a", true
	b.register("spot-a", 2)
	step(3)
	for i := range b.target.Replicas { // the controller takes the lowest cost
		r := &b.target.Replicas[i]
		if fallBack := r.Pool == "od-a"; fallBack != (r.Cost != nil && *r.Cost == link.CostFallBack) {
			t.Fatalf("replica %s on %s carries %v", r.ID, r.Pool, r.Cost)
		}
	}
	b.remove("f1")
	for range 100 {
		step(3) // on trial
	}
	if l, _ := b.Ledger(b.id); l.Swap == nil || !strings.Contains(l.Swap.Text, "on trial on spot-a") {
		t.Errorf("the ledger says %+v", l.Swap)
	}
	at += 6 * time.Minute
	if d := b.tick(at); d.Replicas != 4 {
		t.Errorf("%d replicas after the trial, want one more: %s", d.Replicas, d.Text)
	}
}

// A leader that takes over in the middle goes on with the swap, and does not begin another one.
func TestNewLeaderGoesOnWithTheSwap(t *testing.T) {
	b := newApart(t, "0")
	b.swapsBack()
	b.source.setDemand("ml", "chat", 2)
	b.add("f1", "od-a", true)
	b.add("s1", "spot-a", true)
	b.ask("unrelated")
	for i := range 4 {
		b.tick(time.Duration(i) * 15 * time.Second)
	}
	if d := b.tick(time.Minute); d.Replicas != 3 {
		t.Fatalf("%d replicas, want one more: %s", d.Replicas, d.Text)
	}
	began := b.links.byID[b.id].Swap.Since
	b.add("s2", "spot-a", false)
	b.Engine = b.join(b.meeting)
	b.swapsBack()
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	// It knows nothing of the last target here, and holds what there is for its window.
	for i := range 8 {
		b.tick(75*time.Second + time.Duration(i)*15*time.Second)
	}
	if d := b.tick(4 * time.Minute); d.Replicas != 3 || d.Swapping != 1 {
		t.Errorf("%d replicas, %d swapping with the new leader, want 3 and 1: %s", d.Replicas, d.Swapping, d.Text)
	}
	if got := b.links.byID[b.id].Swap.Since; !got.Equal(began) {
		t.Errorf("the swap began at %v, with the new leader at %v", began, got)
	}
}

// Without the mode, and with advice alone, nothing moves.
func TestAdviceMovesNothing(t *testing.T) {
	b := newBridged(t, "0")
	b.source.setDemand("ml", "chat", 2)
	b.add("f1", "od-a", true)
	b.add("s1", "spot-a", true)
	b.ask("unrelated")
	for i := range 20 {
		if d := b.tick(time.Duration(i) * 15 * time.Second); d.Replicas != 2 || d.Swapping != 0 {
			t.Fatalf("%d replicas: %s", d.Replicas, d.Text)
		}
	}
	if l, _ := b.Ledger(b.id); l.Swap != nil {
		t.Errorf("a swap without the mode: %+v", l.Swap)
	}
}
