package expander

import "fmt"

// Reasons for a stage, as they appear in WorkloadDecision.StageReason; some go on after a colon.
const (
	StageFirst        = "first stage"
	StageAttempts     = "attempts used up"
	StageFirstSeen    = "waited long enough"
	StageHeld         = "held after a failure"
	StageNoOption     = "no option left in an earlier stage"
	StageRelaxed      = "no option left in this or a later stage"
	StageOnDemandBase = "on-demand base"
)

// usedUp tells whether the budget of a stage is used up by any of the pods that count.
func (p *problem) usedUp(workload, stage int, budget Escalation, pods []int) string {
	if budget.Attempts <= 0 && budget.FirstSeen <= 0 {
		return ""
	}
	name := p.policy.Workloads[workload].Name
	for _, pod := range pods {
		tried, failed := 0, 0
		p.attempts(pod, func(c *Choice) {
			if c.Stages[name] == stage {
				tried++
				if c.Failed {
					failed++
				}
			}
		})
		if budget.Attempts > 0 && failed >= budget.Attempts {
			return fmt.Sprintf("%s: %d of %d in stage %d", StageAttempts, failed, budget.Attempts, stage)
		}
		if budget.FirstSeen > 0 && tried > 0 && p.now.Sub(p.firstSeen(pod, workload)) >= budget.FirstSeen {
			return fmt.Sprintf("%s: %s in stage %d", StageFirstSeen, budget.FirstSeen, stage)
		}
	}
	return ""
}

// stageChoice is the stage of a workload and the options in it.
type stageChoice struct {
	stage   int
	options []int
	reason  string
	// failed is the earliest stage that was passed over because it had failed, or 0; then this stage is kept for a while.
	failed int
}

// chooseStage finds the first stage with an option whose budget is not used up. Every stage has a budget of its own: a
// first stage that is full does not keep the second one from being used up. The reason is why the stage before was
// passed over.
func (p *problem) chooseStage(workload int, s *standing, options []int) stageChoice {
	if base, ok := p.onDemandBase(workload, options); ok {
		return base
	}
	stages := p.policy.Workloads[workload].Stages
	held := p.held(workload)
	choice := stageChoice{reason: StageFirst}
	for stage := 1; stage <= len(stages); stage++ {
		in := p.inStage(workload, stage, options)
		used := ""
		if stage < len(stages) {
			used = p.usedUp(workload, stage, stages[stage-1].Escalate, s.counting)
		}
		failed := false
		switch {
		case used != "":
			choice.reason, failed = used, true
		case held.Failed <= stage && stage < held.Stage:
			choice.reason = StageHeld
		case len(in) == 0:
			choice.reason, failed = StageNoOption, p.failedIn(workload, stage)
		default:
			choice.stage, choice.options = stage, in
			return choice
		}
		if failed && choice.failed == 0 {
			choice.failed = stage
		}
	}
	for stage := 1; stage <= len(stages); stage++ {
		if in := p.inStage(workload, stage, options); len(in) > 0 {
			return stageChoice{stage: stage, options: in, reason: StageRelaxed}
		}
	}
	return stageChoice{}
}

func (p *problem) inStage(workload, stage int, options []int) []int {
	var in []int
	for _, o := range options {
		if p.policy.Workloads[workload].Stages[stage-1].contains(p.facts(o)) == inside {
			in = append(in, o)
		}
	}
	return in
}

// held is the later stage that the workload was driven to a moment ago, and the stage that had failed then. Passing
// over the stages between them for as long as a choice sticks keeps two loops in a row from going back and forth;
// stages before the failed one stay open. Zero when nothing is held.
func (p *problem) held(workload int) WorkloadHistory {
	w := p.history.Workloads[p.policy.Workloads[workload].Name]
	if w.Stage > 0 && p.now.Sub(w.StageAt) < p.policy.memory(workload).StickFor && w.Stage <= len(p.policy.Workloads[workload].Stages) {
		return w
	}
	return WorkloadHistory{}
}

// failedIn tells whether a group of the stage is held back now.
func (p *problem) failedIn(workload, stage int) bool {
	memory := p.policy.memory(workload)
	for i := range p.groups {
		if own, _ := p.policy.Workloads[workload].stageOf(&p.groups[i]); own != stage {
			continue
		}
		if _, blocked := p.history.block(&p.groups[i], memory, p.now); blocked {
			return true
		}
	}
	return false
}
