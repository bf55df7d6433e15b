package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
)

// plot is a small chart: lines over a linear horizontal axis, drawn as SVG without anything from outside.
type plot struct {
	title         string
	width, height float64
	lines         []line
	// xTicks are drawn below; the axes run from the smallest to the largest value.
	xTicks []tick
	yMax   float64
}

type tick struct {
	at    float64
	label string
}

type line struct {
	name, colour string
	x, y         []float64
	// step draws stairs, dots marks the points, fill closes the area below.
	step, dots, fill bool
	// label writes the name at the last point, dashed breaks the line.
	label, dashed bool
}

const (
	marginLeft, marginRight, marginTop, marginBottom = 52.0, 12.0, 24.0, 28.0
)

// The colours of the policies, in order; they are told apart on light and dark grounds and by colour-blind readers.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f", "#bcbd22", "#17becf", "#000000", "#a6761d", "#666699"}

func (p plot) svg() template.HTML {
	xMin, xMax, yMax := math.Inf(1), math.Inf(-1), p.yMax
	for _, l := range p.lines {
		for i := range l.x {
			xMin, xMax = min(xMin, l.x[i]), max(xMax, l.x[i])
			if p.yMax == 0 {
				yMax = max(yMax, l.y[i])
			}
		}
	}
	if !(xMax > xMin) {
		xMax = xMin + 1
	}
	yMax = niceCeil(yMax)
	px := func(x float64) float64 {
		return marginLeft + (x-xMin)/(xMax-xMin)*(p.width-marginLeft-marginRight)
	}
	py := func(y float64) float64 {
		return p.height - marginBottom - min(y, yMax)/yMax*(p.height-marginTop-marginBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, p.width, p.height, template.HTMLEscapeString(p.title))
	fmt.Fprintf(&b, `<text x="%g" y="15" class="t">%s</text>`, marginLeft, template.HTMLEscapeString(p.title))
	for i := range 5 {
		y := yMax * float64(i) / 4
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" class="g"/><text x="%g" y="%.1f" class="y">%s</text>`,
			marginLeft, p.width-marginRight, py(y), py(y), marginLeft-6, py(y)+4, short(y))
	}
	for _, t := range p.xTicks {
		if t.at >= xMin && t.at <= xMax {
			fmt.Fprintf(&b, `<text x="%.1f" y="%g" class="x">%s</text>`, px(t.at), p.height-10, template.HTMLEscapeString(t.label))
		}
	}
	for _, l := range p.lines {
		l.draw(&b, px, py)
	}
	p.labels(&b, px, py)
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped names only
}

// labels writes the names of the lines at their last points, one below the other where they would overlap.
func (p plot) labels(b *strings.Builder, px, py func(float64) float64) {
	const height, width = 11.0, 120.0
	type box struct {
		name string
		x, y float64
	}
	var boxes []box
	for _, l := range p.lines {
		if n := len(l.x); l.label && n > 0 {
			boxes = append(boxes, box{l.name, max(px(l.x[n-1])-6, marginLeft+width/2), py(l.y[n-1]) - 5})
		}
	}
	slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(a.y, b.y) })
	// From the lowest upwards: the room is above the lines, not below the axis.
	for i := len(boxes) - 1; i >= 0; i-- {
		for _, other := range slices.Backward(boxes[i+1:]) {
			if math.Abs(other.x-boxes[i].x) < width && math.Abs(other.y-boxes[i].y) < height {
				boxes[i].y = other.y - height
			}
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="n">%s</text>`, boxes[i].x, boxes[i].y, template.HTMLEscapeString(boxes[i].name))
	}
}

func (l line) draw(b *strings.Builder, px, py func(float64) float64) {
	if len(l.x) == 0 {
		return
	}
	var path strings.Builder
	for i := range l.x {
		switch {
		case i == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", px(l.x[i]), py(l.y[i]))
		case l.step:
			fmt.Fprintf(&path, "H%.1fV%.1f", px(l.x[i]), py(l.y[i]))
		default:
			fmt.Fprintf(&path, "L%.1f %.1f", px(l.x[i]), py(l.y[i]))
		}
	}
	if l.fill {
		fmt.Fprintf(b, `<path d="%sV%.1fH%.1fZ" fill="%s" fill-opacity="0.25"/>`, path.String(), py(0), px(l.x[0]), l.colour)
		return
	}
	dash := ""
	if l.dashed {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"%s><title>%s</title></path>`, path.String(), l.colour, dash, template.HTMLEscapeString(l.name))
	if l.dots {
		for i := range l.x {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s</title></circle>`, px(l.x[i]), py(l.y[i]), l.colour, template.HTMLEscapeString(l.name))
		}
	}
}

// niceCeil is the next 1, 2, 2.5, 4, 5 or 8 times a power of ten.
func niceCeil(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 4, 5, 8, 10} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", math.Round(v/1e5)/10)
	case v >= 1e4:
		return fmt.Sprintf("%gk", math.Round(v/100)/10)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// timeTicks puts a handful of labels on a span of time, in hours from its start.
func timeTicks(from, to time.Time) []tick {
	layout, every := "15:04", time.Hour
	switch span := to.Sub(from); {
	case span > 20*24*time.Hour:
		layout, every = "Jan 2", 7*24*time.Hour
	case span > 3*24*time.Hour:
		layout, every = "Mon 2", 24*time.Hour
	case span > 12*time.Hour:
		every = 6 * time.Hour
	case span < 2*time.Hour:
		every = 10 * time.Minute
	}
	var out []tick
	for at := from.Truncate(every); !at.After(to); at = at.Add(every) {
		if !at.Before(from) {
			out = append(out, tick{at.Sub(from).Hours(), at.Format(layout)})
		}
	}
	return out
}
