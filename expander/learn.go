package expander

import (
	"slices"
	"time"
)

const (
	// provisionTime is the Cluster Autoscaler's default wait for a node.
	provisionTime = 15 * time.Minute
	// longestBackoff is the longest time for which the Cluster Autoscaler holds a group back after one failure.
	longestBackoff = 30 * time.Minute
	// blameWindow is how long before a failure a choice may have been made to be its cause.
	blameWindow = time.Hour
	// ownFailure is how much earlier than a choice the failure may be dated that this choice met: some reports carry
	// whole seconds, all carry the clock of another machine. It cannot be an earlier failure, because the Cluster
	// Autoscaler's backoff keeps a group that failed out of the options for minutes.
	ownFailure = 5 * time.Second
)

// observe learns from the view and from which pods are back, before anything is decided.
func (h *History) observe(p *problem) {
	h.noteDeliveries(p)
	h.noteFailures(p)
	if !p.view.Known {
		h.suspect(p)
	}
	h.notePods(p)
}

// noteDeliveries marks the choices whose nodes have come.
func (h *History) noteDeliveries(p *problem) {
	before := h.nodesBefore(p.waitForNodes)
	for i := range h.Choices {
		c := &h.Choices[i]
		if c.Delivered || before[i] < 0 || viewOf(p.view, c.Group).Registered <= before[i] {
			continue
		}
		c.Delivered = true
		g := h.Groups[c.Group]
		g.DeliveredAt = later(g.DeliveredAt, c.At)
		h.Groups[c.Group] = g
	}
}

// nodesBefore tells of every choice how many registered nodes its group has before the first of its own: those that were
// there, and those of the choices before it. Nodes that an earlier choice still waits for, or that the view did not show
// yet, prove nothing of a later one. -1 is unknown.
func (h *History) nodesBefore(wait func(workload string) time.Duration) []int {
	before := make([]int, len(h.Choices))
	earlier := map[string][]expectation{}
	for i := range h.Choices {
		c := &h.Choices[i]
		before[i] = c.Registered
		if c.Registered < 0 {
			continue
		}
		for _, e := range earlier[c.Group] {
			if c.At.Before(e.until) {
				before[i] = max(before[i], e.nodes)
			}
		}
		if !c.Observed && (c.Delivered || !c.Failed) {
			earlier[c.Group] = append(earlier[c.Group], expectation{before[i] + c.Nodes, c.At.Add(wait(c.Workload))})
		}
	}
	return before
}

// expectation is how many nodes a group has when those of a choice have come, which they do by a time or not at all.
type expectation struct {
	nodes int
	until time.Time
}

// NodesBefore tells of every choice of a history, by its id, how many registered nodes its group has before the first of
// its own: when there are more, nodes of the choice have come. A choice made without a view of the cluster is left out.
func NodesBefore(policy *Policy, history History) map[uint64]int {
	p := problem{policy: policy.withWorkloads()}
	out := make(map[uint64]int, len(history.Choices))
	for i, n := range history.nodesBefore(p.waitForNodes) {
		if n >= 0 {
			out[history.Choices[i].ID] = n
		}
	}
	return out
}

// noteFailures records what the view proves: failure events, backoff, and targets that were never reached.
func (h *History) noteFailures(p *problem) {
	for _, f := range p.view.Failures {
		if !f.At.After(p.now) && p.now.Sub(f.At) <= failureExpiry {
			h.fail(p, f.GroupID, FailureRecord{At: stamp(f.At), Class: f.Class, Proven: !f.Suspected})
		}
	}
	for _, id := range sortedKeys(p.view.Groups) {
		g := p.view.Groups[id]
		if g.Backoff != nil {
			h.noteBackoff(p, id, g.Backoff)
		} else if p.view.Known && g.Registered >= 0 && g.Target > g.Registered {
			h.noteTimeOut(p, id)
		}
	}
}

// noteBackoff records the failure behind a backoff. Without the time at which it began, a backoff that is seen again
// is the same one unless the group was chosen in between.
func (h *History) noteBackoff(p *problem, id string, b *Backoff) {
	record := FailureRecord{At: stamp(b.Since), Class: b.Class, Proven: true}
	if b.Since.IsZero() || b.Since.After(p.now) {
		last := h.lastProven(id)
		if p.now.Sub(last) < longestBackoff && !h.lastChoice(id).After(last) {
			return
		}
		record.At = p.now
	}
	h.fail(p, id, record)
}

// noteTimeOut records that the newest choice of a group brought no node in time. Long after it, a target above the
// registered count is about something else.
func (h *History) noteTimeOut(p *problem, id string) {
	for _, c := range slices.Backward(h.Choices) {
		if c.Group != id || c.Observed {
			continue
		}
		limit := p.waitForNodes(c.Workload)
		overdue := p.now.Sub(c.At) - limit
		if !c.Delivered && !c.Failed && overdue >= 0 && overdue <= longestBackoff {
			h.fail(p, id, FailureRecord{At: c.At.Add(limit), Class: FailureOther, Proven: true})
		}
		return
	}
}

// waitForNodes is how long the Cluster Autoscaler waits for nodes of a workload.
func (p *problem) waitForNodes(workload string) time.Duration {
	if limit := p.memoryOf(workload).ProvisionTime; limit > 0 {
		return limit
	}
	return provisionTime
}

// suspect reads the return of pods as a failure, which without a cluster view is the only sign there is: they are back
// later than right after the scale-up, or the group that was just chosen is offered no more. Most of the pods of a
// choice have to be back: a single one may have its own reason.
func (h *History) suspect(p *problem) {
	back := map[uint64]int{}
	for _, latest := range p.latest {
		if latest >= 0 {
			back[h.Choices[latest].ID]++
		}
	}
	for i := range h.Choices {
		c := &h.Choices[i]
		memory := p.memoryOf(c.Workload)
		if memory.Suspected <= 0 || c.Failed || c.Delivered || c.Observed || 2*back[c.ID] < c.Pods || back[c.ID] == 0 {
			continue
		}
		_, templated := p.groupIndex[c.Group]
		if withdrawn := templated && !p.hasOption(c.Group); withdrawn || p.now.Sub(c.At) > memory.StickFor {
			c.Failed = true
			h.fail(p, c.Group, FailureRecord{At: p.now, Class: FailureOther})
		}
	}
}

// fail adds a failure to a group and to the choices that led to it.
func (h *History) fail(p *problem, id string, record FailureRecord) {
	if i, ok := p.groupIndex[id]; ok {
		record.QuotaGroup = p.groups[i].quotaGroup
	}
	g := h.Groups[id]
	g.Failures = episodes(append(g.Failures, record))
	h.Groups[id] = g
	for i := range h.Choices {
		c := &h.Choices[i]
		if record.Proven && c.Group == id && !c.At.After(record.At.Add(ownFailure)) && record.At.Sub(c.At) <= blameWindow {
			c.Failed = true
		}
	}
}

func (h *History) lastProven(id string) time.Time {
	for _, f := range slices.Backward(h.Groups[id].Failures) {
		if f.Proven {
			return f.At
		}
	}
	return time.Time{}
}

func (h *History) lastChoice(id string) time.Time {
	for _, c := range slices.Backward(h.Choices) {
		if c.Group == id {
			return c.At
		}
	}
	return time.Time{}
}

// notePods records the sight of every pod of the request.
func (h *History) notePods(p *problem) {
	lost := !h.LostAt.IsZero() && p.now.Sub(h.LostAt) <= lossWindow
	for i := range p.req.Pods {
		uid := p.uid(i)
		seen, ok := h.Pods[uid]
		if !ok {
			seen = PodHistory{FirstSeen: p.now, Lost: lost}
		}
		seen.LastSeen = p.now
		h.Pods[uid] = seen
	}
}
