package predictor

import (
	"testing"
	"time"
)

// TestOrderFor: at the share in force it is the order of the binding slot, and it never falls with the share.
func TestOrderFor(t *testing.T) {
	s, err := New(Settings{PerReplica: 2, Mode: Active, Lead: 10 * time.Minute, MaxShort: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for i := range 21 * 288 {
		at := start.Add(time.Duration(i) * 5 * time.Minute)
		rate := 4 + float64(i*7919%13)/10
		if h := at.Hour(); h >= 9 && h < 17 {
			rate *= 5
		}
		s.Observe(at, rate, true)
		if i < 8*288 || i%37 != 0 {
			continue
		}
		p := s.Plan(Request{Now: at.Add(5 * time.Minute)})
		if p.Binding < 0 {
			continue
		}
		if got, want := s.OrderFor(&p, p.MaxShort), p.Slots[p.Binding].Replicas; got != want {
			t.Fatalf("%s: %d at the share in force, the order is %d", at, got, want)
		}
		last := 0
		for _, share := range []float64{0.1, 0.02, 0.01, 0.002, 0.0005} {
			order := s.OrderFor(&p, share)
			if order < last {
				t.Fatalf("%s: %d replicas at a share of %v, %d at a larger one", at, order, share, last)
			}
			last = order
		}
	}
	p := s.Plan(Request{Now: start.Add(21 * 24 * time.Hour)})
	p.Stated = true
	if got := s.OrderFor(&p, 0.01); got != 0 {
		t.Errorf("%d with a stated price", got)
	}
}
