package link

import (
	"cmp"
	"slices"
	"time"
)

// Waiting is a replica that waits for a node which was ordered for it.
type Waiting struct {
	// Replica is the UID of its pod, Attempt the order of the node: a later order for the same replica has another one,
	// and 0 is none.
	Replica string
	Attempt uint64
	Pool    string
	Ordered time.Time
}

// Late is an order that takes longer than its pool usually does.
type Late struct {
	Attempt uint64 `json:"attempt"`
	Pool    string `json:"pool"`
	// Since is when it became late: the time of the failure in the record of the pool.
	Since time.Time `json:"since"`
	// Limit is the age from which it counts as late.
	Limit time.Duration `json:"limit"`
}

// SuspectState is what [Suspect] remembers of one scale target. The zero value is a target without late nodes.
type SuspectState struct {
	// Since is when the first of the nodes that are late now became so; zero without one.
	Since time.Time `json:"since,omitzero"`
	// Counted are the replicas that counted as missing, with the attempt that they count for.
	Counted map[string]uint64 `json:"counted,omitempty"`
}

// Suspect counts the replicas whose node is late, and lists the late orders, oldest first. Each replica counts once: for
// the first of its orders that is late, while it waits for that one. What is ordered while others are missing is their
// replacement, and does not count itself: there is one surge, never a surge for a surge.
func Suspect(waiting []Waiting, boots Boots, state SuspectState, now time.Time) (missing int, late []Late, next SuspectState) {
	var found []suspect
	for _, w := range waiting {
		limit, ok := boots.LateAfter(w.Pool)
		if !ok || w.Attempt == 0 || w.Ordered.IsZero() || now.Sub(w.Ordered) <= limit {
			continue
		}
		late = addLate(late, Late{w.Attempt, w.Pool, w.Ordered.Add(limit), limit})
		found = append(found, suspect{w, w.Ordered.Add(limit)})
	}
	next.Since = state.Since
	if next.Since.IsZero() && len(found) > 0 {
		next.Since = slices.MinFunc(found, func(a, b suspect) int { return a.since.Compare(b.since) }).since
	}
	for _, s := range found {
		attempt, counted := state.Counted[s.Replica]
		if counted && attempt != s.Attempt {
			continue
		}
		if !counted && s.Ordered.After(next.Since) {
			next.count(s.Replica, replacement)
			continue
		}
		next.count(s.Replica, s.Attempt)
		missing++
	}
	if missing == 0 {
		next.Since = time.Time{}
	}
	// Who waits on for a later order has had its turn.
	for _, w := range waiting {
		if attempt, counted := state.Counted[w.Replica]; counted {
			next.count(w.Replica, attempt)
		}
	}
	slices.SortFunc(late, func(a, b Late) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Attempt, b.Attempt)) })
	return missing, late, next
}

// replacement stands for no attempt: what was ordered as a replacement never counts.
const replacement = 0

type suspect struct {
	Waiting
	since time.Time
}

func (s *SuspectState) count(replica string, attempt uint64) {
	if s.Counted == nil {
		s.Counted = map[string]uint64{}
	}
	if _, ok := s.Counted[replica]; !ok {
		s.Counted[replica] = attempt
	}
}

func addLate(late []Late, one Late) []Late {
	if slices.ContainsFunc(late, func(l Late) bool { return l.Attempt == one.Attempt }) {
		return late
	}
	return append(late, one)
}
