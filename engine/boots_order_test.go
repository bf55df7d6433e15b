package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warmpool/warmpool/link"
)

// Two orders of one group a minute apart, each three minutes on its way: the node of the first one does not end the wait
// of the second one.
func TestBootsAreLearntInOrder(t *testing.T) {
	b := newBridged(t, "0")
	b.source.setDemand("ml", "chat", 1)
	for at := time.Duration(0); at <= 4*time.Minute; at += 15 * time.Second {
		b.now = bridgeNoon.Add(at)
		switch at {
		case 0:
			b.ask("first")
		case time.Minute:
			b.ask("second")
		case 3 * time.Minute:
			b.register("spot-a", 1)
		case 4 * time.Minute:
			b.register("spot-a", 2)
		}
		b.tick(at)
	}
	want := link.Boots{}.Learn("spot-a", 3*time.Minute).Learn("spot-a", 3*time.Minute)
	if diff := cmp.Diff(want, b.links.boots, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
