package expander

import (
	"slices"
	"time"
)

// order sorts the workloads that could be served: those that lost too often first, then by priority, then by the
// oldest pod that counts, then in the order of the policy.
func (d *draft) order() []int {
	limit := d.policy.MaxUnservedLoops
	if limit <= 0 {
		limit = defaultUnservedLoops
	}
	var order []int
	for w := range d.plans {
		if len(d.plans[w].valid) > 0 {
			order = append(order, w)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &d.standings[a], &d.standings[b]
		if starving := compareBool(y.unservedLoops >= limit, x.unservedLoops >= limit); starving != 0 {
			return starving
		}
		if x.priority != y.priority {
			return compareBool(y.priority > x.priority, x.priority > y.priority)
		}
		return compareAge(x.oldest, y.oldest)
	})
	return order
}

// defaultUnservedLoops is how many loops in a row a workload may lose if the policy does not say.
const defaultUnservedLoops = 3

// compareAge puts the earlier first sight first, and none at all last.
func compareAge(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return compareBool(a.IsZero(), b.IsZero())
	}
	return a.Compare(b)
}
