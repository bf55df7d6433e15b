package signals

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// plan is a set of queries reduced to distinct expressions.
type plan struct {
	uses    []use
	demands []demand
	// resolve makes the samples of one query from its tables; age is nil without an age query.
	resolve func(q config.Query, value, age *table) ([]scaler.Sample, error)
}

// use is one query of one service.
type use struct {
	service, query int
	q              config.Query
	value, age     *table
	failure        *Error
	// waiting counts the expressions that are still out.
	waiting int
}

// demand is one expression and the uses that wait for it.
type demand struct {
	expr   string
	values []int
	ages   []int
}

func newPlan(services [][]config.Query, resolve func(config.Query, *table, *table) ([]scaler.Sample, error)) *plan {
	p := &plan{resolve: resolve}
	byExpr := map[string]int{}
	find := func(expr string) *demand {
		i, ok := byExpr[expr]
		if !ok {
			i = len(p.demands)
			byExpr[expr] = i
			p.demands = append(p.demands, demand{expr: expr})
		}
		return &p.demands[i]
	}
	for s, queries := range services {
		for i, q := range queries {
			u := len(p.uses)
			p.uses = append(p.uses, use{service: s, query: i, q: q, waiting: 1})
			d := find(q.Expr)
			d.values = append(d.values, u)
			if q.AgeExpr != "" {
				p.uses[u].waiting++
				d = find(q.AgeExpr)
				d.ages = append(d.ages, u)
			}
		}
	}
	return p
}

type answer struct {
	demand  int
	table   *table
	failure *Error
}

// run asks every expression with as many workers as requests may be in flight and reports from this goroutine.
func (r *Reader) run(ctx context.Context, p *plan, decode func(model.Value) (*table, *Error), send request, report Report) {
	order := r.suspectsLast(p)
	next := make(chan int, len(order))
	for _, d := range order {
		next <- d
	}
	close(next)
	answers := make(chan answer)
	var workers sync.WaitGroup
	for range min(r.options.MaxConcurrent, len(order)) {
		workers.Go(func() {
			for d := range next {
				answers <- r.answer(ctx, p.demands[d].expr, d, decode, send)
			}
		})
	}
	go func() { workers.Wait(); close(answers) }()
	for a := range answers {
		p.settle(a, report)
	}
}

func (r *Reader) answer(ctx context.Context, expr string, d int, decode func(model.Value) (*table, *Error), send request) answer {
	value, failure := r.ask(ctx, expr, r.options.Timeout, send)
	r.mark(expr, failure)
	if failure != nil {
		return answer{demand: d, failure: failure}
	}
	t, failure := decode(value)
	return answer{demand: d, table: t, failure: failure}
}

// settle gives an answer to those who wait for it and reports the queries that are complete.
func (p *plan) settle(a answer, report Report) {
	give := func(u *use) {
		if a.failure != nil && u.failure == nil {
			u.failure = a.failure
		}
		if u.waiting--; u.waiting > 0 {
			return
		}
		if u.failure != nil {
			report(u.service, u.query, nil, u.failure)
			return
		}
		samples, err := p.resolve(u.q, u.value, u.age)
		report(u.service, u.query, samples, err)
	}
	for _, i := range p.demands[a.demand].values {
		p.uses[i].value = a.table
		give(&p.uses[i])
	}
	for _, i := range p.demands[a.demand].ages {
		p.uses[i].age = a.table
		give(&p.uses[i])
	}
}

// suspectsLast puts expressions that failed last time behind the others: eight slow ones would take every turn.
func (r *Reader) suspectsLast(p *plan) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := make([]int, len(p.demands))
	for i := range order {
		order[i] = i
	}
	rank := func(d int) int {
		if r.suspects[p.demands[d].expr] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	return order
}

// mostSuspects bounds the memory of failed expressions; expressions of services that are gone stay in it otherwise.
const mostSuspects = 50_000

func (r *Reader) mark(expr string, failure *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if failure == nil {
		delete(r.suspects, expr)
		return
	}
	if len(r.suspects) >= mostSuspects {
		clear(r.suspects)
	}
	r.suspects[expr] = true
}
