package predictor

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The usual peak is that of an obvious twin: sort what is known of 28 days and take rank ceil(0.995 n).
func TestUsualPeakAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(halfHours())
		if err != nil {
			t.Fatal(err)
		}
		days := rapid.IntRange(1, 33).Draw(t, "days")
		height := rapid.Float64Range(1, 500).Draw(t, "height")
		every := rapid.IntRange(3, 90).Draw(t, "peak every")
		var rates []float64
		for i := range days * 48 {
			y := math.Mod(float64(i)*math.Phi, 1) * 10
			switch {
			case i%every == 0:
				y += height
			case i%17 == 5:
				y = math.NaN()
			}
			s.Observe(monday.Add(time.Duration(i)*30*time.Minute), y, !math.IsNaN(y))
			rates = append(rates, y)
		}
		recent := slices.DeleteFunc(rates[max(0, len(rates)-28*48):], math.IsNaN)
		want := 0
		if len(recent) >= 48 {
			slices.Sort(recent)
			rank := int(math.Ceil(0.995*float64(len(recent)) - 1e-9))
			want = Replicas(float64(float32(recent[rank-1])), 5)
		}
		for range 2 {
			if got := s.Plan(Request{Now: monday.AddDate(0, 0, days)}).UsualPeak; got != want {
				t.Fatalf("usual peak %d, want %d of %d known slots", got, want, len(recent))
			}
		}
	})
}

// Forecasts of more replicas than came are not misses where the real prewarms are counted.
func TestCountedMissesAreTheRecord(t *testing.T) {
	s, at := grown(t)
	s.settings.Mode = Active
	for range missesBeforeBrake {
		s.prewarms.misses[ring(s.prewarms.missed, missKept)] = s.history.newest
		s.prewarms.missed++
	}
	if p := s.Plan(Request{Now: at}); p.Mode != Shadow || p.Reasons[0] != Misses {
		t.Errorf("nobody counts: mode %s, reasons %v", p.Mode, p.Reasons)
	}
	if p := s.Plan(Request{Now: at, Counted: true}); p.Mode != Active {
		t.Errorf("none of the prewarms was missed: mode %s, reasons %v", p.Mode, p.Reasons)
	}
	if p := s.Plan(Request{Now: at, Misses: 3, Counted: true}); p.Mode != Shadow {
		t.Errorf("three prewarms were missed: mode %s", p.Mode)
	}
}

// Three misses that somebody else counted put the service into shadow, at once and also in mode auto, where they turn
// the switch and so start its dwell.
func TestForeignMissesAreABrake(t *testing.T) {
	for _, mode := range []Mode{Active, Auto} {
		s, at := grown(t)
		s.settings.Mode = mode
		s.turn = Switch{Active: true}
		if p := s.Plan(Request{Now: at, Misses: 2}); p.Mode != Active {
			t.Errorf("%s, two misses: mode %s, reasons %v", mode, p.Mode, p.Reasons)
		}
		if p := s.Plan(Request{Now: at, Misses: 3}); p.Mode != Shadow || p.Reasons[0] != Misses {
			t.Errorf("%s, three misses: mode %s, reasons %v", mode, p.Mode, p.Reasons)
		}
		if s.turn.Active || !s.turn.Since.Equal(at) {
			t.Errorf("%s: the switch is %+v, want it turned off now", mode, s.turn)
		}
		p := s.Plan(Request{Now: at.Add(time.Minute), Misses: 2})
		if want := map[Mode]Mode{Active: Active, Auto: Shadow}[mode]; p.Mode != want {
			t.Errorf("%s, when one miss is a day old: mode %s, want %s", mode, p.Mode, want)
		}
	}
}
