package expander

import (
	"maps"
	"slices"
	"time"
)

// loopSpan is how close together calls can be and still belong to one loop of the Cluster Autoscaler, which may ask
// several times within one.
const loopSpan = 5 * time.Second

// sameAttempt is how soon the same group for the same pods is the same attempt, also where choices do not stick: the
// nodes cannot have been refused that fast.
const sameAttempt = 30 * time.Second

// record writes the decision into the history.
func (d *draft) record() {
	d.recordLoops()
	if d.outcome != Selected || d.servedBy < 0 {
		return
	}
	plan := &d.plans[d.servedBy]
	name := d.policy.Workloads[d.servedBy].Name
	if plan.stage.failed > 0 {
		w := d.history.Workloads[name]
		w.Stage, w.Failed, w.StageAt = plan.stage.stage, plan.stage.failed, d.now
		d.history.Workloads[name] = w
	}
	if d.stuck == nil {
		d.stuck = d.repeated()
	}
	if d.stuck != nil {
		d.cover(d.stuck)
		return
	}
	g := d.facts(d.chosen)
	id := choiceID(d.now, name, g.ID)
	if _, repeated := d.choiceAt[id]; repeated {
		return
	}
	d.history.Choices = append(d.history.Choices, Choice{
		ID: id, At: d.now, Group: g.ID, Workload: name, Nodes: d.options[d.chosen].NodeCount,
		Registered: viewOf(d.view, g.ID).Registered, OnDemand: keepsRunning(g.capacity), Observed: d.policy.Mode != Active,
	})
	d.cover(&d.history.Choices[len(d.history.Choices)-1])
}

// repeated is the choice of which this one is a repetition: the same group, moments ago, for most of the same pods.
func (d *draft) repeated() *Choice {
	o := &d.options[d.chosen]
	pods := map[int]int{}
	for _, pod := range o.pods {
		if latest := d.latest[pod]; latest >= 0 {
			pods[latest]++
		}
	}
	for latest, n := range pods {
		c := &d.history.Choices[latest]
		same := c.Group == o.GroupID && c.Workload == d.policy.Workloads[d.servedBy].Name && c.Observed == (d.policy.Mode != Active)
		if same && 2*n > len(o.pods) && !c.Failed && d.now.Sub(c.At) < sameAttempt {
			return c
		}
	}
	return nil
}

// cover adds the pods of the chosen option to a choice.
func (d *draft) cover(c *Choice) {
	c.Stages = maps.Clone(c.Stages)
	if c.Stages == nil {
		c.Stages = map[string]int{}
	}
	for w, pods := range d.options[d.chosen].serves {
		if _, ok := c.Stages[d.policy.Workloads[w].Name]; ok || pods == 0 {
			continue
		}
		stage, _ := d.policy.Workloads[w].stageOf(d.facts(d.chosen))
		if w == d.servedBy && d.stuck == nil {
			stage = d.plans[w].stage.stage
		}
		c.Stages[d.policy.Workloads[w].Name] = stage
	}
	for _, pod := range d.options[d.chosen].pods {
		seen := d.history.Pods[d.uid(pod)]
		at, known := slices.BinarySearch(seen.Choices, c.ID)
		if known {
			continue
		}
		seen.Choices = slices.Insert(slices.Clone(seen.Choices), at, c.ID)
		d.history.Pods[d.uid(pod)] = seen
		c.Pods++
	}
}

// recordLoops counts for every workload the loops in a row that it lost.
func (d *draft) recordLoops() {
	for w := range d.policy.Workloads {
		if d.standings[w].pods == 0 || len(d.plans[w].valid) == 0 {
			continue
		}
		name := d.policy.Workloads[w].Name
		entry := d.history.Workloads[name]
		if n := d.unservedNow(w); n != entry.Unserved {
			entry.Unserved, entry.At = n, d.now
			d.history.Workloads[name] = entry
		}
	}
}

// unservedNow is the count of lost loops after this decision. Several calls within one loop count once.
func (d *draft) unservedNow(w int) int {
	entry := d.history.Workloads[d.policy.Workloads[w].Name]
	switch {
	case d.policy.Frozen || len(d.plans[w].valid) == 0:
		return entry.Unserved
	case d.serves(w):
		return 0
	case !entry.At.IsZero() && d.now.Sub(entry.At) < loopSpan:
		return entry.Unserved
	default:
		return entry.Unserved + 1
	}
}
