package expander

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// HistoryVersion is the version of the stored form that this code writes.
const HistoryVersion = 1

// Bounds of a History, so that its JSON stays below the 1 MiB of a ConfigMap: whatever an unauthenticated caller
// sends, old entries make room for new ones.
const (
	maxPods     = 2000
	maxChoices  = 500
	maxGroups   = 500
	maxFailures = 16
	// maxPodChoices is how many choices a pod remembers: as many attempts as a stage may count.
	maxPodChoices = 12

	podMemory      = 6 * time.Hour
	choiceMemory   = 6 * time.Hour
	failureExpiry  = 24 * time.Hour
	workloadMemory = 10 * time.Minute
	lossWindow     = time.Minute
)

// History is what was learnt from earlier requests. It is a value: [Select] takes one and returns the next, and
// [MergeHistory] joins what two instances learnt. The zero History is that of a first start; use [LostHistory] when
// there was one that could not be read.
type History struct {
	Version int `json:"version"`
	// LostAt is when an earlier history was found to be lost; zero if none was.
	LostAt time.Time `json:"lostAt,omitzero"`
	// Pods are the pods of recent requests by UID.
	Pods map[string]PodHistory `json:"pods,omitempty"`
	// Choices are the recent choices, oldest first.
	Choices   []Choice                   `json:"choices,omitempty"`
	Groups    map[string]GroupHistory    `json:"groups,omitempty"`
	Workloads map[string]WorkloadHistory `json:"workloads,omitempty"`
}

// PodHistory is what is known of one pod.
type PodHistory struct {
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	// Choices are the ids of the choices that covered the pod, in ascending order.
	Choices []uint64 `json:"choices,omitempty"`
	// Lost marks a pod that was first seen right after the history was lost: it may have waited longer than it seems,
	// and one stage budget is assumed.
	Lost bool `json:"lost,omitempty"`
}

// Choice is one group chosen for some pods: an attempt.
type Choice struct {
	ID    uint64    `json:"id"`
	At    time.Time `json:"at"`
	Group string    `json:"group"`
	// Workload is the one that was served; Stages has the stage for every workload that the option covers.
	Workload string         `json:"workload"`
	Stages   map[string]int `json:"stages"`
	Nodes    int            `json:"nodes"`
	Pods     int            `json:"pods"`
	// Registered is the number of registered nodes of the group at that time; -1 is unknown.
	Registered int `json:"registered"`
	// OnDemand tells that the nodes are not spot.
	OnDemand bool `json:"onDemand,omitempty"`
	// Observed choices were only recorded, not answered.
	Observed  bool `json:"observed,omitempty"`
	Failed    bool `json:"failed,omitempty"`
	Delivered bool `json:"delivered,omitempty"`
}

// GroupHistory is the failure record of one group.
type GroupHistory struct {
	// Failures are the failures, oldest first.
	Failures []FailureRecord `json:"failures,omitempty"`
	// DeliveredAt is the time of the newest choice that brought nodes; earlier failures no longer count, see
	// [GroupHistory.Standing].
	DeliveredAt time.Time `json:"deliveredAt,omitzero"`
}

// FailureRecord is one failure of a group.
type FailureRecord struct {
	At     time.Time    `json:"at"`
	Class  FailureClass `json:"class"`
	Proven bool         `json:"proven,omitempty"`
	// QuotaGroup is the quota that the group drew on.
	QuotaGroup string `json:"quotaGroup,omitempty"`
}

// WorkloadHistory is what is known of one workload.
type WorkloadHistory struct {
	// Unserved counts the loops in a row that it lost although it had a valid option, as of At.
	Unserved int       `json:"unserved,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Stage was reached at StageAt because the stage Failed, an earlier one, had failed.
	Stage   int       `json:"stage,omitempty"`
	Failed  int       `json:"failed,omitempty"`
	StageAt time.Time `json:"stageAt,omitzero"`
}

// LostHistory is the history to start with when there was one that is lost. Pods in the requests of the next minute
// are taken to have been seen one stage budget earlier; nothing else can be assumed.
func LostHistory(now time.Time) History {
	return History{Version: HistoryVersion, LostAt: stamp(now)}
}

// stamp brings a time to the form in which it is stored, so that a History survives JSON unchanged.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// clone copies everything that Select may change.
func (h History) clone() History {
	next := History{
		Version: HistoryVersion, LostAt: h.LostAt,
		Pods:      make(map[string]PodHistory, len(h.Pods)),
		Choices:   slices.Clone(h.Choices),
		Groups:    make(map[string]GroupHistory, len(h.Groups)),
		Workloads: make(map[string]WorkloadHistory, len(h.Workloads)),
	}
	maps.Copy(next.Pods, h.Pods) // ids are only ever appended to a clipped slice
	maps.Copy(next.Workloads, h.Workloads)
	for id, g := range h.Groups {
		next.Groups[id] = GroupHistory{slices.Clone(g.Failures), g.DeliveredAt}
	}
	return next
}

// expire forgets what is too old to matter.
func (h *History) expire(now time.Time) {
	maps.DeleteFunc(h.Pods, func(_ string, p PodHistory) bool { return now.Sub(p.LastSeen) > podMemory })
	maps.DeleteFunc(h.Workloads, func(_ string, w WorkloadHistory) bool {
		return now.Sub(w.At) > workloadMemory && now.Sub(w.StageAt) > workloadMemory
	})
	h.Choices = slices.DeleteFunc(h.Choices, func(c Choice) bool { return now.Sub(c.At) > choiceMemory })
	for id, g := range h.Groups {
		g.Failures = slices.DeleteFunc(g.Failures, func(f FailureRecord) bool { return now.Sub(f.At) > failureExpiry })
		h.Groups[id] = g
		if len(g.Failures) == 0 && now.Sub(g.DeliveredAt) > failureExpiry {
			delete(h.Groups, id)
		}
	}
}

// bound cuts every part to its limit, oldest first. It needs no time, so that a merge can use it.
func (h *History) bound() {
	keepNewest(h.Pods, maxPods, func(p PodHistory) time.Time { return p.LastSeen })
	keepNewest(h.Groups, maxGroups, GroupHistory.newest)
	keepNewest(h.Workloads, maxGroups, func(w WorkloadHistory) time.Time { return later(w.At, w.StageAt) })
	slices.SortFunc(h.Choices, func(a, b Choice) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	h.Choices = h.Choices[max(0, len(h.Choices)-maxChoices):]
	age := make(map[uint64]int, len(h.Choices)) // the position is the order of time
	for i, c := range h.Choices {
		age[c.ID] = i
	}
	forgotten := func(id uint64) bool { _, kept := age[id]; return !kept }
	for uid, p := range h.Pods {
		if len(p.Choices) <= maxPodChoices && !slices.ContainsFunc(p.Choices, forgotten) {
			continue
		}
		p.Choices = slices.DeleteFunc(slices.Clone(p.Choices), forgotten)
		if len(p.Choices) > maxPodChoices {
			slices.SortFunc(p.Choices, func(a, b uint64) int { return cmp.Compare(age[b], age[a]) })
			p.Choices = p.Choices[:maxPodChoices]
			slices.Sort(p.Choices)
		}
		h.Pods[uid] = p
	}
}

func (g GroupHistory) newest() time.Time {
	if n := len(g.Failures); n > 0 {
		return later(g.Failures[n-1].At, g.DeliveredAt)
	}
	return g.DeliveredAt
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// keepNewest deletes the oldest entries above a limit; equal times fall back to the key, so that the result does not
// depend on the order of the map.
func keepNewest[V any](entries map[string]V, limit int, at func(V) time.Time) {
	if len(entries) <= limit {
		return
	}
	type dated struct {
		at   time.Time
		name string
	}
	order := make([]dated, 0, len(entries))
	for name, entry := range entries {
		order = append(order, dated{at(entry), name})
	}
	slices.SortFunc(order, func(a, b dated) int {
		if newer := b.at.Compare(a.at); newer != 0 {
			return newer
		}
		return cmp.Compare(a.name, b.name)
	})
	for _, old := range order[limit:] {
		delete(entries, old.name)
	}
}
