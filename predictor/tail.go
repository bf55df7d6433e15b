package predictor

import "math"

const (
	smoothTailFrom = 100  // scores from which the far tail is smoothed
	tailShare      = 20   // the largest 1/20 of the scores form the far tail
	smallestExcess = 0.02 // of the mean excess over the 95 % score
	tailPseudo     = 0.3  // plotting position of Benard and Bos-Levenbach
)

// Tail is the distribution of past scores, (outcome - forecast)/scale, read
// from above: how likely is an outcome above the forecast by x scales.
// The zero value knows no scores.
type Tail struct {
	values  []float64 // distinct scores, ascending
	greater []uint16  // scores greater than values[i]
	n       int

	cut    float64 // the 95 % score; +Inf where the tail is not smoothed
	excess float64 // mean excess over cut
}

// newTail is the distribution of n scores, at most 65535.
func newTail(values []float64, greater []uint16, n int) Tail {
	t := Tail{values: values, greater: greater, n: n, cut: math.Inf(1)}
	if n < smoothTailFrom {
		return t
	}
	upper := n / tailShare
	t.cut = t.quantileAt(n - upper)
	sum, left := 0.0, upper
	for i := len(values) - 1; i >= 0 && left > 0; i-- {
		above := 0
		if i+1 < len(values) {
			above = int(greater[i])
		}
		count := min(t.atLeast(i)-above, left)
		sum += float64(count) * (values[i] - t.cut)
		left -= count
	}
	t.excess = max(sum/float64(upper), smallestExcess)
	return t
}

// atLeast counts the scores that are values[i] or more.
func (t *Tail) atLeast(i int) int {
	if i == 0 {
		return t.n
	}
	return int(t.greater[i-1])
}

// Scores is how many past scores the distribution rests on.
func (t *Tail) Scores() int { return t.n }

// quantileAt returns the score of the given rank, 1 being the smallest.
func (t *Tail) quantileAt(rank int) float64 {
	lo, hi := 0, len(t.values)-1
	for lo < hi { // the first value with at least rank scores up to it
		mid := (lo + hi) / 2
		if t.n-int(t.greater[mid]) >= rank {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return t.values[lo]
}

// Quantile returns the score at rank ceil((n+1) q), at most n; 0 without scores.
func (t *Tail) Quantile(q float64) float64 {
	if t.n == 0 {
		return 0
	}
	rank := int(math.Ceil(float64(t.n+1)*q - 1e-9))
	return t.quantileAt(min(max(rank, 1), t.n))
}

// Exceed is the probability of a score above x, in (0, 1); NaN without scores.
func (t *Tail) Exceed(x float64) float64 {
	lo, hi := 0, len(t.values)
	for lo < hi { // how many values are at most x
		mid := (lo + hi) / 2
		if t.values[mid] <= x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return t.exceed(x, lo)
}

// exceed is Exceed where upTo values are known to be at most x.
func (t *Tail) exceed(x float64, upTo int) float64 {
	if t.n == 0 {
		return missing
	}
	above := t.n
	if upTo > 0 {
		above = int(t.greater[upTo-1])
	}
	s := (tailPseudo + float64(above)) / float64(t.n+1)
	if x > t.cut {
		return s/2 + math.Exp(-(x-t.cut)/t.excess)/(2*tailShare)
	}
	return s
}
