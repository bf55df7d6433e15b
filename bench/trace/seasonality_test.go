package trace

import (
	"math"
	"testing"
	"time"
)

func TestKind(t *testing.T) {
	start := time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)
	daily := Pattern{Name: "daily", Start: start, Days: 8, Step: 10 * time.Minute, Mean: 1, Daily: 0.7, PeakHour: 15}.Draw(1)
	flat := Pattern{Name: "flat", Start: start, Days: 8, Step: 10 * time.Minute, Mean: 1, Noise: 0.2}.Draw(1)
	short := Pattern{Name: "short", Start: start, Days: 1, Step: 10 * time.Minute, Mean: 1, Daily: 0.7}.Draw(1)
	if r := daily.Seasonality(); r < 0.99 || daily.Kind() != Seasonal {
		t.Errorf("a daily curve: %v, %s", r, daily.Kind())
	}
	if r := flat.Seasonality(); math.Abs(r) > 0.2 || flat.Kind() != Unseasonal {
		t.Errorf("noise: %v, %s", r, flat.Kind())
	}
	if r := short.Seasonality(); !math.IsNaN(r) {
		t.Errorf("one day: %v", r)
	}
}
