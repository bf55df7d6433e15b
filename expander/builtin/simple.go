package builtin

import "github.com/warmpool/warmpool/expander"

// LeastWaste keeps the options with the least unused CPU plus memory of the nodes' capacity.
func LeastWaste(req expander.Request) []string { return expander.LeastWaste(req) }

// MostPods keeps the options that serve the most pods; options without pods all tie.
func MostPods(req expander.Request) []string {
	return best(req, func(o *expander.Option) (float64, bool) { return -float64(len(o.Pods)), true })
}

// LeastNodes keeps the options with the fewest nodes above 0. It favours the largest machine, and is meant to run
// after most-pods.
func LeastNodes(req expander.Request) []string {
	return best(req, func(o *expander.Option) (float64, bool) { return float64(o.NodeCount), o.NodeCount > 0 })
}

// Random draws one option. The same seed and the same number of options give the same place in the list.
func Random(req expander.Request, seed uint64) []string {
	if len(req.Options) == 0 {
		return nil
	}
	return []string{req.Options[splitMix(seed)%uint64(len(req.Options))].GroupID}
}

// splitMix is one step of SplitMix64 (Steele, Lea and Flood, 2014): neighbouring seeds give unrelated numbers.
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// best keeps the options with the smallest score; score may leave an option out.
func best(req expander.Request, score func(*expander.Option) (float64, bool)) []string {
	var kept []string
	least := 0.0
	for i := range req.Options {
		o := &req.Options[i]
		s, ok := score(o)
		switch {
		case !ok:
		case len(kept) == 0 || s < least:
			kept, least = []string{o.GroupID}, s
		case s == least:
			kept = append(kept, o.GroupID)
		}
	}
	return kept
}
