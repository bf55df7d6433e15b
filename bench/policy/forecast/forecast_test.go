package forecast

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

type forecaster interface {
	Observe(y float64)
	Forecast(ahead int) float64
}

func all(g Grid) map[string]forecaster {
	return map[string]forecaster{
		"last": new(Last), "daily": Daily(g), "weekly": Weekly(g), "week maximum": NewWeekMaximum(g),
		"percentile": NewPercentile(g), "linear": NewLinear(g), "Holt-Winters": NewHoltWinters(g),
		"Kalman": NewKalman(), "harmonic": NewHarmonic(g), "profile": NewProfile(g),
	}
}

var fiveMinutes = Grid{PerDay: 288}

func TestNeverBelowZeroNorInfinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := Grid{PerDay: 48, Weekend: func(day int) bool { return day%7 >= 5 }}
		value := rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.Just(0.0), rapid.Just(math.NaN()))
		pattern := rapid.SliceOfN(value, 2, 20).Draw(rt, "pattern")
		for name, f := range all(g) {
			for i := range 400 {
				f.Observe(pattern[i%len(pattern)])
				if i%37 != 0 {
					continue
				}
				for _, h := range []int{1, 3, 13} {
					if v := f.Forecast(h); !(v >= 0 && v < 1e9) {
						rt.Fatalf("%s after %d values: %v", name, i+1, v)
					}
				}
			}
		}
	})
}

// TestFallingSeries is dynamo-14493: least squares over the last four of the falling values would give -14.2, alone as
// after 28 days at 90.
func TestFallingSeries(t *testing.T) {
	for _, before := range []int{0, 28 * fiveMinutes.PerDay} {
		for name, f := range all(fiveMinutes) {
			for range before {
				f.Observe(90)
			}
			for _, y := range []float64{90, 70, 45, 30, 12, 5, 0, 0} {
				f.Observe(y)
			}
			if v := f.Forecast(3); !(v >= 0) || math.IsInf(v, 1) {
				t.Errorf("%s after %d values: %v", name, before, v)
			}
		}
	}
	rising := NewLinear(fiveMinutes)
	for _, y := range []float64{10, 12, 14, 16} {
		rising.Observe(y)
	}
	if v := rising.Forecast(3); math.Abs(v-22) > 1e-9 {
		t.Errorf("rising line: %v, want 22", v)
	}
}

func TestProfileVector(t *testing.T) {
	if got := Scale(40, 44.8, 40); math.Abs(got-43.617) > 5e-4 {
		t.Errorf("profile = %v, want 43.617", got)
	}
}

func TestSeasonsAreFound(t *testing.T) {
	day := func(i int) float64 { return 50 + 40*math.Sin(2*math.Pi*float64(i%288)/288) }
	for _, name := range []string{"daily", "weekly", "harmonic", "profile"} {
		f := all(fiveMinutes)[name]
		n := 288 * 15
		for i := range n {
			f.Observe(day(i))
		}
		for _, h := range []int{1, 13, 72} {
			if got, want := f.Forecast(h), day(n-1+h); math.Abs(got-want) > 3 {
				t.Errorf("%s, %d ahead: %.2f, want %.2f", name, h, got, want)
			}
		}
	}
}

func TestWeekMaximum(t *testing.T) {
	f := NewWeekMaximum(fiveMinutes)
	for i := range 7 * 288 {
		y := 1.0
		if i == 30 {
			y = 9
		}
		f.Observe(y)
	}
	if got := f.Forecast(31 + 6); got != 9 {
		t.Errorf("half an hour after last week's peak: %v, want 9", got)
	}
	if got := f.Forecast(31 + 7); got != 1 {
		t.Errorf("further away: %v, want 1", got)
	}
}

func TestPercentile(t *testing.T) {
	f := NewPercentile(fiveMinutes)
	for i := range 30 {
		f.Observe(float64(i))
	}
	if got := f.Forecast(1); got != 28 { // the last 12 are 18 to 29, rank 11
		t.Errorf("percentile = %v, want 28", got)
	}
}

// Worked by hand on a day of two intervals.
func TestHoltWinters(t *testing.T) {
	f := NewHoltWinters(Grid{PerDay: 2})
	for _, y := range []float64{4, 9, 16} {
		f.Observe(y)
	}
	// First day: level 2, then 2.02; seasons 0 and 0.98. Then level 2.614, season 0.2772.
	if got, want := f.Forecast(1), (2.614+0.98)*(2.614+0.98); math.Abs(got-want) > 1e-9 {
		t.Errorf("one ahead: %v, want %v", got, want)
	}
	if got, want := f.Forecast(2), (2.614+0.2772)*(2.614+0.2772); math.Abs(got-want) > 1e-9 {
		t.Errorf("two ahead: %v, want %v", got, want)
	}
}
