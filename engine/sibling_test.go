package engine

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// TestNewServiceBorrowsAProfile: a service of three days takes part in the daily rhythm of the sibling that
// forecast.profileFrom names, whichever of the two is made first, and has nothing of it without that key.
func TestNewServiceBorrowsAProfile(t *testing.T) {
	for name, c := range map[string]struct {
		fresh, from string
		borrows     bool
	}{
		"sibling made first": {"fresh", ", profileFrom: chat", true},
		"sibling made last":  {"afresh", ", profileFrom: chat", true},
		"no sibling named":   {"fresh", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newFakeSource()
				source.gaps = true
				source.setFunc("gateway_rate", daily)
				at := wakeAt(t, 8*time.Hour)
				born := at.Add(-50 * time.Hour)
				source.setFunc("fresh_rate", func(at time.Time) (float64, error) {
					if at.Before(born) {
						return 0, errFakeEmpty
					}
					return 16, nil // a weekend of nights: its own past knows of no morning
				})
				fresh := strings.NewReplacer("name: chat", "name: "+c.fresh, "gateway_rate", "fresh_rate", "timeZone: UTC", "timeZone: UTC"+c.from).Replace(forecastYAML("shadow"))
				e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML("shadow"), fresh), Source: source})
				stop := runEngine(t, e)
				defer stop()
				sleepUntil(t.Context(), at.Add(52*time.Minute)) // nine is within the lead
				e.forecasts.mu.Lock()
				defer e.forecasts.mu.Unlock()
				for _, f := range e.forecasts.bySeries {
					if f.service != "ml/"+c.fresh {
						continue
					}
					if f.predictor == nil {
						t.Fatal("it has no predictor")
					}
					for _, o := range f.predictor.Outlooks() {
						start := time.Unix(o.Slot*int64(slotLength/time.Second), 0).UTC()
						got := o.Experts[predictor.SiblingProfile]
						if math.IsNaN(got) == c.borrows {
							t.Errorf("at %v the sibling says %v", start, got)
						}
						if c.borrows && start.Hour() == 9 && got < 50 {
							t.Errorf("at %v the sibling says %v, want five times the level of 16", start, got)
						}
					}
					return
				}
				t.Fatal("it has no forecast")
			})
		})
	}
}
