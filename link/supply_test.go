package link

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAssess(t *testing.T) {
	later := noon.Add(10 * time.Minute)
	held := PoolState{Pool: "spot", Capacity: Spot, Nodes: 3, Max: -1, HeldUntil: later, HeldBy: "STOCK"}
	full := PoolState{Pool: "od", Capacity: OnDemand, Nodes: 4, Max: 4}
	free := PoolState{Pool: "od", Capacity: OnDemand, Nodes: 4, Max: 6, Replicas: 2}
	for _, c := range []struct {
		name   string
		pools  []PoolState
		none   bool
		until  time.Time
		useful int
		text   string
	}{
		{"nothing known", nil, false, time.Time{}, -1, ""},
		{"one may deliver", []PoolState{held, free}, false, time.Time{}, -1, ""},
		{"held and full", []PoolState{held, full}, true, later, -1, "no capacity until about 12:10 UTC"},
		{"full, with a free node", []PoolState{held, {Pool: "od", Nodes: 4, Max: 4, Free: 1}}, false, time.Time{}, -1, ""},
		{"full, and nobody knows what is free", []PoolState{{Pool: "od", Nodes: 4, Max: 4, Free: -1}}, false, time.Time{}, -1, ""},
		{"all full", []PoolState{full}, true, time.Time{}, 7, "no capacity until a limit is raised; 7 of 20 replicas can have a node; od is at its maximum of 4 nodes"},
		{"a limit in sight", []PoolState{free}, false, time.Time{}, 11, "11 of 20 replicas can have a node; od can grow to its maximum of 6 nodes"},
		{"the time has passed", []PoolState{{Pool: "spot", Nodes: 1, Max: -1, HeldUntil: noon}}, false, time.Time{}, -1, ""},
	} {
		s := Assess(c.pools, 7, noon)
		if s.None != c.none || !s.Until.Equal(c.until) || s.Useful != c.useful || !strings.HasPrefix(s.Text(20), c.text) || (c.text == "") != (s.Text(20) == "") {
			t.Errorf("%s: %+v, %q; want none %v until %v useful %d %q", c.name, s, s.Text(20), c.none, c.until, c.useful, c.text)
		}
	}
}

// Demand that grows in an outage raises the target by one surge and no more, and to the full need when it is over.
func TestCeilingDoesNotCreep(t *testing.T) {
	none := Supply{None: true}
	var s CeilingState
	have := 20
	for minute := range 120 {
		var ceiling int
		ceiling, s = Ceiling(none, have, have, s, noon.Add(time.Duration(minute)*time.Minute))
		have = min(60, ceiling) // the demand is 60, and every pod that is asked for is made
	}
	if have != 22 {
		t.Errorf("%d replicas after two hours without capacity, want 20 and one surge of 2", have)
	}
	if ceiling, next := Ceiling(Supply{}, have, have, s, noon.Add(3*time.Hour)); ceiling != 0 || !next.Since.IsZero() {
		t.Errorf("a ceiling of %d with capacity", ceiling)
	}
}

func TestCeilingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s CeilingState
		start, now := 0, noon
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Minute)
			present, last := rapid.IntRange(0, 100).Draw(t, "present"), rapid.IntRange(0, 100).Draw(t, "last")
			fresh := s.Since.IsZero()
			supply := Supply{None: rapid.Bool().Draw(t, "none")}
			var ceiling int
			ceiling, s = Ceiling(supply, present, last, s, now)
			if !supply.None {
				if ceiling != 0 {
					t.Fatal("a ceiling although something may deliver")
				}
				continue
			}
			if fresh {
				start = max(present, last)
			}
			if ceiling <= start || ceiling > start+1+start/10 {
				t.Fatalf("ceiling %d over %d: not one surge", ceiling, start)
			}
		}
	})
}
