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

// escalated is the first stage whose budget is not used up, from 1; the last one never is.
func (p *problem) escalated(workload int, s *standing) (stage int, reason string) {
	stages := p.policy.Workloads[workload].Stages
	reason = StageFirst
	for stage = 1; stage < len(stages); stage++ {
		used := p.usedUp(workload, stage, stages[stage-1].Escalate, s.counting)
		if used == "" {
			break
		}
		reason = used
	}
	return stage, reason
}

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
	// hold tells that an earlier stage failed, so that the stage is kept for a while.
	hold bool
}

// chooseStage finds the first stage with an option, beginning where the budgets of earlier ones are used up.
func (p *problem) chooseStage(workload int, s *standing, options []int) stageChoice {
	if base, ok := p.onDemandBase(workload, options); ok {
		return base
	}
	first, reason := p.escalated(workload, s)
	hold := first > 1
	if held := p.heldStage(workload); held > first {
		first, reason, hold = held, StageHeld, false
	}
	stages := len(p.policy.Workloads[workload].Stages)
	for stage := first; stage <= stages; stage++ {
		if in := p.inStage(workload, stage, options); len(in) > 0 {
			if stage > first {
				reason, hold = StageNoOption, hold || p.failedBefore(workload, stage)
			}
			return stageChoice{stage, in, reason, hold}
		}
	}
	for stage := 1; stage < first; stage++ {
		if in := p.inStage(workload, stage, options); len(in) > 0 {
			return stageChoice{stage, in, StageRelaxed, false}
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

// heldStage is a later stage that the workload was driven to a moment ago. Staying there for as long as a choice
// sticks keeps two loops in a row from going back and forth.
func (p *problem) heldStage(workload int) int {
	w := p.history.Workloads[p.policy.Workloads[workload].Name]
	if w.Stage > 0 && p.now.Sub(w.StageAt) < p.policy.memory(workload).StickFor && w.Stage <= len(p.policy.Workloads[workload].Stages) {
		return w.Stage
	}
	return 0
}

// failedBefore tells whether a group of an earlier stage is held back now.
func (p *problem) failedBefore(workload, stage int) bool {
	memory := p.policy.memory(workload)
	for i := range p.groups {
		if own, _ := p.policy.Workloads[workload].stageOf(&p.groups[i]); own == 0 || own >= stage {
			continue
		}
		if _, blocked := p.history.block(&p.groups[i], memory, p.now); blocked {
			return true
		}
	}
	return false
}
