package predictor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func caseClockChange(t *testing.T, c bugCase) {
	var given struct {
		Timezone string
		History  recipe
		Origins  []string
	}
	var expect struct {
		Rows      []forecastRow
		Analogues []string `json:"weeklyAnaloguesOfRow2"`
	}
	c.decode(t, &given, &expect)
	loc := mustLoad(t, given.Timezone)
	for i, row := range expect.Rows {
		for seed := range uint64(seeds) {
			for _, noise := range given.History.Noise {
				if noise == 0 && seed > 0 {
					continue
				}
				k := kitchen{recipe: given.History, loc: loc, target: instant(t, row.Target), noise: noise, random: rand.New(rand.NewPCG(1, seed))}
				s := k.serve(t, instant(t, given.Origins[i]), 8, nil)
				checkRow(t, s, 8, row)
			}
		}
	}
	for i, want := range expect.Analogues {
		if got := DaysBefore(loc, instant(t, expect.Rows[1].Target), 7*(i+1)); !got.Equal(instant(t, want)) {
			t.Errorf("analog of %d weeks ago = %v, want %s", i+1, got, want)
		}
	}
}

func caseWeekend(t *testing.T, c bugCase) {
	var given struct {
		Timezone string
		History  recipe
		C1       float64
	}
	var expect struct{ Rows []forecastRow }
	c.decode(t, &given, &expect)
	loc := mustLoad(t, given.Timezone)
	dates := map[string]int{"Friday": 19, "Saturday": 20, "Sunday": 21, "Monday": 22}
	for _, row := range expect.Rows {
		day, clock, _ := strings.Cut(row.Target, " ")
		at, err := time.ParseInLocation("2006-01-02 15:04", fmt.Sprintf("2027-02-%d %s", dates[day], clock), loc)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(seeds) {
			for _, noise := range given.History.Noise {
				if noise == 0 && seed > 0 {
					continue
				}
				t.Run(fmt.Sprint(row.Target, seed, noise), func(t *testing.T) {
					k := kitchen{recipe: given.History, loc: loc, target: at, noise: noise, random: rand.New(rand.NewPCG(2, seed))}
					checkRow(t, k.serve(t, at.Add(-20*time.Minute), given.C1, nil), given.C1, row)
				})
			}
		}
	}
}

func caseZones(t *testing.T, c bugCase) {
	var given struct{ Rows []struct{ Timezone string } }
	var expect struct {
		Rows []struct {
			Load     string
			Mentions []string
		}
	}
	c.decode(t, &given, &expect)
	for i, row := range expect.Rows {
		_, err := LoadLocation(given.Rows[i].Timezone)
		if (err == nil) != (row.Load == "ok") {
			t.Errorf("load %q: %v, want %s", given.Rows[i].Timezone, err, row.Load)
		}
		for _, word := range row.Mentions {
			if err != nil && !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not mention %q", err, word)
			}
		}
	}
}
