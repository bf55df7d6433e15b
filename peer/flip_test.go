package peer

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
)

// loadAt goes up and down, so that window, steps and their spacing all decide at some time.
func loadAt(step int) float64 {
	loads := []float64{5, 12, 30, 30, 9, 9, 9, 4, 4, 20, 20, 6, 6, 6, 6}
	return loads[min(step/4, len(loads)-1)]
}

// TestNeverFlips asks two instances in turn, with a real client, through everything that happens to instances: a leader
// that dies, one that loses its lease, a restart, a configuration that reaches one before the other, and clocks that are
// half a minute apart. At every moment both give the same answer, and it is the one that a single instance would have
// given that nothing ever happened to.
func TestNeverFlips(t *testing.T) {
	for _, skew := range []time.Duration{0, 30 * time.Second, -30 * time.Second} {
		t.Run(fmt.Sprint("clock ", skew), func(t *testing.T) { neverFlips(t, skew) })
	}
}

func neverFlips(t *testing.T, skew time.Duration) {
	w, dir := newWorld(), credentialsDir(t)
	first, second := configuration(t, 50), configuration(t, 25)
	a := start(t, w, "a", dir, 0, first)
	b := start(t, w, "b", dir, skew, first)
	alone, err := engine.New(engine.Options{Config: first, Source: w, Clock: w.at})
	if err != nil {
		t.Fatal(err)
	}
	trigger := engine.Trigger{Namespace: "ml", ScaledObject: "chat", Metadata: map[string]string{"service": "chat"}}
	id, err := alone.Resolve(trigger)
	if err != nil {
		t.Fatal(err)
	}
	a.lead(1)
	b.follow(a)
	// KEDA has asked only the follower so far; its leader has to hear of it.
	if _, err := b.ask(reference); err != nil && status.Code(err) != codes.Unavailable {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(a.engine.Board()) == 2 }, func() string { return "the leader was not told what the follower was asked for: " + a.logs.String() })

	leaderless := func(step int) bool {
		return step == 12 || step == 13 || step == 30 || step == 44
	}
	for step := range 60 {
		switch step {
		case 12: // in the middle of the rise's window
			a.kill()
			b.follow(nil)
		case 14:
			b.lead(2)
		case 16: // a new process with nothing in memory
			a = start(t, w, "a", dir, 0, first)
			a.follow(b)
		case 22: // the follower has the new configuration first
			reload(t, a, second)
		case 25:
			reload(t, b, second)
			if err := alone.Reload(second); err != nil {
				t.Fatal(err)
			}
		case 30: // the leader loses its lease and lives on, in the middle of the way down
			b.follow(nil)
			a.follow(nil)
		case 31:
			a.lead(3)
			b.follow(a)
		case 44:
			a.follow(nil)
			b.follow(nil)
		case 45:
			b.lead(4)
			a.follow(b)
		}
		w.set(loadAt(step), false)
		if !leaderless(step) {
			alone.Tick(t.Context(), w.at())
			tick(t, w, a, b)
		}
		want := -1
		if d, err := alone.Target(id); err == nil && d.Unavailable == "" {
			want = d.Replicas
		}
		for n, i := range []*instance{a, b, a, b} {
			if i.end == nil {
				continue
			}
			got, err := i.ask(reference)
			if status.Code(err) == codes.Unavailable && step < 4 {
				err = nil // before the first answer
			}
			if err != nil || got != want {
				t.Fatalf("step %d, question %d to %s: %d, %v; want %d as from one instance that lives for ever\n%s", step, n, i.name, got, err, want, i.logs)
			}
		}
		w.pass(interval)
	}
}

func reload(t *testing.T, i *instance, c *config.Config) {
	t.Helper()
	if err := i.engine.Reload(c); err != nil {
		t.Fatal(err)
	}
}
