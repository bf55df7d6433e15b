package sim

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// LowerBound is the least that the pods' resource-hours can cost on fractions of nodes: a linear program with three
// resources, solved on the vertices of its dual. No expander and no scheduler can be cheaper.
func LowerBound(pods []PodSpec, groups []GroupSpec) float64 {
	var total [3]float64
	for _, p := range pods {
		addTo(&total, amountOf(p.Requests), p.Run.Hours())
	}
	return dearest(corners(groups), total)
}

// InstantBound is the same at every single moment, with pods that start when they are created, and never less than the
// cheapest node for the most demanding of the pods that run. A real cluster also pays for booting and idle nodes.
func InstantBound(pods []PodSpec, groups []GroupSpec) float64 {
	type change struct {
		at   time.Time
		sign float64
		pod  int
	}
	cheapest := make([]float64, len(pods))
	changes := make([]change, 0, 2*len(pods))
	for i := range pods {
		cheapest[i] = math.Inf(1)
		for g := range groups {
			if groups[g].HourlyCost < cheapest[i] && holds(&groups[g], &pods[i]) {
				cheapest[i] = groups[g].HourlyCost
			}
		}
		changes = append(changes, change{pods[i].Created, 1, i}, change{pods[i].Created.Add(pods[i].Run), -1, i})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.pod, b.pod)) })
	vertices := corners(groups)
	var running [3]float64
	single := map[float64]int{} // how many running pods have this cheapest node
	var cost float64
	for i, c := range changes {
		if i > 0 && c.at.After(changes[i-1].at) {
			least := dearest(vertices, running)
			for price, n := range single {
				if n > 0 {
					least = max(least, price)
				}
			}
			cost += least * c.at.Sub(changes[i-1].at).Hours()
		}
		addTo(&running, amountOf(pods[c.pod].Requests), c.sign)
		single[cheapest[c.pod]] += int(c.sign)
	}
	return cost
}

func addTo(total *[3]float64, a amount, times float64) {
	for i, v := range [3]int64{a.cpu, a.mem, a.gpu} {
		total[i] += float64(v) * times
	}
}

// dearest is the value of the linear program: the largest over the vertices of the dual.
func dearest(vertices [][3]float64, total [3]float64) float64 {
	best := 0.0
	for _, x := range vertices {
		best = max(best, total[0]*x[0]+total[1]*x[1]+total[2]*x[2])
	}
	return best
}

// corners are the vertices of the dual: resource prices at which no group costs less than what it holds.
func corners(groups []GroupSpec) [][3]float64 {
	// Rows a.x <= b: a group's resources at the prices x cost no more than the group; prices are not negative.
	var rows [][4]float64
	for _, g := range groups {
		a := amountOf(g.Allocatable)
		rows = append(rows, [4]float64{float64(a.cpu), float64(a.mem), float64(a.gpu), g.HourlyCost})
	}
	for i := range 3 {
		var row [4]float64
		row[i] = -1
		rows = append(rows, row)
	}
	var out [][3]float64
	for i := range rows {
		for j := range i {
			for k := range j {
				if x, ok := solve(rows[i], rows[j], rows[k]); ok && feasible(rows, x) {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// solve is Cramer's rule for three equations.
func solve(a, b, c [4]float64) (x [3]float64, ok bool) {
	det := func(i, j, k int) float64 {
		return a[i]*(b[j]*c[k]-b[k]*c[j]) - a[j]*(b[i]*c[k]-b[k]*c[i]) + a[k]*(b[i]*c[j]-b[j]*c[i])
	}
	d := det(0, 1, 2)
	if d == 0 {
		return x, false
	}
	return [3]float64{det(3, 1, 2) / d, det(0, 3, 2) / d, det(0, 1, 3) / d}, true
}

func feasible(rows [][4]float64, x [3]float64) bool {
	for _, r := range rows {
		left := r[0]*x[0] + r[1]*x[1] + r[2]*x[2]
		if left > r[3]+1e-9*max(1, r[3]) {
			return false
		}
	}
	return x[0] > -1e-15 && x[1] > -1e-15 && x[2] > -1e-15
}
