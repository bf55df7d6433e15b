package sim

import (
	"math/rand/v2"
	"time"
)

// ringSize is the longest service time that is kept, in quanta: 27 minutes.
const ringSize = 1 << 14

// Queue is a first-come-first-served queue before all slots of all replicas, as a gateway with the least-loaded rule
// makes of them. Time advances in quanta.
type Queue struct {
	load *Load
	step int
	next int // index of the next request to start
	rng  *rand.PCG
	// done[i] counts the requests that end in a quantum, drained[i] those of them on replicas that are being removed.
	done, drained []int32
	inService     int
	draining      int
	fifo          []batch
	head          int
	waiting       int
	patience      int

	scoreFrom int
	waits     []int64 // requests that started, by waiting time in quanta
	served    int64
	dropped   int64
	scored    int64
	late      int64
	retried   int64
}

// batch is requests that arrived in one quantum.
type batch struct{ step, n int }

// NewQueue is an empty queue at the start of a load.
func NewQueue(l *Load) *Queue {
	return &Queue{
		load: l, rng: rand.NewPCG(l.seed, 0x686f6c64), done: make([]int32, ringSize), drained: make([]int32, ringSize),
		patience: int(Patience / Quantum), waits: make([]int64, int(Patience/Quantum)+1),
	}
}

// ScoreFrom leaves requests that arrive before a moment out of the record.
func (q *Queue) ScoreFrom(at time.Time) { q.scoreFrom = int(at.Sub(q.load.Start) / Quantum) }

// SkipTo moves to a moment without serving what comes before it; only for a queue that has not run yet.
func (q *Queue) SkipTo(at time.Time) {
	q.step = int(at.Sub(q.load.Start) / Quantum)
	for _, n := range q.load.arrivals[:q.step] {
		q.next += int(n)
	}
}

// Now is the present moment.
func (q *Queue) Now() time.Time { return q.load.Start.Add(time.Duration(q.step) * Quantum) }

// Waiting and Running are the requests in the queue and in slots.
func (q *Queue) Waiting() int { return q.waiting }

// Running is the number of requests in slots, without those on replicas that are being removed.
func (q *Queue) Running() int { return q.inService }

// Advance serves until a moment with a constant number of slots.
func (q *Queue) Advance(to time.Time, slots int) {
	end := min(int(to.Sub(q.load.Start)/Quantum), len(q.load.arrivals))
	for ; q.step < end; q.step++ {
		i := q.step & (ringSize - 1)
		if n := q.done[i]; n > 0 {
			gone := q.drained[i]
			q.inService -= int(n - gone)
			q.draining -= int(gone)
			q.served += int64(n)
			q.done[i], q.drained[i] = 0, 0
		}
		if n := int(q.load.arrivals[q.step]); n > 0 {
			q.push(batch{q.step, n})
		}
		if q.waiting > 0 {
			q.start(slots - q.inService)
			q.giveUp()
		}
	}
}

func (q *Queue) push(b batch) {
	if q.head > 1024 && q.head*2 > len(q.fifo) {
		q.fifo = append(q.fifo[:0], q.fifo[q.head:]...)
		q.head = 0
	}
	q.fifo = append(q.fifo, b)
	q.waiting += b.n
	if b.step >= q.scoreFrom {
		q.scored += int64(b.n)
	}
}

// start fills free slots from the head of the queue.
func (q *Queue) start(free int) {
	for free > 0 && q.waiting > 0 {
		b := &q.fifo[q.head]
		k := min(free, b.n)
		wait := q.step - b.step
		if b.step >= q.scoreFrom {
			q.waits[min(wait, len(q.waits)-1)] += int64(k)
			if wait > int(MaxWait/Quantum) {
				q.late += int64(k)
			}
		}
		for range k {
			q.done[(q.step+q.hold())&(ringSize-1)]++
		}
		q.inService += k
		q.waiting -= k
		free -= k
		q.take(b, k)
	}
}

// take removes k requests from the head.
func (q *Queue) take(b *batch, k int) {
	b.n -= k
	if b.n == 0 {
		q.head++
		if q.head == len(q.fifo) {
			q.fifo, q.head = q.fifo[:0], 0
		}
	}
}

// hold is the service time of the next request, in quanta.
func (q *Queue) hold() int {
	var n int
	if q.load.holds == nil {
		n = q.load.table.draw(q.rng)
	} else {
		n = roundByChance(q.load.holds[q.next%len(q.load.holds)], uint32(q.rng.Uint64()>>32))
	}
	q.next++
	return min(n, ringSize-1)
}

// giveUp drops what has waited longer than the clients' patience.
func (q *Queue) giveUp() {
	for q.waiting > 0 && q.patience > 0 {
		b := &q.fifo[q.head]
		if q.step-b.step < q.patience {
			return
		}
		n := b.n
		q.dropped += int64(n)
		q.waiting -= n
		q.next += n
		if b.step >= q.scoreFrom {
			q.late += int64(n)
			q.waits[len(q.waits)-1] += int64(n)
		}
		q.take(b, n)
	}
}

// Drain lets the requests on one of several equally loaded replicas finish without their slots counting any more.
func (q *Queue) Drain(replicas int) { q.split(replicas, false) }

// Kill takes one of several equally loaded replicas away at once; its requests go to the end of the queue.
func (q *Queue) Kill(replicas int) { q.split(replicas, true) }

// split moves each request in service with probability 1/replicas.
func (q *Queue) split(replicas int, kill bool) {
	if replicas <= 0 || q.inService == 0 {
		return
	}
	lost := 0
	for i := range q.done {
		for range q.done[i] - q.drained[i] {
			if q.rng.Uint64()%uint64(replicas) != 0 {
				continue
			}
			lost++
			if kill {
				q.done[i]--
			} else {
				q.drained[i]++
			}
		}
	}
	q.inService -= lost
	if !kill {
		q.draining += lost
		return
	}
	if lost > 0 {
		q.retried += int64(lost)
		q.fifo = append(q.fifo, batch{q.step, lost})
		q.waiting += lost
	}
}

// Traffic is what became of the requests that were scored.
type Traffic struct {
	Requests, Late, Dropped int64
	P50, P95, P99           time.Duration
	MeanWait                time.Duration
}

// Record sums up the scored requests. Requests that still wait are not counted.
func (q *Queue) Record() Traffic {
	t := Traffic{Late: q.late, Dropped: q.dropped}
	var sum float64
	for w, n := range q.waits {
		t.Requests += n
		sum += float64(w) * float64(n)
	}
	if t.Requests > 0 {
		t.MeanWait = time.Duration(sum / float64(t.Requests) * float64(Quantum))
	}
	t.P50, t.P95, t.P99 = q.quantile(t.Requests, 0.5), q.quantile(t.Requests, 0.95), q.quantile(t.Requests, 0.99)
	return t
}

func (q *Queue) quantile(total int64, p float64) time.Duration {
	rank := int64(p * float64(total))
	for w, n := range q.waits {
		if rank -= n; rank < 0 {
			return time.Duration(w) * Quantum
		}
	}
	return 0
}

// Balance is every request that ever arrived, by where it is now; it is the law of conservation that the tests check.
type Balance struct{ Arrived, Served, Dropped, InService, Waiting int64 }

// Balance counts the requests since the start of the run. A retried request counts once.
func (q *Queue) Balance(from time.Time) Balance {
	b := Balance{Served: q.served, Dropped: q.dropped, InService: int64(q.inService + q.draining), Waiting: int64(q.waiting)}
	for _, n := range q.load.arrivals[int(from.Sub(q.load.Start)/Quantum):q.step] {
		b.Arrived += int64(n)
	}
	return b
}
