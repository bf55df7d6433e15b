package scaler

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// erlangB and erlangC are the shares that are lost and that wait, by the sums of the definition: terms a^k/k! relative to
// the last one.
func erlangB(n int, a float64) float64 {
	sum, term := 1.0, 1.0
	for k := n; k >= 1; k-- {
		term *= float64(k) / a
		sum += term
	}
	return 1 / sum
}

func erlangC(n int, a float64) float64 {
	if a <= 0 {
		return 0
	}
	return waitShare(n, a, erlangB(n, a))
}

func TestErlang(t *testing.T) {
	for _, v := range []struct {
		n    int
		a    float64
		b, c float64
	}{
		{1, 0.5, 0.333333, 0.5},
		{2, 1, 0.2, 0.333333},
		{3, 2, 0.210526, 0.444444},
		{5, 4, 0.199067, 0.554113},
		{10, 8, 0.121661, 0.409180},
		{20, 16, 0.064411, 0.256078},
		{50, 40, 0.018691, 0.086953},
		{100, 80, 0.003992, 0.019646},
		{120, 96, 0.002282, 0.011305},
		{352, 320, 0.004685, 0.049233},
		{1056, 1000, 0.002737, 0.049201},
	} {
		near(t, "B", erlangB(v.n, v.a), v.b, 5e-7)
		near(t, "C", erlangC(v.n, v.a), v.c, 5e-7)
	}
	for _, v := range []struct {
		n int
		a float64
	}{{4, 4}, {3, 4}, {0, 1}} {
		near(t, "C of an overloaded system", erlangC(v.n, v.a), 1, 0)
	}
	near(t, "C without load", erlangC(3, 0), 0, 0)
}

func TestStaffingBeta(t *testing.T) {
	for wait, beta := range map[float64]float64{0.2: 1.062, 0.1: 1.420, 0.05: 1.740, 0.01: 2.375, 0.001: 3.115} {
		near(t, "beta", StaffingBeta(wait), beta, 5e-4)
	}
}

func TestStaffing(t *testing.T) {
	for _, v := range []struct {
		rate, service, c, wait float64
		slots                  int
		share                  float64
		n, squareRoot, fixed   int
	}{
		{0.02, 8, 4, 0.05, 2, 0.0119, 1, 1, 1},
		{0.1, 8, 1, 0.05, 4, 0.0096, 4, 3, 1},
		{0.5, 8, 1, 0.05, 9, 0.0238, 9, 8, 5},
		{1, 30, 8, 0.05, 41, 0.0378, 6, 5, 5},
		{2, 8, 4, 0.05, 24, 0.0428, 6, 6, 5},
		{2, 8, 4, 0.01, 27, 0.0082, 7, 7, 5},
		{5, 20, 32, 0.05, 119, 0.0415, 4, 4, 4},
		{12, 8, 16, 0.05, 114, 0.0478, 8, 8, 8},
		{40, 8, 16, 0.05, 352, 0.0492, 22, 22, 25},
		{100, 10, 64, 0.05, 1056, 0.0492, 17, 17, 20},
	} {
		a := v.rate * v.service
		slots := Slots(a, v.wait)
		if slots != v.slots {
			t.Errorf("%v: %d slots, want %d", v, slots, v.slots)
		}
		near(t, "wait", erlangC(slots, a), v.share, 5e-5)
		if n := CeilGuard(float64(slots) / v.c); n != v.n {
			t.Errorf("%v: %d replicas, want %d", v, n, v.n)
		}
		if n := CeilGuard(SquareRootSlots(a, v.wait, 1) / v.c); n != v.squareRoot {
			t.Errorf("%v: %d replicas by the square root, want %d", v, n, v.squareRoot)
		}
		if n := CeilGuard(a / (0.8 * v.c)); n != v.fixed {
			t.Errorf("%v: %d replicas at a fixed share, want %d", v, n, v.fixed)
		}
	}
}

func TestPeakedness(t *testing.T) {
	for _, v := range []struct {
		z, slots float64
		n        int
	}{{1, 113.05, 8}, {2, 120.11, 8}, {4, 130.09, 9}} {
		slots := SquareRootSlots(96, 0.05, v.z)
		near(t, "slots", slots, v.slots, 0.01)
		if n := CeilGuard(slots / 16); n != v.n {
			t.Errorf("z %v: %d replicas, want %d", v.z, n, v.n)
		}
	}
}

// Slots is the smallest number: one less waits too often. It never falls when the load rises, and beyond the exact
// recursion it continues without a step.
func TestSlotsIsSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0.001, 3000).Draw(t, "a")
		wait := rapid.Float64Range(0.001, 0.9).Draw(t, "wait")
		n := Slots(a, wait)
		// Both recursions round: exactly at the limit either side is right.
		const rounding = 1e-9
		if erlangC(n, a) > wait*(1+rounding) || (n > 1 && erlangC(n-1, a) <= wait*(1-rounding)) {
			t.Fatalf("%d slots for %v at %v", n, a, wait)
		}
		if more := Slots(a*1.1, wait); more < n {
			t.Fatalf("%d slots for more load, %d before", more, n)
		}
	})
	if below, above := Slots(maxLoad, 0.05), Slots(maxLoad+1, 0.05); above < below || above > below+3 {
		t.Errorf("%d slots at the end of the recursion, %d beyond", below, above)
	}
	if Slots(0, 0.05) != 0 || Slots(math.NaN(), 0.05) != 0 || SquareRootSlots(-1, 0.05, 1) != 0 {
		t.Error("no load needs slots")
	}
}
