package scaler

import (
	"testing"
	"time"
)

// While a forecast is used the present may plan with fuller replicas: 95 % of many slots, and half the square root of
// the busy ones to spare where they are few.
func TestPlannedShareWithForecast(t *testing.T) {
	policy := Policy{
		Max: 1000, Concurrency: 16, ServiceTime: 8 * time.Second, MaxUtilization: 0.85, Sources: sources(Running, Rate),
		Forecast: ForecastLimit{MaxPrewarm: 1, MaxUtilization: 0.95},
	}
	used, shown := &Forecast{Used: true}, &Forecast{}
	for name, c := range map[string]struct {
		busy     float64
		forecast *Forecast
		change   func(*Policy)
		want     int
	}{
		"many slots":                  {1600, used, nil, 106}, // 1600 / 15.2 = 105.3
		"half the root spare":         {64, used, nil, 5},     // (64 + 4) / 16 = 4.25
		"the same without one":        {64, nil, nil, 5},      // 64 / 13.6 = 4.7
		"few slots":                   {4, used, nil, 1},
		"never below the usual share": {2, used, func(p *Policy) { p.Concurrency, p.ServiceTime = 1, time.Second }, 3}, // (2 + 0.7) / 1 = 2.7, and 2 / 0.85 = 2.4
		"no forecast":                 {1600, nil, nil, 118},                                                           // 1600 / 13.6 = 117.6
		"only shown":                  {1600, shown, nil, 118},
		"not configured":              {1600, used, func(p *Policy) { p.Forecast.MaxUtilization = 0 }, 118},
		"below the usual":             {1600, used, func(p *Policy) { p.Forecast.MaxUtilization = 0.5 }, 118},
	} {
		p := policy
		if c.change != nil {
			c.change(&p)
		}
		arrivals := c.busy / p.ServiceTime.Seconds()
		in := Inputs{
			Signals:         map[Signal][]Sample{Running: {{At: caseStart, Value: c.busy}}, Rate: {{At: caseStart, Value: arrivals}}},
			CurrentReplicas: -1, Forecast: c.forecast,
		}
		if d, _ := Evaluate(p, State{}, in, caseStart); d.Need != c.want {
			t.Errorf("%s: %s", name, d.Text)
		}
	}
}

// Replicas that are as full as planned get no more of them by their utilisation.
func TestUtilizationVoteWithForecast(t *testing.T) {
	policy := Policy{
		Max: 1000, Concurrency: 16, ServiceTime: 8 * time.Second, MaxUtilization: 0.85, Sources: sources(Running, Utilization),
		Forecast: ForecastLimit{MaxPrewarm: 1, MaxUtilization: 0.95},
	}
	full := []Sample{{At: caseStart.Add(-30 * time.Second), Value: 0.9}, {At: caseStart.Add(-15 * time.Second), Value: 0.9}, {At: caseStart, Value: 0.9}}
	for _, c := range []struct {
		forecast *Forecast
		want     int
	}{{&Forecast{Used: true}, 95}, {nil, 113}} { // 90 / 0.95 = 94.7, and 90 / 0.8 = 112.5
		in := Inputs{
			Signals:         map[Signal][]Sample{Running: {{At: caseStart, Value: 1440}}, Utilization: full},
			CurrentReplicas: 100, Forecast: c.forecast, Pods: Pods{Known: true, Ready: 100},
		}
		d, _ := Evaluate(policy, State{}, in, caseStart)
		if i := votes(d, "utilisation"); i != c.want {
			t.Errorf("forecast %+v: %d replicas, want %d: %s", c.forecast, i, c.want, d.Text)
		}
	}
}

// votes is the vote of that name, -1 without one.
func votes(d Decision, name string) int {
	for _, v := range d.Votes {
		if v.Name == name {
			return v.Replicas
		}
	}
	return -1
}
