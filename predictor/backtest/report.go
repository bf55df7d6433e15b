package backtest

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"
)

// WriteReport writes a page that needs nothing but itself.
func (r *Result) WriteReport(w io.Writer, loc *time.Location) error {
	d := &r.Details
	page := map[string]any{
		"Name": d.Series.Name, "Lead": d.Lead.String(), "Target": percent(d.MaxShort),
		"Recommendation": r.Recommendation(), "Summary": r.Summary(),
		"Forecast": template.HTML(r.forecastPlot(loc)), // made of numbers and fixed text only
		"Orders":   template.HTML(r.orderPlot(loc)),    // the same
		"Costs":    template.HTML(r.costPlot()),        // the same
	}
	if err := reportPage.Execute(w, page); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

var reportPage = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Backtest of {{.Name}}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin-top:2rem}pre{background:#f4f6f8;padding:1rem;overflow:auto}
svg{width:100%;height:auto}svg text{font-size:11px;fill:#57606a}.key{font-size:.85rem;color:#57606a}
</style>
<h1>Backtest of {{.Name}}</h1>
<p><strong>{{.Recommendation}}</strong></p>
<p class="key">Lead {{.Lead}}, target {{.Target}} short. Nothing in these figures looks ahead.</p>
<pre>{{.Summary}}</pre>
<h2>Last three days: traffic, forecast and its 0.9 bound</h2>{{.Forecast}}
<p class="key">black: measured, blue: forecast issued one lead earlier, light blue: 0.9 bound</p>
<h2>Last three days: replicas needed and ordered</h2>{{.Orders}}
<p class="key">black: needed, orange: ordered</p>
<h2>What less shortage costs</h2>{{.Costs}}
<p class="key">under-provisioned share (right is more) against replica-hours over the oracle; orange: predictor, grey: reactive</p>
</html>
`))

const (
	plotWidth  = 900.0
	plotHeight = 240.0
	plotLeft   = 50.0
	plotBottom = 22.0
	plotDays   = 3
)

// plot scales lines into an SVG.
type plot struct {
	fromX, toX, toY float64
	out             strings.Builder
}

func (p *plot) x(v float64) float64 {
	return plotLeft + (v-p.fromX)/(p.toX-p.fromX)*(plotWidth-plotLeft-5)
}

func (p *plot) y(v float64) float64 {
	return 5 + (1-min(v/p.toY, 1))*(plotHeight-plotBottom-5)
}

// line draws points in order and breaks at missing ones.
func (p *plot) line(xs, ys []float64, colour string, step bool) {
	var path strings.Builder
	pen := "M"
	for i := range xs {
		if math.IsNaN(ys[i]) {
			pen = "M"
			continue
		}
		if step && pen == "L" {
			fmt.Fprintf(&path, "H%.1f", p.x(xs[i]))
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, p.x(xs[i]), p.y(ys[i]))
		pen = "L"
	}
	fmt.Fprintf(&p.out, `<path d="%s" fill="none" stroke="%s" stroke-width="1.4"/>`, path.String(), colour)
}

func (p *plot) label(x, y float64, anchor, text string) {
	fmt.Fprintf(&p.out, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, text)
}

func (p *plot) String() string {
	p.label(plotLeft-4, 14, "end", fmt.Sprintf("%.3g", p.toY))
	p.label(plotLeft-4, plotHeight-plotBottom, "end", "0")
	return fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img">%s<path d="M%g 5V%gH%g" fill="none" stroke="#8c959f"/></svg>`,
		plotWidth, plotHeight, p.out.String(), plotLeft, plotHeight-plotBottom, plotWidth-5)
}

// recent picks the steps that the plots show.
func (r *Result) recent() (from, to int) {
	d := &r.Details
	return max(0, len(d.Series.Values)-plotDays*d.Series.perDay()), len(d.Series.Values)
}

func (r *Result) timePlot(loc *time.Location, from, to int, top float64) *plot {
	p := &plot{fromX: float64(from), toX: float64(max(to, from+1)), toY: top}
	for i := from; i < to; i++ {
		if at := r.Details.Series.At(i).In(loc); at.Hour()%6 == 0 && at.Minute() == 0 {
			p.label(p.x(float64(i)), plotHeight-6, "middle", at.Format("Mon 15:04"))
		}
	}
	return p
}

func (r *Result) forecastPlot(loc *time.Location) string {
	d := &r.Details
	from, to := r.recent()
	index := map[int64]Row{}
	for _, row := range d.Rows {
		index[row.TargetAt.Unix()] = row
	}
	var xs, y, value, upper []float64
	top := 0.0
	for i := from; i < to; i++ {
		xs, y = append(xs, float64(i)), append(y, d.Series.Values[i])
		row, ok := index[d.Series.At(i).Unix()]
		if !ok {
			row.Forecast, row.Upper = math.NaN(), math.NaN()
		}
		value, upper = append(value, row.Forecast), append(upper, row.Upper)
		for _, v := range []float64{d.Series.Values[i], row.Upper} {
			if v > top {
				top = v
			}
		}
	}
	p := r.timePlot(loc, from, to, max(top, 1e-9))
	p.line(xs, upper, "#a5c8f0", false)
	p.line(xs, value, "#1f6feb", false)
	p.line(xs, y, "#1b1f24", false)
	return p.String()
}

func (r *Result) orderPlot(loc *time.Location) string {
	d := &r.Details
	from, to := r.recent()
	var xs, need, have []float64
	top := 1.0
	for i := from; i < to; i++ {
		n := float64(d.Need[i])
		if n == 0 {
			n = math.NaN()
		}
		xs, need, have = append(xs, float64(i)), append(need, n), append(have, float64(d.Capacity[i]))
		top = max(top, have[len(have)-1])
		if n > top {
			top = n
		}
	}
	p := r.timePlot(loc, from, to, top)
	p.line(xs, have, "#d9730d", true)
	p.line(xs, need, "#1b1f24", true)
	return p.String()
}

func (r *Result) costPlot() string {
	d := &r.Details
	const most = 0.05
	top := 1.0
	curve := func(f Figures) (xs, ys []float64) {
		for _, o := range f.Open.Outcomes {
			if o.Short <= most {
				xs, ys = append(xs, o.Short), append(ys, o.Cost)
				if o.Short >= 0.002 {
					top = max(top, o.Cost)
				}
			}
		}
		return xs, ys
	}
	ax, ay := curve(d.Reactive)
	bx, by := curve(d.Predictor)
	p := &plot{fromX: 0, toX: most, toY: top}
	for k := 0; k <= 5; k++ {
		p.label(p.x(float64(k)*0.01), plotHeight-6, "middle", fmt.Sprintf("%d %%", k))
	}
	p.line(ax, ay, "#8c959f", false)
	p.line(bx, by, "#d9730d", false)
	return p.String()
}
