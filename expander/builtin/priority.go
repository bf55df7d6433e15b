package builtin

import (
	"maps"
	"regexp"
	"slices"

	"github.com/warmpool/warmpool/expander"
)

// Priorities is the configuration of the priority expander: patterns on group ids, unanchored, by priority.
type Priorities map[int][]*regexp.Regexp

// Priority keeps the options of the highest priority of which a pattern matches an option. If nothing matches, all are
// kept; priorities below -1 never match.
func Priority(req expander.Request, priorities Priorities) []string {
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(priorities))) {
		if priority < -1 {
			break
		}
		var kept []string
		for i := range req.Options {
			id := req.Options[i].GroupID
			if slices.ContainsFunc(priorities[priority], func(p *regexp.Regexp) bool { return p.MatchString(id) }) {
				kept = append(kept, id)
			}
		}
		if len(kept) > 0 {
			return kept
		}
	}
	return all(req)
}

func all(req expander.Request) []string {
	var ids []string
	for i := range req.Options {
		ids = append(ids, req.Options[i].GroupID)
	}
	return ids
}
