package backtest

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// Result is the outcome of one backtest. The JSON names are a contract.
type Result struct {
	Points   int      `json:"points"`   // scored steps
	WAPE     float64  `json:"wape"`     // sum of absolute errors over sum of rates
	MASE     float64  `json:"mase"`     // mean absolute error over that of last week's value; 0 if that never errs
	Coverage float64  `json:"coverage"` // share of outcomes up to the 0.9 bound
	Pinball  float64  `json:"pinball"`  // mean loss of the 0.9 bound, in units of the rate
	Mode     string   `json:"mode"`     // recommended: active, shadow or reactive
	Hours    Hours    `json:"replicaHours"`
	Short    Shortage `json:"underProvisioned"`

	Details Details `json:"-"`
}

// Hours are replica-hours over the scored steps, as steered without hindsight.
type Hours struct {
	Reactive   float64 `json:"reactive"`
	Predictive float64 `json:"predictive"`
	Oracle     float64 `json:"oracle"` // exactly what each step needed
}

// Shortage is the share of scored steps with too few replicas, 0 to 1.
type Shortage struct {
	Reactive   float64 `json:"reactive"`
	Predictive float64 `json:"predictive"`
}

// Details are what the report shows beyond the result.
type Details struct {
	Series     Series
	Span       Span
	Lead       time.Duration
	MaxShort   float64
	PerReplica float64
	Rows       []Row
	Capacity   []int32 // by step, after the hold; 0 where there was no order
	Need       []int32 // by step, 0 where nothing was recorded

	LastValueWAPE               float64
	Reactive, Scaled, Predictor Figures
	Saving                      float64 // against reactive at the same share of short steps
	Reason                      predictor.Reason
}

// Row is one forecast with its order.
type Row struct {
	IssuedAt time.Time // end of the newest interval that was known
	TargetAt time.Time // start of the step that is served
	Forecast float64
	Upper    float64
	Order    int
}

// ErrTooShort says that a series cannot be scored.
var ErrTooShort = errors.New("too little history for a backtest")

// ReactiveScale are the weights of the error scale around the last value.
func ReactiveScale() predictor.ScaleWeights {
	return predictor.ScaleWeights{Recent: 0.3, Slot: 0.7, Global: 0.2, RecentHalfLife: 2 * time.Hour}
}

// Run walks forward through a series, of any step, at one lead.
func Run(s Series, o Options, progress func(done, total int)) (*Result, error) {
	grid, err := s.Grid()
	if err != nil {
		return nil, err
	}
	if len(grid.Values) < 2*grid.perDay() {
		return nil, fmt.Errorf("%w: series %s holds %v, want at least two days (a week or more says something)",
			ErrTooShort, s.Name, time.Duration(len(grid.Values))*grid.Step)
	}
	if len(o.Leads) != 1 {
		return nil, fmt.Errorf("a backtest has one lead, not %d", len(o.Leads))
	}
	e, err := NewEvaluator(grid, o)
	if err != nil {
		return nil, err
	}
	predicted, err := e.Predict(progress)
	if err != nil {
		return nil, err
	}
	last := Collect(new(lastValue), grid.Values, e.horizons)
	return e.result(predicted,
		e.Plain("reactive", last)[0],
		e.Scaled("reactive+scale+price", last, ReactiveScale())[0],
		e.Predictor("predictor", predicted)[0]), nil
}

// lastValue is the forecast of a reactive policy.
type lastValue struct{ y float64 }

func (l *lastValue) Observe(y float64) {
	if !math.IsNaN(y) {
		l.y = y
	}
}

func (l *lastValue) Forecast(int) float64 { return l.y }

func (e *Evaluator) result(p *Predicted, reactive, scaled, ours Figures) *Result {
	h := e.horizons[0]
	orders := p.orders[h]
	out := &Result{WAPE: ours.WAPE, Coverage: ours.Coverage}
	var off, loss float64
	for s := e.span.From; s < e.span.To; s++ {
		if !e.scored(s, e.span) || s < h {
			continue
		}
		out.Points++
		off += math.Abs(e.y[s] - p.Mix[h][s-h])
		loss += pinball(e.y[s], orders.bound[s-h], 0.9)
		out.Hours.Oracle += float64(e.need[s])
	}
	n := float64(out.Points)
	out.WAPE, out.Coverage = defined(out.WAPE), defined(out.Coverage)
	out.MASE, out.Pinball = defined(off/n/e.naiveError()), defined(loss/n)
	out.Hours.Oracle *= e.series.Step.Hours()
	out.Hours.Reactive = reactive.Online.Cost * out.Hours.Oracle
	out.Hours.Predictive = ours.Online.Cost * out.Hours.Oracle
	out.Short = Shortage{reactive.Online.Short, ours.Online.Short}
	d := &out.Details
	*d = Details{
		Series: e.series, Span: e.span, Lead: ours.Lead, MaxShort: e.target, PerReplica: e.c1,
		Need: e.need, LastValueWAPE: reactive.WAPE, Reactive: reactive, Scaled: scaled, Predictor: ours,
	}
	for t := e.series.perDay(); t < len(e.y); t++ {
		issued := e.series.At(t + 1)
		d.Rows = append(d.Rows, Row{
			IssuedAt: issued, TargetAt: issued.Add(time.Duration(h-1) * e.series.Step),
			Forecast: p.Mix[h][t], Upper: orders.bound[t], Order: int(orders.online[t]),
		})
	}
	d.Capacity = make([]int32, len(e.y))
	for s := h; s < len(e.y); s++ {
		d.Capacity[s] = e.capacity(orders.online, s, h)
	}
	out.recommend()
	return out
}

// defined is 0 where a figure has no meaning: JSON knows no NaN.
func defined(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func pinball(y, q, share float64) float64 {
	if y > q {
		return share * (y - q)
	}
	return (1 - share) * (q - y)
}

// naiveError is the mean absolute difference to last week, to yesterday or to
// the step before, the first that the warm-up half of the series knows.
func (e *Evaluator) naiveError() float64 {
	for _, lag := range []int{7 * e.series.perDay(), e.series.perDay(), 1} {
		sum, n := 0.0, 0
		for i := lag; i < e.span.From; i++ {
			if d := math.Abs(e.y[i] - e.y[i-lag]); !math.IsNaN(d) {
				sum += d
				n++
			}
		}
		if n > 0 && sum > 0 {
			return sum / float64(n)
		}
	}
	return math.NaN()
}
