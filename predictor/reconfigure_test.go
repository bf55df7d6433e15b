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

func TestSettingsAreChecked(t *testing.T) {
	for word, s := range map[string]Settings{
		"step":     {PerReplica: 1, Step: time.Nanosecond},
		"step 7m":  {PerReplica: 1, Step: 7 * time.Minute},
		"lead":     {PerReplica: 1, Lead: 1000 * time.Hour},
		"horizons": {PerReplica: 1, Horizons: []int{2, 1}},
		"price":    {PerReplica: 1, Price: -1},
	} {
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	s := newService(t, Settings{Lead: 2 * time.Hour})
	if last := s.settings.Horizons[len(s.settings.Horizons)-1]; last != 25 {
		t.Errorf("horizons for two hours end at %d, want 25", last)
	}
}
