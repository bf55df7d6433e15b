package forecast

import (
	"math"
	"sort"
)

// Profile is the simple analog profile: the weighted median of the same clock
// time on past days, scaled by today's level over the median of theirs.
type Profile struct {
	past
	grid Grid
}

// NewProfile returns the forecast for a grid.
func NewProfile(g Grid) *Profile { return &Profile{grid: g} }

// Forecast returns the scaled profile at the target.
func (f *Profile) Forecast(ahead int) float64 {
	now := len(f.values) - 1
	base, reference := f.medians(now, now+ahead, f.weight)
	if math.IsNaN(base) {
		base, reference = f.medians(now, now+ahead, func(_, d int) float64 {
			if d <= 7 {
				return 1
			}
			return 0
		})
	}
	level := f.mean(now-f.grid.window()+1, now)
	if math.IsNaN(base) {
		return f.last
	}
	return Scale(base, level, reference)
}

// Scale corrects a base by today's level over the usual one, within a factor of 4.
func Scale(base, level, reference float64) float64 {
	k := 0.05 * base
	if math.IsNaN(level) || math.IsNaN(reference) || !(reference+k > 0) {
		return base
	}
	return base * math.Pow(min(max((level+k)/(reference+k), 0.25), 4), 0.8)
}

// weight of the day d days before the day of interval i: the same weekday of
// four weeks counts 1, the last six days of the same type 0.5.
func (f *Profile) weight(i, d int) float64 {
	day := (i + f.grid.First) / f.grid.PerDay
	switch {
	case d%7 == 0:
		return 1
	case d <= 6 && f.grid.weekend(day-d) == f.grid.weekend(day):
		return 0.5
	}
	return 0
}

func (f *Profile) medians(now, target int, weight func(i, d int) float64) (base, reference float64) {
	var bases, levels []weighted
	w := f.grid.window()
	for d := 1; d <= 28; d++ {
		x := weight(target, d)
		slot := target - d*f.grid.PerDay
		if x == 0 || math.IsNaN(f.at(slot)) {
			continue
		}
		v := f.at(slot)
		if w > 1 {
			v = f.mean(slot-1, min(slot+1, now))
		}
		bases = append(bases, weighted{v, x})
		origin := now - d*f.grid.PerDay
		if l := f.mean(origin-w+1, origin); !math.IsNaN(l) {
			levels = append(levels, weighted{l, x})
		}
	}
	return median(bases), median(levels)
}

type weighted struct{ value, weight float64 }

// median is the first value whose cumulative weight exceeds half, at exactly
// half the mean with the next; NaN without values.
func median(values []weighted) float64 {
	sort.SliceStable(values, func(a, b int) bool { return values[a].value < values[b].value })
	total, sum := 0.0, 0.0
	for _, v := range values {
		total += v.weight
	}
	for i, v := range values {
		sum += v.weight
		if sum == total/2 && i+1 < len(values) {
			return (v.value + values[i+1].value) / 2
		}
		if sum > total/2 {
			return v.value
		}
	}
	return math.NaN()
}
