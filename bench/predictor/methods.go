package main

import (
	"math"
	"time"

	"github.com/warmpool/warmpool/bench/policy/forecast"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/predictor/backtest"
)

// The methods of the table, the reference ones first.
const (
	reactive      = "reactive"
	holtWinters   = "Holt-Winters"
	profile       = "profile"
	reactiveScale = "reactive+scale+price"
	analogPlain   = "analog days, plain bound"
	analogScale   = "analog days+scale+price"
	mixPlain      = "mix, plain bound"
	warmpool      = "warmpool"
	perfect       = "perfect"
)

// result is everything measured on one trace.
type result struct {
	trace
	figures  []backtest.Figures
	perSlot  time.Duration // one observation with all horizons
	bytes    int           // memory of the service
	horizons int
}

func (r result) find(method string, lead int) (backtest.Figures, bool) {
	leads := backtest.Leads(r.Step)
	want := leads[len(leads)-1]
	switch lead {
	case 1:
		want = 30 * time.Minute
	case 0:
		want = leads[0]
		if want == 30*time.Minute {
			return backtest.Figures{}, false
		}
	}
	for _, f := range r.figures {
		if f.Method == method && f.Lead == want {
			return f, true
		}
	}
	return backtest.Figures{}, false
}

func measure(t trace, quick bool, change func(*predictor.Settings)) (result, error) {
	e, err := backtest.NewEvaluator(t.Series, backtest.Options{
		Calendar: t.calendar, MaxShort: 0.02, Leads: backtest.Leads(t.Step), Closed: true, Service: change,
	})
	if err != nil {
		return result{}, err
	}
	out := result{trace: t}
	predicted, err := e.Predict(nil)
	if err != nil {
		return result{}, err
	}
	out.figures = append(out.figures, e.Predictor(warmpool, predicted)...)
	horizons := e.Horizons()
	last := backtest.Collect(new(forecast.Last), t.Values, horizons)
	out.figures = append(out.figures, e.Plain(reactive, last)...)
	if quick {
		return out, nil
	}
	out.figures = append(out.figures, e.Scaled(reactiveScale, last, backtest.ReactiveScale())...)
	out.figures = append(out.figures, e.Plain(analogPlain, predicted.Experts[predictor.AnalogScaled])...)
	out.figures = append(out.figures, e.Scaled(analogScale, predicted.Experts[predictor.AnalogScaled], predictor.DefaultScaleWeights())...)
	out.figures = append(out.figures, e.Plain(mixPlain, predicted.Mix)...)
	for _, rival := range rivals(t) {
		points := backtest.Collect(rival.forecaster, t.Values, horizons)
		out.figures = append(out.figures, e.Plain(rival.name, points)...)
	}
	out.figures = append(out.figures, e.Plain(perfect, foresee(t.Values, horizons))...)
	out.horizons = len(horizons)
	out.perSlot, out.bytes, err = footprint(t, horizons)
	return out, err
}

type rival struct {
	name       string
	forecaster backtest.Forecaster
}

func rivals(t trace) []rival {
	grid := forecast.Grid{PerDay: int(24 * time.Hour / t.Step)}
	local := t.Start
	if t.calendar.Location != nil {
		local = local.In(t.calendar.Location)
	}
	midnight := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
	grid.First = int(midnight / t.Step)
	weekday := int(local.Weekday()+6) % 7
	if !t.calendar.OneDayType {
		grid.Weekend = func(day int) bool { return ((weekday+day)%7+7)%7 >= 5 }
	}
	return []rival{
		{holtWinters, forecast.NewHoltWinters(grid)},
		{profile, forecast.NewProfile(grid)},
		{"linear", forecast.NewLinear(grid)},
		{"Kalman local trend", forecast.NewKalman()},
		{"FFT harmonic", forecast.NewHarmonic(grid)},
		{"yesterday", forecast.Daily(grid)},
		{"last week", forecast.Weekly(grid)},
		{"last week's maximum", forecast.NewWeekMaximum(grid)},
		{"percentile of an hour", forecast.NewPercentile(grid)},
	}
}

// foresee is the forecast that is always right: what the hold alone costs.
func foresee(values []float64, horizons []int) backtest.Points {
	out := backtest.Points{}
	for _, h := range horizons {
		p := make([]float64, len(values))
		last := 0.0
		for t := range p {
			if !math.IsNaN(values[t]) {
				last = values[t]
			}
			p[t] = last
			if t+h < len(values) && !math.IsNaN(values[t+h]) {
				p[t] = values[t+h]
			}
		}
		out[h] = p
	}
	return out
}

func footprint(t trace, horizons []int) (time.Duration, int, error) {
	s, err := predictor.New(predictor.Settings{Step: t.Step, Calendar: t.calendar, PerReplica: t.Mean() / 8, Horizons: horizons})
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	for i, y := range t.Values {
		s.Observe(t.At(i), y, !math.IsNaN(y))
	}
	return time.Since(begin) / time.Duration(len(t.Values)), s.Bytes(), nil
}
