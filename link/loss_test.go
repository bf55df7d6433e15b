package link_test

import (
	"testing"

	"github.com/warmpool/warmpool/link"
)

func TestReclaimed(t *testing.T) {
	for _, c := range []struct {
		lost, nodes int
		want        bool
	}{
		{0, 0, false},
		{0, 10, false},
		{1, 0, true},
		{1, 10, true},
		{1, 11, false},
		{3, 100, false},
		{10, 100, true},
		{5, 5, true},
		{5, -1, false},
		{-1, 3, false},
	} {
		if got := link.Reclaimed(c.lost, c.nodes); got != c.want {
			t.Errorf("%d lost of %d: %v", c.lost, c.nodes, got)
		}
	}
}
