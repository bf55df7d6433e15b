package predictor

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// span is a closed range, or a single number.
type span [2]float64

func (s *span) UnmarshalJSON(data []byte) error {
	var one float64
	if json.Unmarshal(data, &one) == nil {
		*s = span{one, one}
		return nil
	}
	var pair [2]float64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	*s = pair
	return nil
}

func (s span) check(t *testing.T, what string, got float64) {
	t.Helper()
	if !(got >= s[0] && got <= s[1]) {
		t.Errorf("%s = %v, want %v to %v", what, got, s[0], s[1])
	}
}

// cell is a number or the word missing, NaN or a reference.
type cell struct {
	value float64
	word  string
}

func (c *cell) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.value) == nil {
		return nil
	}
	if err := json.Unmarshal(data, &c.word); err != nil {
		return err
	}
	c.value = math.NaN()
	return nil
}

type rule struct {
	DayType   string `json:"dayType"`
	From      string `json:"from"`
	To        string `json:"to"`
	Y         cell   `json:"y"`
	Week      any    `json:"week"`
	Today     bool   `json:"today"`
	OtherDays string `json:"otherDays"`
	Samples   *int   `json:"samples"`
}

type recipe struct {
	Days  int    `json:"days"`
	Noise span   `json:"noise"`
	Rules []rule `json:"rules"`
}

// kitchen makes rates from a recipe.
type kitchen struct {
	recipe
	loc       *time.Location
	target    time.Time
	noise     float64
	random    *rand.Rand
	weeks     map[string]cell // values by week for y: row
	otherDays string
}

func (k *kitchen) rate(at time.Time) float64 {
	local, target := at.In(k.loc), k.target.In(k.loc)
	clock := local.Format("15:04")
	date := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	today := time.Date(target.Year(), target.Month(), target.Day(), 0, 0, 0, 0, time.UTC)
	ago := int(today.Sub(date).Hours()) / 24
	for _, r := range k.Rules {
		if !k.matches(r, local.Weekday(), clock, ago) {
			continue
		}
		y := r.Y
		if y.word == "row" {
			y = k.weeks[fmt.Sprint(ago/7)]
		}
		if r.Samples != nil && !Covered(*r.Samples, 5*time.Minute, 15*time.Second) {
			return math.NaN()
		}
		if y.value > 0 && k.noise > 0 {
			return y.value * max(0, 1+k.noise*k.random.NormFloat64())
		}
		return y.value
	}
	return math.NaN()
}

func (k *kitchen) matches(r rule, day time.Weekday, clock string, ago int) bool {
	weekend := day == time.Saturday || day == time.Sunday
	switch {
	case r.DayType == "weekday" && weekend, r.DayType == "weekend" && !weekend:
		return false
	case r.From != "" && clock < r.From, r.To != "" && clock >= r.To:
		return false
	case r.Today && ago != 0:
		return false
	case r.OtherDays != "" && k.otherDays != r.OtherDays:
		return false
	case r.OtherDays != "" && ago%7 == 0:
		return false
	}
	switch week := r.Week.(type) {
	case string: // any
		return ago > 0 && ago%7 == 0 && ago <= 28
	case float64:
		return ago == 7*int(week)
	}
	return true
}

// serve runs a service over the history up to the origin.
func (k *kitchen) serve(t *testing.T, origin time.Time, c1 float64, last []cell) *Service {
	t.Helper()
	s := newService(t, Settings{PerReplica: c1, Horizons: []int{1, 5}, Calendar: Calendar{Location: k.loc}, Mode: Active})
	first := DaysBefore(k.loc, origin, k.Days)
	feed(s, first, origin, func(at time.Time) float64 {
		if left := int(origin.Sub(at) / (5 * time.Minute)); left <= len(last) {
			return last[len(last)-left].value
		}
		return k.rate(at)
	})
	return s
}

const seeds = 1 // the ranges hold for any; more than one was tried

type forecastRow struct {
	Target   string `json:"target"`
	Yhat     span   `json:"yhat"`
	Replicas *span  `json:"replicas"`
}

func checkRow(t *testing.T, s *Service, c1 float64, row forecastRow) {
	t.Helper()
	o := s.Outlooks()[1]
	row.Yhat.check(t, "forecast", o.Value)
	if o.Upper < o.Value {
		t.Errorf("bound %v below forecast %v", o.Upper, o.Value)
	}
	if row.Replicas != nil {
		row.Replicas.check(t, "order at price 60", float64(o.Order(c1, 60, Replicas(s.history.last, c1))))
	}
}
