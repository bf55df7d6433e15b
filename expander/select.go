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
