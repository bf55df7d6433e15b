package link

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func boots(pool string, minutes ...float64) Boots {
	var b Boots
	for _, m := range minutes {
		b = b.Learn(pool, time.Duration(m*float64(time.Minute)))
	}
	return b
}

func TestBoots(t *testing.T) {
	b := boots("spot", 2, 3, 2.5, 4)
	if _, ok := b.LateAfter("spot"); ok {
		t.Error("four boots are believed")
	}
	before := b
	b = b.Learn("spot", 3*time.Minute).Learn("", time.Minute).Learn("spot", 0).Learn("spot", 2*time.Hour)
	if len(before["spot"]) != 4 || len(b["spot"]) != 5 {
		t.Fatalf("%v and %v: learning changes what it is given, or takes what is no boot", before, b)
	}
	if got, ok := b.LateAfter("spot"); !ok || got != 288*time.Second {
		t.Errorf("late after %v, want a fifth more than 4 min", got)
	}
	if _, ok := b.LateAfter("other"); ok {
		t.Error("a pool without boots has a limit")
	}
	for i := range 100 {
		b = b.Learn("spot", time.Duration(i+1)*time.Second)
	}
	if n := len(b["spot"]); n != keptBoots {
		t.Errorf("%d boots are kept, want %d", n, keptBoots)
	}
}

func TestColdStarts(t *testing.T) {
	warm, cold := Start{3 * time.Minute, false}, Start{7 * time.Minute, true}
	learnt := boots("spot", 2, 2, 2, 2, 4)
	if got := ColdStarts([]Start{warm, cold}, nil, "spot"); got[0] != warm.Took || got[1] != cold.Took {
		t.Errorf("without boots: %v", got)
	}
	if got := ColdStarts([]Start{warm, cold}, learnt, "spot"); got[0] != 7*time.Minute || got[1] != cold.Took {
		t.Errorf("with boots a warm start stands for 3 + 4 minutes: %v", got)
	}
	if got := ColdStarts([]Start{warm, cold, cold, cold, cold, cold}, learnt, "spot"); len(got) != 5 || got[0] != cold.Took {
		t.Errorf("with five cold ones: %v", got)
	}
}

// The story of one late node: it counts from its limit on, once; the replacement that is late as well does not count;
// a second order for the same replica does not count again.
func TestSuspectCountsOnce(t *testing.T) {
	b := boots("spot", 3, 3, 3, 3, 3) // late after 3 min 36 s
	var s SuspectState
	step := func(after time.Duration, want int, waiting ...Waiting) []Late {
		t.Helper()
		missing, late, next := Suspect(waiting, b, s, noon.Add(after))
		if missing != want {
			t.Fatalf("after %v: %d missing, want %d", after, missing, want)
		}
		s = next
		return late
	}
	first := Waiting{"pod-1", 1, "spot", noon}
	step(3*time.Minute, 0, first)
	late := step(4*time.Minute, 1, first)
	if len(late) != 1 || !late[0].Since.Equal(noon.Add(216*time.Second)) {
		t.Fatalf("late orders %v, want one since its limit", late)
	}
	retry := Waiting{"pod-2", 2, "spot", noon.Add(4 * time.Minute)}
	step(5*time.Minute, 1, first, retry)
	if late = step(9*time.Minute, 1, first, retry); len(late) != 2 {
		t.Fatalf("late orders %v: the record of the pool gets both", late)
	}
	again := Waiting{"pod-1", 3, "spot", noon.Add(15 * time.Minute)}
	step(15*time.Minute, 0, again, retry)
	step(25*time.Minute, 0, again, retry)
	step(26*time.Minute, 0)
	if len(s.Counted) > 0 || !s.Since.IsZero() {
		t.Errorf("%+v is left when nothing waits", s)
	}
}

// Whatever happens, there are never more missing than waiting replicas, each counts for one order only, and while some
// are missing nothing that was ordered later counts.
func TestSuspectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := boots("spot", 3, 3, 3, 3, 3)
		var s SuspectState
		counted := map[string]uint64{}
		waiting := []Waiting{}
		next := uint64(1)
		now := noon
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				waiting = append(waiting, Waiting{fmt.Sprintf("pod-%d", step), next, rapid.SampledFrom([]string{"spot", "new"}).Draw(t, "pool"), now})
				next++
			case 2:
				if len(waiting) > 0 { // ordered anew
					i := rapid.IntRange(0, len(waiting)-1).Draw(t, "i")
					waiting[i].Attempt, waiting[i].Ordered = next, now
					next++
				}
			case 3:
				if len(waiting) > 0 {
					waiting = waiting[1:]
				}
			}
			since := s.Since
			missing, late, after := Suspect(waiting, b, s, now)
			s = after
			if missing > len(waiting) || (missing == 0) != s.Since.IsZero() {
				t.Fatalf("%d missing of %d, since %v", missing, len(waiting), s.Since)
			}
			for _, w := range waiting {
				attempt, ok := s.Counted[w.Replica]
				if !ok || attempt == replacement {
					continue
				}
				if before, ok := counted[w.Replica]; ok && before != attempt {
					t.Fatalf("%s counts for %d and %d", w.Replica, before, attempt)
				}
				if _, known := counted[w.Replica]; !known && !since.IsZero() && w.Ordered.After(since) {
					t.Fatalf("%s, ordered at %v, counts although others are missing since %v", w.Replica, w.Ordered, since)
				}
				counted[w.Replica] = attempt
			}
			for _, l := range late {
				if l.Pool != "spot" || l.Since.After(now) {
					t.Fatalf("late: %+v at %v", l, now)
				}
			}
		}
	})
}
