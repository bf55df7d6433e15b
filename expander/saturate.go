package expander

import "math"

// plus adds two amounts that are not negative. What does not fit stays at the largest number: a request for absurd
// quantities must not turn into one for less than nothing.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies two amounts that are not negative, in the same way.
func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
