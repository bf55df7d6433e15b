package caclient

import "fmt"

// Release is a release of the Cluster Autoscaler, 1.24.0 or newer.
type Release struct{ Minor, Patch int }

// Releases with different behaviour: the first, the first with a larger receive limit, the first that takes an
// empty answer for a veto, the first that sends both generations, the last that does, and the first that sends
// bytes only.
var (
	V1_24_0 = Release{24, 0}
	V1_27_1 = Release{27, 1}
	V1_32_0 = Release{32, 0}
	V1_34_2 = Release{34, 2}
	V1_34_5 = Release{34, 5}
	V1_35_0 = Release{35, 0}
)

// String gives the usual form, such as 1.34.2.
func (r Release) String() string { return fmt.Sprintf("1.%d.%d", r.Minor, r.Patch) }

// ParseRelease reads the usual form.
func ParseRelease(s string) (Release, error) {
	var r Release
	if n, err := fmt.Sscanf(s, "1.%d.%d", &r.Minor, &r.Patch); n != 2 || err != nil || r.String() != s {
		return Release{}, fmt.Errorf("release %q: want a form like 1.34.2", s)
	}
	if r.Minor < 24 {
		return Release{}, fmt.Errorf("release %s has no gRPC expander: the first is 1.24.0", s)
	}
	return r, nil
}

func (r Release) atLeast(o Release) bool {
	return r.Minor > o.Minor || r.Minor == o.Minor && r.Patch >= o.Patch
}

// SendsTyped tells whether fields 2 and 4 are filled.
func (r Release) SendsTyped() bool { return r.Minor <= 34 }

// SendsBytes tells whether fields 3 and 5 are filled.
func (r Release) SendsBytes() bool { return r.atLeast(V1_34_2) }

// EmptyIsVeto tells whether an answer without options stops the scale-up; before, it kept every option.
func (r Release) EmptyIsVeto() bool { return r.Minor >= 32 }

// ReceiveLimit is the size of the largest answer in bytes.
func (r Release) ReceiveLimit() int {
	if r.atLeast(V1_27_1) {
		return 128 << 20
	}
	return 4 << 20
}
