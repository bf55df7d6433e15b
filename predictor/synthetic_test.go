package predictor

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"
)

// feed observes the slots of [from, to) with rates by instant; NaN is missing.
func feed(s *Service, from, to time.Time, rate func(time.Time) float64) {
	for at := from; at.Before(to); at = at.Add(s.settings.Step) {
		y := rate(at)
		s.Observe(at, y, !math.IsNaN(y))
	}
}

func newService(t testing.TB, s Settings) *Service {
	t.Helper()
	if s.PerReplica == 0 {
		s.PerReplica = 8
	}
	out, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustLoad(t testing.TB, zone string) *time.Location {
	t.Helper()
	loc, err := LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// wave is a daily and weekly pattern by local clock with noise and rare bursts,
// the same for the same instant and seed.
func wave(loc *time.Location, seed uint64) func(time.Time) float64 {
	return func(at time.Time) float64 {
		local := at.In(loc)
		r := rand.New(rand.NewPCG(seed, uint64(at.Unix())))
		minute := float64(local.Hour()*60 + local.Minute())
		y := 30 + 25*math.Sin(2*math.Pi*(minute-540)/1440)
		if d := local.Weekday(); d == time.Saturday || d == time.Sunday {
			y *= 0.4
		}
		y *= math.Exp(0.12 * r.NormFloat64())
		if r.IntN(400) == 0 {
			y *= 2.5
		}
		return y
	}
}

func closeTo(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
