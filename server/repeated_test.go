package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// A flood of the same failure gives the first lines and then one in a while, which says how many it stands for; another
// failure is not hidden by it.
func TestRepeatedFailuresAreThinnedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r repeated
		written, stoodFor := 0, 0
		for range 600 { // a minute of ten calls a second
			if left, due := r.admit("GetMetrics Unavailable"); due {
				written++
				stoodFor += left + 1
			}
			time.Sleep(100 * time.Millisecond)
		}
		if written < 9 || written > 12 {
			t.Errorf("%d lines in a minute, want the first %d and one every %v", written, firstLines, lineEvery)
		}
		if stoodFor < 500 {
			t.Errorf("the lines stand for %d calls of 600", stoodFor)
		}
		if left, due := r.admit("GetMetrics NotFound"); !due || left != 0 {
			t.Errorf("the first failure of another kind: due %t, left out %d", due, left)
		}
	})
}
