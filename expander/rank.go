package expander

import "math"

// slack absorbs rounding: values closer together than this are equal.
const slack = 1e-9

// race is the lexicographic comparison of the options of one stage.
type race struct {
	p        *problem
	workload int
	options  []int
	in       []bool // by position in options
	trace    [][]CriterionValue
	deciding CriterionName
}

// rank compares options criterion by criterion, and returns those that are still equal with the trace of every
// option, in the order given.
func (p *problem) rank(workload int, options []int) *race {
	r := &race{p: p, workload: workload, options: options, in: make([]bool, len(options)), trace: make([][]CriterionValue, len(options))}
	for i := range r.in {
		r.in[i] = true
	}
	for _, criterion := range p.policy.criteria(workload) {
		if criterion.Name == DollarsPerDollarNeeded && !p.anyPrice {
			// Without any price there are no dollars: idle accelerators first, then the rule of the next filter.
			r.run(Criterion{Name: GPUWaste, Tolerance: 0})
			r.run(Criterion{Name: CPUMemWaste, Tolerance: 0})
			continue
		}
		r.run(criterion)
	}
	return r
}

// left are the options that no criterion could tell apart.
func (r *race) left() []int {
	var left []int
	for i, o := range r.options {
		if r.in[i] {
			left = append(left, o)
		}
	}
	return left
}

// run applies one criterion: the best value among the options still in the race, and all within the tolerance stay.
func (r *race) run(c Criterion) {
	values := make([]*float64, len(r.options))
	for i, o := range r.options {
		values[i] = r.p.value(c.Name, r.workload, o)
	}
	goals := r.goals(c.Name, values)
	best := math.Inf(1)
	for i := range goals {
		if r.in[i] {
			best = min(best, goals[i])
		}
	}
	before := len(r.left())
	for i := range goals {
		if r.in[i] && !math.IsInf(best, 1) {
			r.in[i] = goals[i] <= best+c.Tolerance+slack
		}
		r.trace[i] = append(r.trace[i], CriterionValue{Name: c.Name, Value: values[i], Kept: r.in[i]})
	}
	if len(r.left()) < before {
		r.deciding = c.Name
	}
}

// goals turns values into numbers of which less is better. What is unknown comes last for a price, counts as average
// for the reclaim rate, and makes any other criterion say nothing.
func (r *race) goals(name CriterionName, values []*float64) []float64 {
	goals := make([]float64, len(values))
	sum, known, missing := 0.0, 0, false
	for i, v := range values {
		if !r.in[i] {
			continue
		}
		if v == nil {
			missing = true
			continue
		}
		sum, known = sum+*v, known+1
	}
	for i, v := range values {
		switch {
		case v != nil && (!missing || name == Price || name == ReclaimRate):
			goals[i] = *v
			if moreIsBetter(name) {
				goals[i] = -*v
			}
		case name == ReclaimRate && known > 0:
			goals[i] = sum / float64(known)
		case name == Price:
			goals[i] = math.Inf(1)
		}
	}
	return goals
}

func moreIsBetter(name CriterionName) bool {
	return name == PodsHelped || name == SoftAffinity || name == ModelCache
}

// value is one criterion of one option; nil is unknown.
func (p *problem) value(name CriterionName, workload, i int) *float64 {
	o, g := &p.options[i], p.facts(i)
	n := float64(o.NodeCount)
	switch name {
	case PodsHelped:
		return finite(float64(len(o.pods)))
	case GPUWaste:
		return o.values.gpuWaste
	case CPUMemWaste:
		return sumOf(o.values.cpu, o.values.memory)
	case Price:
		return o.values.firmCost
	case DollarsPerDollarNeeded:
		return p.score(i, workload)
	case Size:
		return finite(n * (float64(g.node.MilliCPU)/1000 + float64(g.node.Memory)/gibibyte/4))
	case SoftAffinity:
		return finite(o.values.affinity)
	case ModelCache:
		return finite(p.modelCache(i))
	case Nodes:
		return finite(n)
	case ReclaimRate:
		return p.reclaimRate(g)
	default:
		return nil
	}
}

func sumOf(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return finite(*a + *b)
}

// reclaimRate is the rate of spot losses per node and hour: 0 for capacity that is not reclaimed.
func (p *problem) reclaimRate(g *groupFacts) *float64 {
	if keepsRunning(g.capacity) {
		return finite(0)
	}
	if rate := viewOf(p.view, g.ID).ReclaimsPerHour; rate >= 0 {
		return finite(rate)
	}
	return nil
}
