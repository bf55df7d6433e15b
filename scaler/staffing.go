package scaler

import "math"

// waitShare turns Erlang's B, the share of arrivals that find all n slots busy where those are lost, into his C, the share
// that has to wait where those queue (A. K. Erlang, 1917), for an offered load of a slots. With n <= a the queue grows
// without bound and the share is 1.
func waitShare(n int, a, b float64) float64 {
	rho := a / float64(n)
	if n <= 0 || rho >= 1 {
		return 1
	}
	return b / (1 - rho*(1-b))
}

// maxLoad bounds the exact recursion; above it the square-root rule differs from it by less than one slot in a thousand.
const maxLoad = 1e5

// Slots is the smallest number of slots with which at most the share wait (between 0 and 1) of the arrivals has to
// wait, for an offered load of a slots, by the recursion B(k) = a B(k-1) / (k + a B(k-1)), which is stable for every k.
func Slots(a, wait float64) int {
	if !(a > 0) {
		return 0
	}
	if a > maxLoad {
		return CeilGuard(SquareRootSlots(a, wait, 1))
	}
	b := 1.0
	for n := 1; ; n++ {
		b = a * b / (float64(n) + a*b)
		if float64(n) > a && waitShare(n, a, b) <= wait {
			return n
		}
	}
}

// SquareRootSlots is the square-root staffing rule a + beta sqrt(z a) of Halfin and Whitt (1981), not rounded; z is the
// peakedness of the arrivals (variance over mean), 1 for Poisson arrivals.
func SquareRootSlots(a, wait, peakedness float64) float64 {
	if !(a > 0) {
		return 0
	}
	return a + StaffingBeta(wait)*math.Sqrt(peakedness*a)
}

// StaffingBeta solves 1/(1 + beta Phi(beta)/phi(beta)) = wait for beta, with the normal distribution's Phi and phi, by
// bisection between 0 and 10.
func StaffingBeta(wait float64) float64 {
	low, high := 0.0, 10.0
	for range 60 {
		beta := (low + high) / 2
		density := math.Exp(-beta*beta/2) / math.Sqrt(2*math.Pi)
		below := 0.5 * math.Erfc(-beta/math.Sqrt2)
		if 1/(1+beta*below/density) > wait {
			low = beta
		} else {
			high = beta
		}
	}
	return (low + high) / 2
}
