package predictor

import (
	"strings"
	"testing"
	"time"
)

func TestReconfigure(t *testing.T) {
	settings := halfHours()
	end := monday.AddDate(0, 0, 12)
	s := newService(t, settings)
	feed(s, monday, end, wave(time.UTC, 1))

	settings.Mode = Active
	if err := s.Reconfigure(settings); err != nil {
		t.Fatal(err)
	}
	if p := s.Plan(Request{Now: end, Need: 1}); p.Mode != Active {
		t.Errorf("mode %v", p.Mode)
	}

	settings.PerReplica = 2
	if err := s.Reconfigure(settings); err != nil {
		t.Fatal(err)
	}
	other := newService(t, settings)
	feed(other, monday, end, wave(time.UTC, 1))
	a, b := &record{}, &record{}
	a.add(s)
	b.add(other)
	same(t, a, b)

	before := s.Plan(Request{Now: end, Need: 1}).Replicas
	if err := s.SetPerReplica(4); err != nil {
		t.Fatal(err)
	}
	s.Observe(end, 30, true)
	if after := s.Plan(Request{Now: end.Add(30 * time.Minute), Need: 1}).Replicas; after > before {
		t.Errorf("replicas that carry twice as much: %d before, %d after", before, after)
	}

	settings.MaxShort, settings.Mode, settings.PerReplica = 2, "on", 0
	err := s.Reconfigure(settings)
	for _, word := range []string{"maxShort 2", `mode "on"`, "rate per replica 0"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not mention %s", err, word)
		}
	}
	if err := s.SetPerReplica(-1); err == nil {
		t.Error("a negative rate per replica was accepted")
	}
}
