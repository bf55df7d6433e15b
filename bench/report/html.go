package report

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"github.com/warmpool/warmpool/bench/sim"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Parse(pageHTML))

// pageData is what the page shows, for traffic and for placement.
type pageData struct {
	Title    string
	Label    string
	Verdict  []string
	Facts    string
	Head     []string
	Rows     [][]string
	Tuned    *pageTable
	Plots    []template.HTML
	Legend   []legend
	Footnote string
}

type pageTable struct {
	Head []string
	Rows [][]string
}

type legend struct{ Name, Colour string }

// WriteHTML writes one page with everything in it.
func (t Traffic) WriteHTML(w io.Writer) error {
	d := pageData{
		Title: "Replay of " + t.Trace,
		Facts: fmt.Sprintf("Mean need %g replicas, start-up %.0f s, scored %s to %s UTC, seed %d, %d run(s).", t.MeanNeed, t.StartupSeconds,
			t.ScoredFrom.Format("2006-01-02 15:04"), t.ScoredTo.Format("2006-01-02 15:04"), t.Seed, t.Seeds),
		Verdict: t.verdict(),
		Head:    []string{"policy", "on time", "wait p95", "wait p99", "GPU-hours", "cost $", "changes", "short min"},
		Footnote: "On time: got a slot within 10 s. GPU-hours: from order to removal, starting replicas included. Short: minutes in which the arrivals " +
			"kept more slots busy than the ready replicas have. The oracle knows every request in advance and has the same start-up time.",
	}
	if t.Synthetic {
		d.Label = "Synthetic traffic"
	}
	for i, p := range t.Policies {
		d.Rows = append(d.Rows, []string{
			p.Policy, fmt.Sprintf("%.3f %%", 100*p.SLOAttainment), seconds(p.Wait.P95), seconds(p.Wait.P99), fmt.Sprintf("%.1f", p.GPUHours),
			fmt.Sprintf("%.0f", p.Cost), fmt.Sprintf("%.0f", p.Changes), fmt.Sprintf("%.0f", p.ShortMinutes),
		})
		d.Legend = append(d.Legend, legend{p.Policy, palette[i%len(palette)]})
	}
	if len(t.Frontiers) > 0 {
		d.Tuned = t.tunedTable()
		d.Plots = append(d.Plots, t.frontierPlot())
	} else {
		d.Plots = append(d.Plots, t.standingPlot())
	}
	d.Plots = append(d.Plots, t.costPlot())
	// warmpool first, then the others: that is what a reader came for.
	for _, own := range []bool{true, false} {
		for i, p := range t.Policies {
			if points := t.timelines[p.Policy]; len(points) > 0 && (p.Policy == "warmpool") == own {
				d.Plots = append(d.Plots, replicaPlot(p, points, palette[i%len(palette)], t), queuePlot(p, points, palette[i%len(palette)], t))
			}
		}
	}
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// verdict says who wins, and by how much.
func (t Traffic) verdict() []string {
	var out []string
	oracle := t.oracleHours()
	for i, target := range Targets {
		if len(t.Frontiers) == 0 {
			break
		}
		var reached []Frontier
		for _, f := range t.Frontiers {
			if f.AtLateness[i] != nil && f.Policy != "oracle" {
				reached = append(reached, f)
			}
		}
		if len(reached) == 0 {
			out = append(out, fmt.Sprintf("With %g %% late requests: no policy gets there.", 100*target))
			continue
		}
		slices.SortStableFunc(reached, func(a, b Frontier) int { return int(math.Copysign(1, *a.AtLateness[i]-*b.AtLateness[i])) })
		best := reached[0]
		text := fmt.Sprintf("With %g %% late requests, each policy tuned: %s is cheapest with %.0f GPU-hours", 100*target, best.Policy, *best.AtLateness[i])
		if oracle > 0 {
			text += fmt.Sprintf(" (%.2f × oracle)", *best.AtLateness[i]/oracle)
		}
		if len(reached) > 1 {
			text += fmt.Sprintf("; %s follows with %.1f %% more", reached[1].Policy, 100*(*reached[1].AtLateness[i] / *best.AtLateness[i] - 1))
		}
		out = append(out, text+".")
	}
	if len(out) > 0 {
		return out
	}
	for _, p := range t.Policies {
		if p.Policy == "warmpool" && oracle > 0 {
			out = append(out, fmt.Sprintf("warmpool serves %.2f %% of the requests on time with %.2f × the GPU-hours of the oracle.", 100*p.SLOAttainment, p.GPUHours/oracle))
		}
	}
	return out
}

func (t Traffic) tunedTable() *pageTable {
	p := &pageTable{Head: []string{"policy"}}
	for _, target := range Targets {
		p.Head = append(p.Head, fmt.Sprintf("GPU-hours at %g %% late", 100*target))
	}
	for _, f := range t.Frontiers {
		row := []string{f.Policy}
		for _, h := range f.AtLateness {
			if h == nil {
				row = append(row, "never")
			} else {
				row = append(row, fmt.Sprintf("%.1f", *h))
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// lateFloor is the lowest share of late requests on the logarithmic axis of the frontier plot.
const lateFloor = 1e-5

func (t Traffic) frontierPlot() template.HTML {
	p := plot{title: "GPU-hours against late requests, every setting of every policy (left: better)", width: 920, height: 360}
	for i, f := range t.Frontiers {
		l := line{name: f.Policy, colour: palette[i%len(palette)], dots: true}
		for _, q := range f.Points {
			l.x = append(l.x, math.Log10(max(q.Late, lateFloor)))
			l.y = append(l.y, q.GPUHours)
		}
		p.lines = append(p.lines, l)
	}
	p.xTicks = lateTicks()
	if hours := t.oracleHours(); hours > 0 {
		p.yMax = 2.5 * hours
	}
	return p.svg()
}

// lateTicks label the logarithmic axis of late requests.
func lateTicks() []tick {
	return []tick{{-5, "≤ 0.001 %"}, {-4, "0.01 %"}, {-3, "0.1 %"}, {-2, "1 % late"}, {-1, "10 %"}, {0, "100 %"}}
}

// standingPlot shows where each policy stands with its own setting.
func (t Traffic) standingPlot() template.HTML {
	p := plot{title: "GPU-hours against late requests (lower and further left: better)", width: 920, height: 360, xTicks: lateTicks()}
	// The ends of the axis, so that one policy alone has a place on it.
	p.lines = append(p.lines, line{x: []float64{-5, 0}, y: []float64{0, 0}, colour: "none"})
	for i, r := range t.Policies {
		p.lines = append(p.lines, line{
			name: r.Policy, colour: palette[i%len(palette)], dots: true, label: true,
			x: []float64{math.Log10(max(1-r.SLOAttainment, lateFloor))}, y: []float64{r.GPUHours},
		})
	}
	p.yMax = 2.5 * t.oracleHours() // 0 without an oracle: the largest; what is above is drawn at the edge
	return p.svg()
}

// costPlot shows what each policy has cost so far.
func (t Traffic) costPlot() template.HTML {
	p := plot{title: "Cost so far, US dollars: every replica from order to removal", width: 920, height: 260, xTicks: timeTicks(t.ScoredFrom, t.ScoredTo)}
	for i, r := range t.Policies {
		points := t.timelines[r.Policy]
		if len(points) < 2 || r.GPUHours <= 0 {
			continue
		}
		l := line{name: r.Policy, colour: palette[i%len(palette)], label: true}
		perHour, sum := r.Cost/r.GPUHours, 0.0
		for k, q := range points {
			if k > 0 {
				sum += float64(q.Replicas) * q.At.Sub(points[k-1].At).Hours() * perHour
			}
			l.x, l.y = append(l.x, q.At.Sub(t.ScoredFrom).Hours()), append(l.y, sum)
		}
		p.lines = append(p.lines, l)
		if r.Policy == "oracle" {
			p.yMax = 2.5 * r.Cost
		}
	}
	return p.svg()
}

// queuePlot shows the waiting requests below the replicas.
func queuePlot(r PolicyResult, points []sim.Point, colour string, t Traffic) template.HTML {
	p := plot{title: r.Policy + ": waiting requests", width: 920, height: 90, xTicks: timeTicks(t.ScoredFrom, t.ScoredTo), yMax: 40 * t.MeanNeed}
	l := line{name: "waiting", colour: colour}
	for _, q := range points {
		l.x, l.y = append(l.x, q.At.Sub(t.ScoredFrom).Hours()), append(l.y, float64(q.Waiting))
	}
	p.lines = []line{l}
	return p.svg()
}

func replicaPlot(r PolicyResult, points []sim.Point, colour string, t Traffic) template.HTML {
	p := plot{
		title: fmt.Sprintf("%s: ready replicas, and the need (grey)", r.Policy), width: 920, height: 190,
		xTicks: timeTicks(t.ScoredFrom, t.ScoredTo), yMax: 3.2 * t.MeanNeed,
	}
	need := line{name: "need", colour: "#888888", fill: true}
	ready := line{name: r.Policy, colour: colour, step: true}
	for _, q := range points {
		x := q.At.Sub(t.ScoredFrom).Hours()
		need.x, need.y = append(need.x, x), append(need.y, q.Need)
		ready.x, ready.y = append(ready.x, x), append(ready.y, float64(q.Ready))
	}
	p.lines = []line{need, ready}
	if foreseen := foreseenLine(points, t); len(foreseen.x) > 0 {
		p.title = r.Policy + ": ready replicas, the need (grey), and what the forecast orders, one start-up time later (dashed)"
		p.lines = append(p.lines, foreseen)
	}
	return p.svg()
}

// foreseenLine is the forecast at the time that it was made for.
func foreseenLine(points []sim.Point, t Traffic) line {
	l := line{name: "forecast", colour: "#d55e00", dashed: true}
	for _, q := range points {
		if q.Foreseen >= 0 {
			l.x = append(l.x, q.At.Sub(t.ScoredFrom).Hours()+t.StartupSeconds/3600)
			l.y = append(l.y, q.Foreseen)
		}
	}
	return l
}
