package sim

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/bench/trace"
)

var monday = time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)

// poisson is a load of constant rate with exponential service times.
func poisson(rate float64, mean time.Duration, span time.Duration, seed uint64) *Load {
	s := &trace.Series{Name: "poisson", Start: monday, Step: time.Hour, Counts: make([]float64, int(span/time.Hour))}
	for i := range s.Counts {
		s.Counts[i] = rate * 3600
	}
	l := &Load{Start: monday, arrivals: make([]uint16, int(span/Quantum)), table: exponentialTable(mean), seed: seed, MeanHold: mean, Series: s}
	a := trace.NewArrivals(s, seed)
	for {
		at, ok := a.Next()
		if !ok {
			return l
		}
		l.add(at)
	}
}

// erlangC is the probability of waiting, by the recursion of Erlang B.
func erlangC(slots int, load float64) float64 {
	b := 1.0
	for k := 1; k <= slots; k++ {
		b = load * b / (float64(k) + load*b)
	}
	rho := load / float64(slots)
	return b / (1 - rho*(1-b))
}

// TestWaitAgainstErlangC compares mean wait and share of waiting requests of a long run with the closed form
// E[W] = C S/(n - a). The tolerance is the 2 % that the benchmark promises.
func TestWaitAgainstErlangC(t *testing.T) {
	if testing.Short() {
		t.Skip("a long run")
	}
	for _, c := range []struct {
		slots int
		rate  float64
	}{{1, 0.0875}, {4, 0.4}, {16, 1.7}, {32, 3.5}} {
		const hold = 8 * time.Second
		a := c.rate * hold.Seconds()
		wantC := erlangC(c.slots, a)
		want := wantC * hold.Seconds() / (float64(c.slots) - a)
		var sum float64
		const runs = 4
		for seed := range uint64(runs) {
			// The variance of the mean falls with the number of independent busy periods.
			span := time.Duration(math.Ceil(6e6/c.rate/3600/runs)) * time.Hour
			l := poisson(c.rate, hold, span, seed+1)
			q := NewQueue(l)
			q.patience = 0
			q.waits = make([]int64, 1<<17)
			q.ScoreFrom(monday.Add(time.Hour))
			q.Advance(l.End(), c.slots)
			sum += q.Record().MeanWait.Seconds()
		}
		if got := sum / runs; math.Abs(got/want-1) > 0.02 {
			t.Errorf("%d slots, load %.1f: mean wait %.4f s, Erlang C says %.4f (%+.1f %%)", c.slots, a, got, want, 100*(got/want-1))
		}
	}
}

// exactWait is the slow, obvious twin: the same requests in continuous time, with one heap of slots.
func exactWait(l *Load, slots int) float64 {
	free := make(slotHeap, slots)
	rng := rand.NewPCG(l.seed, 0x686f6c64)
	arrivals := trace.NewArrivals(l.Series, l.seed)
	var sum float64
	n := 0
	for {
		at, ok := arrivals.Next()
		if !ok {
			return sum / float64(n)
		}
		start := max(at, free[0])
		free[0] = start + float64(l.table[rng.Uint64()&(1<<12-1)])*Quantum.Seconds()
		heap.Fix(&free, 0)
		sum += start - at
		n++
	}
}

type slotHeap []float64

func (h slotHeap) Len() int           { return len(h) }
func (h slotHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h slotHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *slotHeap) Push(any)          {}
func (h *slotHeap) Pop() any          { return nil }

// TestWaitAgainstExactTwin serves the same requests in quanta and in continuous time. Many slots near saturation need
// weeks of traffic to average out; on the same draws the difference is the resolution alone.
func TestWaitAgainstExactTwin(t *testing.T) {
	for _, c := range []struct {
		slots int
		rate  float64
	}{{16, 1.8}, {128, 15.5}, {320, 39}} {
		l := poisson(c.rate, 8*time.Second, 12*time.Hour, 3)
		q := NewQueue(l)
		q.patience = 0
		q.waits = make([]int64, 1<<17)
		q.Advance(l.End(), c.slots)
		want, got := exactWait(l, c.slots), q.Record().MeanWait.Seconds()
		if math.Abs(got/want-1) > 0.01 {
			t.Errorf("%d slots at %.1f/s: mean wait %.4f s, exactly %.4f (%+.2f %%)", c.slots, c.rate, got, want, 100*(got/want-1))
		}
	}
}

// TestConservation drives a queue with random changes of capacity, drains and kills: nothing is lost or counted twice.
func TestConservation(t *testing.T) {
	l := poisson(3, 8*time.Second, 5*time.Hour, 5)
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue(l)
		at := monday
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			replicas := rapid.IntRange(0, 4).Draw(t, "replicas")
			at = at.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			q.Advance(at, replicas*Slots)
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				q.Drain(replicas)
			case 1:
				q.Kill(replicas)
			}
			b := q.Balance(monday)
			if b.Arrived != b.Served+b.Dropped+b.InService+b.Waiting {
				t.Fatalf("%+v does not add up", b)
			}
			if q.inService < 0 || q.draining < 0 || q.waiting < 0 {
				t.Fatalf("negative: %d in service, %d draining, %d waiting", q.inService, q.draining, q.waiting)
			}
		}
	})
}

func TestRecordedHoldsScaleTheNeed(t *testing.T) {
	r := &trace.Requests{Name: "r", Start: monday}
	for i := range 6000 {
		r.List = append(r.List, trace.Request{At: time.Duration(i) * 500 * time.Millisecond, Input: int64(500 + i%7*200), Output: int64(20 + i%11*30)})
	}
	l, err := NewRecordedLoad(r, 8)
	if err != nil {
		t.Fatal(err)
	}
	need := 2 * l.MeanHold.Seconds() / (Slots * PlannedUtilization)
	if math.Abs(need-8) > 0.01 {
		t.Errorf("the mean need is %.3f replicas, want 8", need)
	}
	q := NewQueue(l)
	q.Advance(l.End(), 1000*Slots)
	if running := float64(q.Running()) / Slots / PlannedUtilization; math.Abs(running-8) > 1.5 {
		t.Errorf("%.2f replicas are busy at the end, want about 8", running)
	}
}

func BenchmarkFourteenDays(b *testing.B) {
	s := trace.Pattern{Start: monday, Days: 14, Step: 10 * time.Minute, Mean: 1, Daily: 0.6, PeakHour: 15}.Draw(1)
	l, err := NewLoad(s, 8, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		q := NewQueue(l)
		q.Advance(l.End(), 20*Slots)
	}
}
