package expander

import (
	"slices"
	"time"
)

// Select decides which option of a request to grow, and returns what was learnt. It changes none of its arguments,
// and the same arguments always give the same result, whatever the order of options and pods.
//
// A nil policy or a frozen one passes every request through. In Observe mode the Decision holds the choice, but its
// Answer keeps every option. A history of a later version than this code knows is treated as lost.
func Select(policy *Policy, view View, req Request, history History, now time.Time) (Decision, History) {
	if policy == nil {
		policy = &Policy{Frozen: true}
	}
	now = stamp(now)
	if history.Version > HistoryVersion {
		history = LostHistory(now)
	}
	next := history.clone()
	next.expire(now)
	p := newProblem(policy, view, req, &next, now)
	next.observe(p)
	d := &draft{problem: p, rejected: map[int]string{}, chosen: -1, servedBy: -2}
	d.decide()
	decision := d.decision()
	if !policy.Frozen {
		d.record()
	}
	next.bound()
	return decision, next
}

// draft is a decision in the making.
type draft struct {
	*problem
	outcome  Outcome
	chosen   int   // option, or -1
	keep     []int // options of a pass-through
	rejected map[int]string
	reasons  []string
	warnings []string

	standings []standing
	plans     []plan // by workload; unmatched pods last
	servedBy  int    // workload that was served, unmatched for pods of none, -2 for nobody
	stuck     *Choice
	race      *race
}

// plan is what one workload could do.
type plan struct {
	valid   []int
	stage   stageChoice
	relaxed []string
	// rejected has the codes of the filters that dropped valid options.
	rejected map[int]string
}

// decide runs the whole choice.
func (d *draft) decide() {
	d.standings = d.problem.standings()
	d.plans = make([]plan, len(d.standings))
	d.warnGroups()
	if len(d.options) == 0 {
		d.passThrough("no-options", nil)
		return
	}
	d.isolate()
	d.measure()
	for i := range d.options {
		if code := d.options[i].rejected; code != "" {
			d.rejected[i] = code
		}
	}
	if d.policy.Frozen {
		d.passThrough("frozen", nil)
		return
	}
	for w := range d.policy.Workloads {
		d.plan(w)
	}
	d.planUnmatched()
	order := d.order()
	if len(order) == 0 {
		d.nothingLeft()
		return
	}
	d.serve(order[0])
}

// plan finds the valid options of a workload, filters them and chooses its stage.
func (d *draft) plan(w int) {
	plan := &d.plans[w]
	var unclear []int
	for i := range d.options {
		o := &d.options[i]
		if o.rejected != "" || o.serves[w] == 0 {
			continue
		}
		if stage, _ := d.policy.Workloads[w].stageOf(d.facts(i)); stage > 0 {
			plan.valid = append(plan.valid, i)
		} else {
			unclear = append(unclear, i)
		}
	}
	for _, i := range unclear {
		d.rejected[i] = RejectedUnclassified
		d.warn("unclassified-group:" + d.options[i].GroupID)
	}
	if len(plan.valid) == 0 {
		return
	}
	plan.rejected = map[int]string{}
	left, relaxed := d.survivors(w, plan.valid, plan.rejected)
	plan.relaxed = relaxed
	plan.stage = d.chooseStage(w, &d.standings[w], left)
}

// planUnmatched lists the options that would serve pods of no workload.
func (d *draft) planUnmatched() {
	plan := &d.plans[len(d.plans)-1]
	for i := range d.options {
		if d.options[i].rejected == "" && d.options[i].unmatchedPods > 0 {
			plan.valid = append(plan.valid, i)
		}
	}
}

// order sorts the workloads that could be served: those that lost too often first, then by priority, then by the
// oldest pod that counts, then in the order of the policy.
func (d *draft) order() []int {
	limit := d.policy.MaxUnservedLoops
	if limit <= 0 {
		limit = defaultUnservedLoops
	}
	var order []int
	for w := range d.plans {
		if len(d.plans[w].valid) > 0 {
			order = append(order, w)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &d.standings[a], &d.standings[b]
		if starving := compareBool(y.unservedLoops >= limit, x.unservedLoops >= limit); starving != 0 {
			return starving
		}
		if x.priority != y.priority {
			return compareBool(y.priority > x.priority, x.priority > y.priority)
		}
		return compareAge(x.oldest, y.oldest)
	})
	return order
}

// defaultUnservedLoops is how many loops in a row a workload may lose if the policy does not say.
const defaultUnservedLoops = 3

// compareAge puts the earlier first sight first, and none at all last.
func compareAge(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return compareBool(a.IsZero(), b.IsZero())
	}
	return a.Compare(b)
}

// serve chooses for one workload.
func (d *draft) serve(w int) {
	if w == len(d.policy.Workloads) {
		d.servedBy = unmatched
		d.passUnmatched()
		return
	}
	d.servedBy = w
	plan := &d.plans[w]
	d.reasons = append(d.reasons, "workload:"+d.policy.Workloads[w].Name)
	if sticky, choice := d.stick(w); choice != nil {
		d.outcome, d.chosen, d.stuck = Selected, sticky, choice
		stage := choice.Stages[choice.Workload]
		plan.stage = stageChoice{stage: stage, options: []int{sticky}, reason: "kept for pods that are back so soon"}
		d.reasons = append(d.reasons, "stick")
		d.rejectRest(w, []int{sticky}, RejectedStick)
		d.race = d.rank(w, []int{sticky})
		return
	}
	d.rejectRest(w, plan.stage.options, "")
	d.race = d.rank(w, plan.stage.options)
	var tie string
	d.outcome = Selected
	d.chosen, tie = d.breakTie(d.race.left())
	d.reasons = append(d.reasons, "stage:"+itoa(plan.stage.stage))
	if d.race.deciding != "" {
		d.reasons = append(d.reasons, "rank:"+string(d.race.deciding))
	}
	if tie != "" {
		d.reasons = append(d.reasons, tie)
	}
}

// stick finds the group that was chosen a moment ago for most of the pods that an option serves now: the loop right
// after a scale-up still reports them, and a second group must not be grown for them.
func (d *draft) stick(w int) (int, *Choice) {
	memory := d.policy.memory(w)
	if memory.StickFor <= 0 {
		return -1, nil
	}
	pods := map[int]int{}
	for pod, latest := range d.latest {
		if latest >= 0 && d.shapes[d.shapeOf[pod]].workload == w {
			pods[latest]++
		}
	}
	best := -1
	for latest, n := range pods {
		c := &d.history.Choices[latest]
		recent := d.now.Sub(c.At) <= memory.StickFor && !c.Failed && c.Observed == (d.policy.Mode != Active)
		if recent && 2*n > d.standings[w].pods && (best < 0 || latest > best) {
			best = latest
		}
	}
	if best < 0 {
		return -1, nil
	}
	choice := &d.history.Choices[best]
	for _, i := range d.plans[w].valid {
		if _, dropped := d.plans[w].rejected[i]; !dropped && d.options[i].GroupID == choice.Group {
			return i, choice
		}
	}
	return -1, nil
}

// rejectRest notes why the other options were not in the choice.
func (d *draft) rejectRest(w int, in []int, code string) {
	for i := range d.options {
		if slices.Contains(in, i) || d.rejected[i] != "" {
			continue
		}
		filtered := d.plans[w].rejected[i]
		switch {
		case d.options[i].serves[w] == 0:
			d.rejected[i] = RejectedOther + ":" + d.policy.Workloads[w].Name
		case filtered != "":
			d.rejected[i] = filtered
		case code != "":
			d.rejected[i] = code
		case d.plans[w].stage.reason == StageOnDemandBase:
			d.rejected[i] = RejectedOnDemandBase
		default:
			stage, _ := d.policy.Workloads[w].stageOf(d.facts(i))
			d.rejected[i] = RejectedStage + ":" + itoa(stage)
		}
	}
}
