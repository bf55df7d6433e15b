package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

// TestThreeMissesGoToShadow has a load that came every three hours for five weeks and then never again: replicas are
// prewarmed for it, the misses are counted, and after the third the forecast is only shown, with the reason, for a day.
func TestThreeMissesGoToShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over time.Time
		source := newFakeSource()
		source.setFunc("gateway_rate", func(at time.Time) (float64, error) {
			if at.Before(over) && at.UTC().Hour()%3 == 0 {
				return 80, nil
			}
			return 16, nil
		})
		e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML("active")), Source: source})
		at := wakeAt(t, time.Hour+30*time.Minute)
		over = at
		stop := runEngine(t, e)
		defer stop()
		lifted, shadow := 0, false
		for range 12 * 4 {
			at = at.Add(15 * time.Minute)
			sleepUntil(t.Context(), at)
			d, err := e.Target("ml/chat")
			if err != nil || d.Forecast == nil {
				t.Fatalf("at %v: %+v, %v", at, d.Forecast, err)
			}
			switch f := d.Forecast; {
			case f.Reason != "misses":
				if shadow {
					t.Errorf("at %v the brake is off again within the day", at)
				}
				if d.Replicas >= 10 {
					lifted++
				}
			case f.Used || f.Mode != "shadow" || d.Replicas > 3 || d.Prewarm == nil || d.Prewarm.Misses == 0:
				t.Errorf("at %v: used %v, mode %s, %d replicas, prewarms %+v", at, f.Used, f.Mode, d.Replicas, d.Prewarm)
			default:
				shadow = true
				if !slices.Contains(d.Reasons, scaler.ReasonMisses) || !slices.Contains(d.Reasons, scaler.ReasonShadow) {
					t.Errorf("at %v: reasons %v", at, d.Reasons)
				}
			}
		}
		if lifted == 0 || !shadow {
			t.Errorf("lifted %d times, in shadow %v", lifted, shadow)
		}
	})
}

// TestScalerMissesReachThePredictor puts a forecast into shadow by the scaler's record alone, and takes it out again when
// the first miss is a day old.
func TestScalerMissesReachThePredictor(t *testing.T) {
	source := newFakeSource()
	source.setFunc("gateway_rate", daily)
	e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML("active")), Source: source})
	at := time.Now().Truncate(15 * time.Second)
	e.Tick(t.Context(), at)
	e.Tick(t.Context(), at.Add(15*time.Second))
	e.Backfill(t.Context())
	s, _ := e.services.get("ml/chat")
	at = at.Add(30 * time.Second)
	if f := e.plan(s, arrivals{}, at); f.Mode != "active" || f.Need995 != 10 {
		t.Fatalf("mode %s (%s), usual peak %d; want active and 80 / 8", f.Mode, f.Reason, f.Need995)
	}
	for i := range 3 {
		s.state.Prewarms = append(s.state.Prewarms, scaler.Prewarm{Due: at.Add(time.Duration(i-20) * time.Hour), Outcome: scaler.PrewarmMiss})
	}
	if f := e.plan(s, arrivals{}, at); f.Used || f.Mode != "shadow" || f.Reason != string(predictor.Misses) {
		t.Errorf("after three misses: used %v, mode %s, reason %s", f.Used, f.Mode, f.Reason)
	}
	if f := e.plan(s, arrivals{}, at.Add(4*time.Hour)); f.Reason == string(predictor.Misses) {
		t.Errorf("the first miss is a day old, and the reason still %s", f.Reason)
	}
}

// TestUpcoming fills the slots between two horizons in a line and leaves out what needs nothing.
func TestUpcoming(t *testing.T) {
	start := time.Unix(1_800_000_000, 0).Truncate(slotLength)
	slot := func(ahead, replicas int, rate float64) predictor.SlotPlan {
		return predictor.SlotPlan{Start: start.Add(time.Duration(ahead) * slotLength), Replicas: replicas, Outlook: predictor.Outlook{Value: rate}}
	}
	p := &predictor.Plan{Slots: []predictor.SlotPlan{slot(0, 4, 10), slot(1, 6, 10), slot(3, 10, 10), slot(5, 1, 0)}}
	want := []scaler.Target{
		{At: start.Add(2 * slotLength), N: 8}, {At: start.Add(3 * slotLength), N: 10}, {At: start.Add(4 * slotLength), N: 5},
	}
	if diff := cmp.Diff(want, upcoming(p, start.Add(slotLength))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := upcoming(&predictor.Plan{}, start); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestSettingsOf brings the horizons for a long lead and twice that, within what the predictor takes.
func TestSettingsOf(t *testing.T) {
	for _, c := range []struct{ lead, farthest time.Duration }{{0, 0}, {10 * time.Minute, 0}, {time.Hour, 2 * time.Hour}, {48 * time.Hour, 12 * time.Hour}} {
		s := settingsOf("ml/chat", c.lead, testConfig(t, forecastYAML("active")).Services[0].Forecast, 8)
		if _, err := predictor.New(s); err != nil {
			t.Fatalf("lead %v: %v", c.lead, err)
		}
		got := time.Duration(0)
		if n := len(s.Horizons); n > 0 {
			got = time.Duration(s.Horizons[n-1]-1) * slotLength
		}
		if got != c.farthest {
			t.Errorf("lead %v: looks %v ahead, want %v", c.lead, got, c.farthest)
		}
	}
}
