package expander

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// sameFailure is the shortest time between two failures of one group: the Cluster Autoscaler's own backoff keeps it
// from growing the group again before, so reports closer together are about one failure.
const sameFailure = 5 * time.Minute

// MergeHistory joins what two instances learnt. It does not matter which comes first or how often it is done, so
// instances may exchange their histories whenever they like. The arguments are not changed; one of a later version than
// this code knows adds nothing.
func MergeHistory(a, b History) History {
	if a.Version > HistoryVersion {
		a = History{}
	}
	if b.Version > HistoryVersion {
		b = History{}
	}
	merged := a.clone()
	merged.LostAt = later(a.LostAt, b.LostAt)
	for uid, p := range b.Pods {
		if known, ok := merged.Pods[uid]; ok {
			p = mergePods(known, p)
		}
		merged.Pods[uid] = p
	}
	merged.Choices = mergeChoices(merged.Choices, b.Choices)
	for id, g := range b.Groups {
		known := merged.Groups[id]
		merged.Groups[id] = GroupHistory{
			Failures:    episodes(append(known.Failures, g.Failures...)),
			DeliveredAt: later(known.DeliveredAt, g.DeliveredAt),
		}
	}
	for name, w := range b.Workloads {
		merged.Workloads[name] = mergeWorkloads(merged.Workloads[name], w)
	}
	merged.bound()
	return merged
}

func mergePods(a, b PodHistory) PodHistory {
	merged := PodHistory{FirstSeen: a.FirstSeen, LastSeen: later(a.LastSeen, b.LastSeen), Lost: a.Lost && b.Lost}
	if b.FirstSeen.Before(a.FirstSeen) {
		merged.FirstSeen = b.FirstSeen
	}
	merged.Choices = slices.Concat(a.Choices, b.Choices)
	slices.Sort(merged.Choices)
	merged.Choices = slices.Compact(merged.Choices)
	return merged
}

// mergeChoices joins two lists by id. What one instance found out about a choice holds for both.
func mergeChoices(a, b []Choice) []Choice {
	merged := slices.Concat(a, b)
	slices.SortStableFunc(merged, func(x, y Choice) int { return cmp.Compare(x.ID, y.ID) })
	kept := merged[:0]
	for _, c := range merged {
		if n := len(kept); n > 0 && kept[n-1].ID == c.ID {
			kept[n-1] = mergeChoice(kept[n-1], c)
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

func mergeChoice(a, b Choice) Choice {
	a.Failed, a.Delivered = a.Failed || b.Failed, a.Delivered || b.Delivered
	a.OnDemand, a.Observed = a.OnDemand || b.OnDemand, a.Observed && b.Observed
	a.Pods, a.Nodes, a.Registered = max(a.Pods, b.Pods), max(a.Nodes, b.Nodes), max(a.Registered, b.Registered)
	stages := maps.Clone(a.Stages)
	for name, stage := range b.Stages {
		if known, ok := stages[name]; !ok || stage < known {
			if stages == nil {
				stages = map[string]int{}
			}
			stages[name] = stage
		}
	}
	a.Stages = stages
	return a
}

// mergeWorkloads takes the newer word on each of the two facts.
func mergeWorkloads(a, b WorkloadHistory) WorkloadHistory {
	merged := a
	if order := a.At.Compare(b.At); order < 0 || (order == 0 && b.Unserved > a.Unserved) {
		merged.At, merged.Unserved = b.At, b.Unserved
	}
	if order := cmp.Or(a.StageAt.Compare(b.StageAt), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Failed, b.Failed)); order < 0 {
		merged.StageAt, merged.Stage, merged.Failed = b.StageAt, b.Stage, b.Failed
	}
	return merged
}

// episodes sorts reports of failures and joins those that are about the same failure: the earliest time, the worst
// class, proven if any is. Suspicions are never joined with proofs, because they block differently.
func episodes(reports []FailureRecord) []FailureRecord {
	slices.SortFunc(reports, func(a, b FailureRecord) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(severity(b.Class), severity(a.Class)), cmp.Compare(a.QuotaGroup, b.QuotaGroup), compareBool(b.Proven, a.Proven))
	})
	var joined []FailureRecord
	last := map[bool]int{}
	for _, r := range reports {
		i, ok := last[r.Proven]
		if ok && r.At.Sub(joined[i].At) < sameFailure {
			if severity(r.Class) > severity(joined[i].Class) {
				joined[i].Class, joined[i].QuotaGroup = r.Class, r.QuotaGroup
			}
			continue
		}
		last[r.Proven] = len(joined)
		joined = append(joined, r)
	}
	return joined[max(0, len(joined)-maxFailures):]
}

func severity(c FailureClass) int {
	switch c {
	case FailureQuota:
		return 2
	case FailureStock:
		return 1
	default:
		return 0
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
