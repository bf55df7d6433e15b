package scaler

import "math"

// DefaultHPATolerance is the relative difference that a horizontal pod autoscaler does not follow unless it is
// configured otherwise.
const DefaultHPATolerance = 0.1

// ceilGuard is what a floating-point result may exceed a whole number by and still count as that number.
const ceilGuard = 1e-9

// CeilGuard rounds a number of replicas up, with a guard against floating-point noise: 6.9999999999 and 7.0000000001
// are 7. A value that is negative or no number at all is 0; the result never exceeds the largest int32, which is what a
// replica count can hold.
func CeilGuard(x float64) int {
	switch {
	case math.IsNaN(x) || x <= 0:
		return 0
	case x >= math.MaxInt32:
		return math.MaxInt32
	}
	return int(math.Ceil(x - ceilGuard))
}

// Wire is a target as the external scaler protocol carries it: the same whole number as integer, which clients up to
// KEDA 2.16 read, and as float, which later ones prefer when it is above 0.
func Wire(n int) (int64, float64) {
	n = max(n, 0)
	return int64(n), float64(n)
}

// HeldByTolerance tells whether a horizontal pod autoscaler with the given tolerance leaves a scale target with status
// replicas where it is although n were asked for. Both borders are inside, as in Kubernetes. A tolerance that is not
// positive holds nothing.
func HeldByTolerance(status, n int, tolerance float64) bool {
	if status <= 0 || n == status || tolerance <= 0 {
		return false
	}
	ratio := float64(n) / float64(status)
	return 1-tolerance <= ratio && ratio <= 1+tolerance
}
