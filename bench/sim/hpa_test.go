package sim

import (
	"testing"
	"time"
)

// TestTolerance checks the documented table: which targets an autoscaler with the default tolerance does not follow.
func TestTolerance(t *testing.T) {
	one := func(h *HPA, current, want int) int {
		return h.Sync(monday, current, current, Average(float64(want), 1))
	}
	for _, c := range []struct{ current, want, got int }{
		{9, 10, 10}, {10, 11, 10}, {12, 13, 12}, {20, 22, 20}, {20, 23, 23}, {50, 55, 50}, {50, 56, 56}, {64, 70, 64}, {60, 66, 60},
	} {
		if got := one(NewHPA(0, 1000), c.current, c.want); got != c.got {
			t.Errorf("%d to %d: %d, want %d", c.current, c.want, got, c.got)
		}
		if got := one(NewExactHPA(0, 1000), c.current, c.want); got != c.want {
			t.Errorf("%d to %d without tolerance: %d", c.current, c.want, got)
		}
	}
}

// TestRates checks the documented ways from 1 to 50 replicas.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *HPA
		want []int
	}{
		{"no behaviour", NewHPA(1, 64), []int{4, 8, 16, 32, 50, 50}},
		{"recommended", NewExactHPA(1, 64), []int{50, 50}},
	} {
		n := 1
		for i, want := range c.want {
			n = c.h.Sync(monday.Add(time.Duration(i)*HPASync), n, n, Average(50, 1))
			if n != want {
				t.Errorf("%s: sync %d gives %d, want %d", c.name, i, n, want)
			}
		}
	}
}

// TestDownWindow: a reduction appears five minutes after the last high value.
func TestDownWindow(t *testing.T) {
	h := NewExactHPA(1, 64)
	n := 10
	var fell time.Duration
	for at := time.Duration(0); at <= 15*time.Minute; at += HPASync {
		want := 3.0
		if at == 0 || at == 2*time.Minute {
			want = 10
		}
		n = h.Sync(monday.Add(at), n, n, Average(want, 1))
		if n == 3 && fell == 0 {
			fell = at
		}
	}
	if fell != 7*time.Minute {
		t.Errorf("fell after %s, want 7m", fell)
	}
}

func TestUtilization(t *testing.T) {
	for _, c := range []struct {
		name           string
		mean           float64
		ready, current int
		want           int
	}{
		{"all ready", 1, 4, 4, 5},
		{"within tolerance", 0.85, 4, 4, 4},
		{"four more start already", 1, 4, 8, 8},
		{"two are missing, one starts", 1, 8, 9, 10},
		{"a third are missing, one starts", 1.2, 8, 9, 12},
		{"down with pods starting", 0.2, 4, 6, 1},
		{"nothing ready", 0, 0, 3, 3},
	} {
		if got := utilizationProposal(c.mean, 0.8, c.ready, c.current); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
