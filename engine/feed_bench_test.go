package engine

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkBoard is what a follower costs the engine of the leader each tick: every service is published, with its state
// encoded. The decisions are encoded where they are sent.
func BenchmarkBoard(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, _ := fleet(b, n)
			e.Lead(1)
			e.Tick(b.Context(), time.Unix(1_800_000_015, 0))
			e.Tick(b.Context(), time.Unix(1_800_000_030, 0))
			e.clock = func() time.Time { return time.Unix(1_800_000_030, 0) }
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				sub, err := e.Subscribe()
				if err != nil {
					b.Fatal(err)
				}
				u, err := sub.Next(b.Context(), time.Second)
				if err != nil || len(u.Entries) != n {
					b.Fatalf("%d entries, %v", len(u.Entries), err)
				}
				bytes = 0
				for i := range u.Entries {
					bytes += len(u.Entries[i].State)
				}
				sub.Close()
			}
			b.ReportMetric(float64(bytes)/float64(n), "state-B/service")
		})
	}
}
