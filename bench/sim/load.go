package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/warmpool/warmpool/bench/trace"
)

// Load is the requests of one run, drawn once and replayed against every policy: the k-th request to arrive is the same
// for all of them, down to its service time.
type Load struct {
	Name  string
	Start time.Time
	// arrivals holds the number of requests in each quantum.
	arrivals []uint16
	// holds, when set, is the service time of each request in quanta; otherwise times are drawn from table by seed.
	holds []float32
	table *holdTable
	seed  uint64
	// MeanHold is the mean service time.
	MeanHold time.Duration
	// Series is the traffic as a policy may look it up for the time before the run; its counts are scaled as the load.
	Series *trace.Series
}

// End is the end of the load.
func (l *Load) End() time.Time { return l.Start.Add(time.Duration(len(l.arrivals)) * Quantum) }

// NewLoad scales a series so that the mean need is that many replicas of [Slots] slots at [PlannedUtilization], and
// draws its requests. The series itself is not changed.
func NewLoad(s *trace.Series, replicas float64, seed uint64) (*Load, error) {
	mean := s.MeanRate()
	if !(mean > 0) {
		return nil, fmt.Errorf("scale %s: no interval with a request", s.Name)
	}
	scaled := *s
	scaled.Counts = append([]float64(nil), s.Counts...)
	scaled.Scale(replicas * ReplicaRate() / mean)
	l := &Load{
		Name: s.Name, Start: s.Start, Series: &scaled, seed: seed, MeanHold: MeanServiceTime,
		arrivals: make([]uint16, int(s.End().Sub(s.Start)/Quantum)),
		table:    lognormalTable(MeanServiceTime, 1),
	}
	draw := trace.NewArrivals(&scaled, seed)
	for {
		at, ok := draw.Next()
		if !ok {
			return l, nil
		}
		l.add(at)
	}
}

func (l *Load) add(seconds float64) {
	if i := int(seconds / Quantum.Seconds()); i < len(l.arrivals) && l.arrivals[i] < math.MaxUint16 {
		l.arrivals[i]++
	}
}

// NewRecordedLoad replays single requests at their own moments; token counts set the service times, scaled so that the
// mean need is replicas.
func NewRecordedLoad(r *trace.Requests, replicas float64) (*Load, error) {
	if len(r.List) < 2 || r.Span() <= 0 {
		return nil, fmt.Errorf("replay %s: at least two requests at different times are needed", r.Name)
	}
	// The loop of a replay runs on whole seconds.
	start := r.Start.Truncate(time.Second)
	offset := r.Start.Sub(start)
	l := &Load{Name: r.Name, Start: start, arrivals: make([]uint16, int((offset+r.Span())/Quantum)+1), Series: r.Series(10 * time.Second)}
	var total float64
	for _, q := range r.List {
		l.add((offset + q.At).Seconds())
		hold := float64(q.Input)/PrefillRate + float64(q.Output)*DecodeTime.Seconds()
		l.holds = append(l.holds, float32(hold))
		total += hold
	}
	// need = rate x hold / (slots x utilisation)
	factor := replicas * Slots * PlannedUtilization * r.Span().Seconds() / total
	for i := range l.holds {
		l.holds[i] *= float32(factor / Quantum.Seconds())
	}
	l.MeanHold = time.Duration(total * factor / float64(len(r.List)) * float64(time.Second))
	return l, nil
}

// ReplicaRate is the planning rate of one replica in requests per second.
func ReplicaRate() float64 { return Slots / MeanServiceTime.Seconds() * PlannedUtilization }

// ReplicaRate is the planning rate of one replica of this load.
func (l *Load) ReplicaRate() float64 { return Slots / l.MeanHold.Seconds() * PlannedUtilization }

// Rate counts the arrivals between two moments, in requests per second.
func (l *Load) Rate(from, to time.Time) float64 {
	i, j := max(0, int(from.Sub(l.Start)/Quantum)), min(len(l.arrivals), int(to.Sub(l.Start)/Quantum))
	if j <= i {
		return 0
	}
	n := 0
	for _, c := range l.arrivals[i:j] {
		n += int(c)
	}
	return float64(n) / (float64(j-i) * Quantum.Seconds())
}

// holdTable holds quantiles of a service-time distribution in quanta.
type holdTable [1 << 12]float32

// lognormalTable is a lognormal distribution with a coefficient of variation, with its mean exact in spite of the cut of
// the tail at the last quantile.
func lognormalTable(mean time.Duration, cv float64) *holdTable {
	sigma := math.Sqrt(math.Log(1 + cv*cv))
	return newHoldTable(mean, func(p float64) float64 { return math.Exp(sigma * math.Sqrt2 * math.Erfinv(2*p-1)) })
}

// exponentialTable is the distribution of the M/M/c queue.
func exponentialTable(mean time.Duration) *holdTable {
	return newHoldTable(mean, func(p float64) float64 { return -math.Log1p(-p) })
}

func newHoldTable(mean time.Duration, quantile func(float64) float64) *holdTable {
	var t holdTable
	var sum float64
	for i := range t {
		v := quantile((float64(i) + 0.5) / float64(len(t)))
		t[i] = float32(v)
		sum += v
	}
	scale := mean.Seconds() / Quantum.Seconds() * float64(len(t)) / sum
	for i := range t {
		t[i] *= float32(scale)
	}
	return &t
}

// draw is one service time in quanta, rounded up or down by chance so that the mean is kept.
func (t *holdTable) draw(rng *rand.PCG) int {
	bits := rng.Uint64()
	return roundByChance(t[bits&(1<<12-1)], uint32(bits>>32))
}

func roundByChance(v float32, chance uint32) int {
	n := int(v)
	if float32(chance)/(1<<32) < v-float32(n) {
		n++
	}
	return max(n, 1)
}

// NewDayLoad draws the requests of one day out of a longer series as it is, without scaling. The series stays available
// as history.
func NewDayLoad(s *trace.Series, start time.Time, seed uint64) (*Load, error) {
	perDay := int(24 * time.Hour / s.Step)
	from := int(start.Sub(s.Start) / s.Step)
	if from < 0 || from+perDay > len(s.Counts) || 24*time.Hour%s.Step != 0 {
		return nil, fmt.Errorf("the series %s has no whole day from %s on", s.Name, start)
	}
	day := &trace.Series{Name: s.Name, Start: start, Step: s.Step, Counts: s.Counts[from : from+perDay]}
	if len(s.Bursts) > 0 {
		day.Bursts = s.Bursts[from : from+perDay]
	}
	l := &Load{
		Name: s.Name, Start: start, Series: s, seed: seed, MeanHold: MeanServiceTime,
		arrivals: make([]uint16, int(24*time.Hour/Quantum)), table: lognormalTable(MeanServiceTime, 1),
	}
	draw := trace.NewArrivals(day, seed)
	for {
		at, ok := draw.Next()
		if !ok {
			return l, nil
		}
		l.add(at)
	}
}
