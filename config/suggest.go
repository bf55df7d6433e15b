package config

import (
	"slices"
	"strings"
)

// suggest returns the remark that names the candidate which name was probably meant to be, or nothing.
func suggest(name string, candidates []string) string {
	best, distance := "", len(name)/3+1
	sorted := slices.Sorted(slices.Values(candidates))
	for _, c := range sorted {
		if strings.EqualFold(c, name) {
			best, distance = c, 0
			continue
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(c), distance); d < distance || (d == distance && best == "") {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours between a and b, and gives limit+1
// as soon as there are certainly more than limit.
func editDistance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit {
		return limit + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// oneOf lists alternatives the way messages show them.
func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}
