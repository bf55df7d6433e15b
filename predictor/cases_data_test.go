package predictor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// caseAnomaly is one odd day among usual ones.
func caseAnomaly(t *testing.T, c bugCase) {
	var given struct {
		Target  string
		C1      float64
		History recipe
	}
	var expect forecastRow
	c.decode(t, &given, &expect)
	target := instant(t, given.Target)
	for seed := range uint64(seeds) {
		k := kitchen{recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0], random: rand.New(rand.NewPCG(4, seed))}
		checkRow(t, k.serve(t, target.Add(-20*time.Minute), given.C1, nil), given.C1, expect)
	}
}

func caseGaps(t *testing.T, c bugCase) {
	var given struct {
		Target    string
		History   recipe
		OtherDays []string
		Rows      []struct{ Weeks map[string]cell }
	}
	var expect struct {
		Rows []struct {
			forecastRow
			WeeksPresent int
			Reason       Reason
		}
	}
	c.decode(t, &given, &expect)
	target := instant(t, given.Target)
	for i, row := range expect.Rows {
		for _, others := range given.OtherDays {
			for seed := range uint64(seeds) {
				k := kitchen{
					recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0],
					random: rand.New(rand.NewPCG(5, seed)), weeks: given.Rows[i].Weeks, otherDays: others,
				}
				origin := target.Add(-20 * time.Minute)
				s := k.serve(t, origin, 8, nil)
				checkRow(t, s, 8, row.forecastRow)
				s.horizons[0].order, s.horizons[1].order = 1, 99 // let the slot of the case bind
				p := s.Plan(Request{Now: origin, Lead: 20 * time.Minute, Need: 1})
				if p.Mode != Active || p.Weeks != row.WeeksPresent || p.Reasons[0] != row.Reason {
					t.Errorf("row %d, others %s: %v, %d weeks, %v", i, others, p.Mode, p.Weeks, p.Reasons)
				}
			}
		}
	}
}

func caseQueries(t *testing.T, c bugCase) {
	var given struct {
		Now, NowAgain int64
		Rows          []struct {
			Step int64
			Span string
		}
	}
	var expect struct {
		Rows []struct {
			Start, End       int64
			Points, Requests int
		}
		SameQueryAgain         []bool
		PointsPerRequestAtMost int
	}
	c.decode(t, &given, &expect)
	for i, row := range given.Rows {
		var days int
		if _, err := fmt.Sscanf(row.Span, "%dd", &days); err != nil {
			t.Fatal(err)
		}
		step, length := time.Duration(row.Step)*time.Second, time.Duration(days)*24*time.Hour
		got := Ranges(time.Unix(given.Now, 0), step, length)
		want := expect.Rows[i]
		if len(got) != want.Requests || got[0].Start.Unix() != want.Start || got[0].End.Unix() != want.End || got[0].Points != want.Points {
			t.Errorf("ranges = %+v, want %+v", got, want)
		}
		again := Ranges(time.Unix(given.NowAgain, 0), step, length)
		if same := again[0] == got[0]; same != expect.SameQueryAgain[i] {
			t.Errorf("asked again 40 s later: same = %v", same)
		}
	}
	all := Ranges(time.Unix(given.Now, 0), 15*time.Second, 35*24*time.Hour)
	points := 0
	for i, r := range all {
		points += r.Points
		if r.Points > expect.PointsPerRequestAtMost || r.Start.Unix()%15 != 0 {
			t.Errorf("range %+v", r)
		}
		if i > 0 && r.Start.Sub(all[i-1].End) != 15*time.Second {
			t.Errorf("hole between %v and %v", all[i-1].End, r.Start)
		}
	}
	if points != 35*5760+1 {
		t.Errorf("%d points in all", points)
	}
}

func caseCoverage(t *testing.T, c bugCase) {
	var given struct {
		Slots   []struct{ Samples int }
		Target  string
		History recipe
	}
	var expect struct {
		Slots []string
		Yhat  span
	}
	c.decode(t, &given, &expect)
	for i, s := range given.Slots {
		if got := Covered(s.Samples, 5*time.Minute, 15*time.Second); got != (expect.Slots[i] == "valid") {
			t.Errorf("%d samples: valid = %v, want %s", s.Samples, got, expect.Slots[i])
		}
	}
	target := instant(t, given.Target)
	for seed := range uint64(seeds) {
		k := kitchen{recipe: given.History, loc: time.UTC, target: target, noise: given.History.Noise[0], random: rand.New(rand.NewPCG(6, seed))}
		checkRow(t, k.serve(t, target.Add(-20*time.Minute), 8, nil), 8, forecastRow{Yhat: expect.Yhat})
	}
}
