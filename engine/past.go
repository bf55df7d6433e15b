package engine

import (
	"math"
	"sync"
	"time"
	"unique"

	"github.com/warmpool/warmpool/scaler"
)

// Point is one moment in the past of a service: parts of the [scaler.Decision] of that moment under the same names.
type Point struct {
	At        time.Time `json:"at"`
	Available bool      `json:"available"`
	Replicas  int       `json:"replicas"`
	Raw       int       `json:"raw"`
	Ready     int       `json:"ready"`
	Starting  int       `json:"starting"`
	Stuck     int       `json:"stuck"`
	// CurrentReplicas is negative when it was not known.
	CurrentReplicas int    `json:"currentReplicas"`
	Binding         string `json:"binding"`
	Limited         string `json:"limited,omitempty"`
	HeldByTolerance bool   `json:"heldByTolerance,omitempty"`
	// Waiting and Running are requests, Rate is arrivals per second; nil without a valid reading.
	Waiting *float64 `json:"waiting"`
	Running *float64 `json:"running"`
	Rate    *float64 `json:"rate"`
	// Order is what the forecast asked for, used or not; nil without a forecast.
	Order *int `json:"order"`
	// Lead is in seconds.
	Lead float64 `json:"lead"`
}

// moment is a Point in 72 bytes.
type moment struct {
	at                                            int64
	replicas, raw, ready, starting, stuck, actual int32
	order                                         int32 // negative without a forecast
	waiting, running, rate, lead                  float32
	binding, limited                              unique.Handle[string] // constants of the scaler
	available, held                               bool
}

const (
	// pointEvery is the time between two points while nothing but the numbers changes.
	pointEvery = time.Minute
	// mostPoints is the length of a past: eight hours of quiet minutes. With many services each has fewer, so that all
	// of them together stay below allPoints, but never fewer than leastPoints.
	mostPoints, leastPoints = 480, 24
	allPoints               = 1 << 19
	// pointsAtOnce is by how many a past grows.
	pointsAtOnce = 8
)

// past is what a service did lately. It has a lock of its own: readers never wait for a tick.
type past struct {
	mu      sync.Mutex
	moments []moment
	// newest is the last decision, whether it became a point or not: the end of every chart.
	newest moment
}

// pastLength is how many points each of so many services may keep.
func pastLength(services int) int {
	return min(mostPoints, max(leastPoints, allPoints/max(1, services)))
}

// add notes a decision. It becomes a point when a minute has passed or when the answer is another one.
func (p *past) add(d *scaler.Decision, a arrivals, limit int) {
	m := momentOf(d, a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest = m
	if n := len(p.moments); n > 0 {
		last := &p.moments[n-1]
		if m.at <= last.at {
			return // the ticks of a replay may come twice
		}
		same := last.replicas == m.replicas && last.available == m.available
		if same && m.at-last.at < int64(pointEvery/time.Second) {
			return
		}
	}
	if over := len(p.moments) + 1 - limit; over > 0 {
		p.moments = append(p.moments[:0], p.moments[over:]...)
	}
	if n := len(p.moments); n == cap(p.moments) {
		// Not twice as many: those of 10,000 services grow at the same time.
		p.moments = append(make([]moment, 0, min(n+pointsAtOnce, max(limit, n+1))), p.moments...)
	}
	p.moments = append(p.moments, m)
}

func momentOf(d *scaler.Decision, a arrivals) moment {
	m := moment{
		at: d.Time.Unix(), replicas: int32(d.Replicas), raw: int32(d.Raw), ready: int32(d.Ready), starting: int32(d.Starting),
		stuck: int32(d.Stuck), actual: int32(d.CurrentReplicas), order: -1, lead: float32(d.Lead.Seconds),
		waiting: reading32(d, scaler.Waiting), running: reading32(d, scaler.Running), rate: reading32(d, scaler.Rate),
		binding: unique.Make(d.Binding), limited: unique.Make(d.Limited), available: d.Unavailable == "", held: d.HeldByTolerance,
	}
	if a.valid {
		m.rate = float32(a.rate)
	}
	if d.Forecast != nil {
		m.order = int32(d.Forecast.Replicas)
	}
	return m
}

// reading32 is the value of a signal in this decision, NaN unless it was read without an error.
func reading32(d *scaler.Decision, signal scaler.Signal) float32 {
	for i := range d.Signals {
		if s := &d.Signals[i]; s.Signal == signal && s.Error == "" && s.Age >= 0 {
			return float32(s.Value)
		}
	}
	return float32(math.NaN())
}

// points returns everything, oldest first, with the newest decision at the end.
func (p *past) points() []Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Point, 0, len(p.moments)+1)
	for i := range p.moments {
		out = append(out, p.moments[i].point())
	}
	if n := len(p.moments); n > 0 && p.newest.at > p.moments[n-1].at {
		out = append(out, p.newest.point())
	}
	return out
}

func (m *moment) point() Point {
	p := Point{
		At: time.Unix(m.at, 0).UTC(), Available: m.available, Replicas: int(m.replicas), Raw: int(m.raw), Ready: int(m.ready),
		Starting: int(m.starting), Stuck: int(m.stuck), CurrentReplicas: int(m.actual), Binding: m.binding.Value(), Limited: m.limited.Value(),
		HeldByTolerance: m.held, Waiting: orNil(m.waiting), Running: orNil(m.running), Rate: orNil(m.rate), Lead: float64(m.lead),
	}
	if m.order >= 0 {
		order := int(m.order)
		p.Order = &order
	}
	return p
}

// orNil is nil for NaN, which JSON cannot hold.
func orNil[T float32 | float64](v T) *float64 {
	wide := float64(v)
	if math.IsNaN(wide) || math.IsInf(wide, 0) {
		return nil
	}
	return &wide
}
