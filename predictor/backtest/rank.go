package backtest

import (
	"cmp"
	"math"
	"slices"
)

// Candidate is a method that is compared by its loss.
type Candidate struct {
	Name     string
	Loss     float64 // mean over the steps it answered
	Failures int     // steps at which it failed
}

// Rank orders candidates by loss, the best first. A method that failed has an
// infinite loss: scored by the rest alone it could win by failing when it is hard.
func Rank(candidates []Candidate) []Candidate {
	out := slices.Clone(candidates)
	for i := range out {
		if out[i].Failures > 0 || math.IsNaN(out[i].Loss) {
			out[i].Loss = math.Inf(1)
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Compare(a.Loss, b.Loss) })
	return out
}
