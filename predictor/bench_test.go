package predictor

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

var grownEnd = monday.AddDate(0, 0, 35)

// grownState is the saved state of a service with five weeks of history.
var grownState = sync.OnceValues(func() ([]byte, error) {
	s, err := New(Settings{PerReplica: 8, Mode: Active, Lead: 15 * time.Minute})
	if err != nil {
		return nil, err
	}
	feed(s, monday, grownEnd, wave(time.UTC, 1))
	return s.MarshalBinary()
})

func grown(tb testing.TB) (*Service, time.Time) {
	tb.Helper()
	data, err := grownState()
	if err != nil {
		tb.Fatal(err)
	}
	s := newService(tb, Settings{Mode: Active, Lead: 15 * time.Minute})
	if err := s.UnmarshalBinary(data); err != nil {
		tb.Fatal(err)
	}
	return s, grownEnd
}

// BenchmarkDecision is what a service costs once a slot: one observation, six
// horizons, and the plan.
func BenchmarkDecision(b *testing.B) {
	s, at := grown(b)
	rate := wave(time.UTC, 1)
	b.ReportAllocs()
	for b.Loop() {
		s.Observe(at, rate(at), true)
		at = at.Add(5 * time.Minute)
		s.Plan(Request{Now: at, Lead: 15 * time.Minute, Need: 4})
	}
}

// BenchmarkTickBetweenSlots is what a service costs at the other ticks.
func BenchmarkTickBetweenSlots(b *testing.B) {
	s, at := grown(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Plan(Request{Now: at.Add(75 * time.Second), Lead: 15 * time.Minute, Need: 4})
	}
}

// BenchmarkTick decides for many services at the end of one slot.
func BenchmarkTick(b *testing.B) {
	saved, at := grown(b)
	data, err := saved.MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 1000, 8000} {
		b.Run(fmt.Sprintf("services=%d", n), func(b *testing.B) {
			services := make([]*Service, n)
			for i := range services {
				services[i] = newService(b, Settings{Mode: Active, Lead: 15 * time.Minute})
				if err := services[i].UnmarshalBinary(data); err != nil {
					b.Fatal(err)
				}
			}
			rate, now := wave(time.UTC, 1), at
			for b.Loop() {
				y := rate(now)
				next := now.Add(5 * time.Minute)
				for _, s := range services {
					s.Observe(now, y, true)
					s.Plan(Request{Now: next, Lead: 15 * time.Minute, Need: 4})
				}
				now = next
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/service")
		})
	}
}
