package predictor

import (
	"math"
	"testing"
	"time"
)

// TestErrorsSideBySide: the errors of the mix and of the simple guesses that an operator reads are the sums of absolute
// errors over the sum of the rates, counted again here from what was forecast when it was forecast.
func TestErrorsSideBySide(t *testing.T) {
	const days = 12
	s := newService(t, Settings{Step: 10 * time.Minute, Horizons: []int{3}, PerReplica: 5, Mode: Shadow, Lead: 30 * time.Minute})
	rate := wave(time.UTC, 7)
	type issued struct {
		guesses [skillForecasts]float64
		counts  bool
	}
	var off [skillForecasts]float64
	volume, steps := 0.0, 0
	open := map[int64]issued{}
	end := monday.AddDate(0, 0, days)
	for at := monday; at.Before(end); at = at.Add(10 * time.Minute) {
		y := rate(at)
		whole := at.Before(end.AddDate(0, 0, -1)) // the day of the newest slot is not over
		if was, ok := open[at.Unix()/600]; ok && whole && was.counts && !math.IsNaN(was.guesses[skillYesterday]) {
			for k, guess := range was.guesses {
				off[k] += math.Abs(y - guess)
			}
			volume += y
			steps++
		}
		s.Observe(at, y, true)
		o := s.Outlooks()[0]
		open[o.Slot] = issued{[skillForecasts]float64{o.Value, y, o.Experts[Yesterday], o.Experts[LastWeek]}, o.Tail.Scores() >= steerScores}
	}
	if steps < 5*144 {
		t.Fatalf("only %d steps counted", steps)
	}
	got := s.Skill(28)
	for name, c := range map[string]struct {
		got float64
		k   int
	}{"mix": {got.WAPE, skillMix}, "last value": {got.LastValue, skillLast}, "yesterday": {got.Yesterday, skillYesterday}, "last week": {got.LastWeek, skillWeek}} {
		closeTo(t, "WAPE of "+name, c.got, off[c.k]/volume, 1e-6)
	}
	if !(got.WAPE < got.LastValue) {
		t.Errorf("on a daily wave the mix errs by %v and the last value by %v", got.WAPE, got.LastValue)
	}
}

// TestDeviationVectors is the log ratio to the usual rate that the outlier mask looks at, ln((y + k)/(B + k)) with
// k = 0.05 B + 0.02 m.
func TestDeviationVectors(t *testing.T) {
	for _, c := range []struct{ y, usual, mean, want float64 }{
		{52, 50, 40, math.Log(55.3 / 53.3)},
		{50, 50, 40, 0},
		{0, 50, 40, math.Log(3.3 / 53.3)},
		{300, 0, 40, math.Log(300.8 / 0.8)},
		{0, 0, 0, 0},
	} {
		closeTo(t, "deviation", deviation(c.y, c.usual, c.mean), c.want, 1e-12)
	}
}
