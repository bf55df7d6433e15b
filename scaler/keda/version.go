package keda

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Version is a release of KEDA.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads a version such as 2.18.3; a missing patch is 0, and a leading v is allowed.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("KEDA version %q: want major.minor or major.minor.patch", s)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return Version{}, fmt.Errorf("KEDA version %q: %q is not a number", s, part)
		}
		numbers[i] = n
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

// Before tells whether v is an earlier minor release.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || (v.Major == major && v.Minor < minor)
}

// Received is the metric value that a client of this version makes of an answer's integer and float. It is in
// thousandths, because that is what an autoscaler reads; ok is false where the result is arbitrary.
func (v Version) Received(integer int64, float float64) (value float64, ok bool) {
	if v.Before(2, 17) || !(float > 0) {
		value = float64(integer)
	} else {
		value = float
	}
	switch {
	case math.IsInf(value, 1):
		return 0, !v.Before(2, 20)
	case v.Before(2, 20):
		return math.Trunc(value*1000) / 1000, true
	case value < 0:
		return 0, true
	}
	return math.Round(value*1000) / 1000, true
}
