package scaler

import (
	"slices"
	"time"
)

// Evaluate decides how many replicas a service needs now. It is deterministic: the same policy, state, inputs and time
// give the same decision and the same next state. Nothing that is passed in is changed, and the returned state shares
// nothing that a later evaluation would change.
//
// The target is the largest of the votes from queue, arrival rate, utilisation and forecast, plus a small surge for pods
// that are stuck, clamped to the limits; then the rules for the way down apply. A source that is missing is never zero:
// it votes with its last value for StaleAfter, and after that, until it is back, nothing lowers the target. When every
// source is missing, the decision has Unavailable set, and the state keeps the last answer.
func Evaluate(policy Policy, state State, inputs Inputs, now time.Time) (Decision, State) {
	e := evaluation{policy: &policy, prev: &state, in: &inputs, now: now}
	e.begin()
	e.read()
	e.startup()
	e.window = effectiveWindow(policy.ScaleDown.Window, e.lead)
	e.queueForm = e.form()
	e.watchQuiet()
	e.decide()
	e.kept = e.d.Replicas
	e.bridge()
	e.finish()
	return e.d, e.next
}

// evaluation is one run of [Evaluate].
type evaluation struct {
	policy *Policy
	prev   *State
	in     *Inputs
	now    time.Time

	d    Decision
	next State

	// What the policy comes to at this time.
	min, max   int
	overridden bool
	share      float64
	// lifted is the planned share while a forecast is used; 0 where share always counts.
	lifted            float64
	drain, staleAfter time.Duration
	utilRule          UtilizationRule
	queueForm         QueueForm
	window            time.Duration

	// What the sources say.
	readings                        [signalCount]reading
	sources                         int
	anyUsable, anyStale, anyMissing bool
	demandMissing, demandOpen       bool
	lead, stuckAfter                time.Duration
	others                          int
	// kept is the target that later evaluations go on from.
	kept int

	// last is the last answer, or the present count of a service that was never answered.
	last             int
	lastKnown, first bool

	scratch [160]byte
	line    [512]byte
}

// begin resolves the policy and what came before.
func (e *evaluation) begin() {
	p, prev := e.policy, e.prev
	e.d = Decision{
		Time: e.now, Service: p.Namespace + "/" + p.Name, PolicyHash: p.Hash,
		CurrentReplicas: e.in.CurrentReplicas, Forecast: e.in.Forecast,
		Votes: make([]Vote, 0, 4), Reasons: make([]string, 0, 4),
	}
	e.next = State{
		Computed: prev.Computed, N: prev.N, Need: prev.Need, Valid: prev.Valid, LastStep: prev.LastStep,
		LastDemand: prev.LastDemand, Since: prev.Since, Ready: prev.Ready, BecameReady: prev.BecameReady,
		FirstStuck: prev.FirstStuck, UtilizationUps: prev.UtilizationUps, Prewarms: prev.Prewarms, Released: prev.Released,
	}
	if e.next.Since.IsZero() {
		e.next.Since = e.now
	}
	e.share = orDefault(p.MaxUtilization, defaultMaxUtilization)
	e.drain = orDefault(p.DrainTime, defaultDrainTime)
	e.staleAfter = orDefault(p.StaleAfter, defaultStaleAfter)
	e.utilRule = p.Utilization.withDefaults()
	e.d.Capacity = capacityOf(p, &prev.Observed)
	if f := e.in.Forecast; f != nil && f.Used && e.d.Capacity.Concurrency > 0 && p.Forecast.MaxUtilization > e.share {
		e.lifted = p.Forecast.MaxUtilization
	}
	e.limits()
	e.last, e.lastKnown, e.first = prev.N, prev.Valid, !prev.Valid
	if e.first {
		e.last, e.lastKnown = present(e.in)
	}
}

// orDefault is v, or d where v is not set.
func orDefault[T float64 | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// present is the present number of replicas, where anybody knows it.
func present(in *Inputs) (n int, known bool) {
	switch {
	case in.CurrentReplicas > 0 || (in.CurrentReplicas == 0 && in.Pods.Known):
		return in.CurrentReplicas, true
	case in.Pods.Known:
		return in.Pods.Ready + len(in.Pods.Starting) + in.Pods.Doomed, true
	}
	return 0, false
}

// decide collects the votes and applies every rule.
func (e *evaluation) decide() {
	e.voteQueue()
	e.voteRate()
	e.voteUtilization()
	need := e.need()
	e.d.Need = need
	e.d.Surge = e.surge(need)
	e.d.Raw = e.clamp(need + e.d.Surge)
	switch {
	case e.policy.Frozen:
		e.freeze()
	case e.sources > 0 && !e.anyUsable:
		e.withoutSources()
	case e.first && e.demandMissing && !e.lastKnown:
		e.unavailable(ReasonIncomplete, "a source of the demand was never read and the present count is unknown")
	default:
		e.answer()
	}
}

// need is the largest vote. Where waiting requests are all that is known of the demand, votes only go up and the last
// need stands until a down-vote allows less.
func (e *evaluation) need() int {
	e.others, e.d.Binding = e.largest("queue", "rate"), ""
	present := e.others
	if i := e.voteIndex("utilisation"); i >= 0 && e.d.Votes[i].Used {
		e.d.Votes[i].Replicas = e.limitUtilization(e.d.Votes[i].Replicas, e.others)
		present = max(present, e.d.Votes[i].Replicas)
	}
	floor := present
	if e.queueForm == FormWaiting && e.sources > 0 {
		floor = max(floor, e.floorOfWaiting(present))
	}
	load := e.load(present)
	e.followPrewarms(load)
	order := e.voteForecast(floor)
	e.openPrewarm(order, load)
	e.bind()
	return max(floor, order)
}

// floorOfWaiting is what the last need or the down-vote leave.
func (e *evaluation) floorOfWaiting(present int) int {
	last := e.prev.Need
	if e.first {
		last = min(e.last, e.max)
	}
	down, ok := e.voteDown()
	if !ok {
		if last > present {
			e.vote("last", float64(last), false, e.text().str("waiting alone never lowers"))
			e.reason(ReasonNoDownVote)
		}
		return last
	}
	e.reason(ReasonDownVote)
	if down > last {
		down = last
		e.d.Votes[e.voteIndex("down")].Replicas = last
	}
	return down
}

// load is the need of the present for judging prewarms; where only waiting requests are known, the busy replicas stand
// in for it.
func (e *evaluation) load(present int) int {
	u := &e.readings[utilization]
	if e.queueForm == FormWaiting && u.usable && e.in.Pods.Known {
		return max(present, CeilGuard(e.next.LastBusy/e.utilRule.ScaleUp))
	}
	return present
}

// bind names the largest used vote; of equal ones the first.
func (e *evaluation) bind() {
	best := -1
	for i := range e.d.Votes {
		if v := &e.d.Votes[i]; v.Used && v.Replicas > best {
			best, e.d.Binding = v.Replicas, v.Name
		}
	}
}

// finish completes decision and state.
func (e *evaluation) finish() {
	d := &e.d
	if d.Unavailable == "" {
		d.Active = d.Replicas > 0
		if d.CurrentReplicas >= 0 && HeldByTolerance(d.CurrentReplicas, d.Replicas, e.in.HPATolerance) {
			d.HeldByTolerance = true
			e.reason(ReasonTolerance)
		}
		e.recordUp(e.others)
		if e.lastKnown && e.kept < e.last {
			e.next.LastStep = e.now
		}
		e.next.N, e.next.Valid = e.kept, true
	}
	e.next.Observed = Learn(e.policy, e.prev.Observed, e.observation())
	e.explain()
}

// vote records a vote, rounded up.
func (e *evaluation) vote(name string, exact float64, stale bool, t text) *Vote {
	e.d.Votes = append(e.d.Votes, Vote{
		Name: name, Replicas: CeilGuard(exact), Exact: exact, Text: string(t), Stale: stale, Used: true,
	})
	return &e.d.Votes[len(e.d.Votes)-1]
}

// voteIndex is where the vote of that name is, or -1.
func (e *evaluation) voteIndex(name string) int {
	return slices.IndexFunc(e.d.Votes, func(v Vote) bool { return v.Name == name })
}

// largest is the largest used vote among the names.
func (e *evaluation) largest(names ...string) int {
	n := 0
	for i := range e.d.Votes {
		if v := &e.d.Votes[i]; v.Used && slices.Contains(names, v.Name) {
			n = max(n, v.Replicas)
		}
	}
	return n
}

// reason adds a reason code once.
func (e *evaluation) reason(code string) {
	if !slices.Contains(e.d.Reasons, code) {
		e.d.Reasons = append(e.d.Reasons, code)
	}
}

// text starts an empty line in the evaluation's scratch space.
func (e *evaluation) text() text { return text(e.scratch[:0]) }
