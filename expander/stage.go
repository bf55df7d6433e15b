package expander

import (
	"fmt"
	"math"
	"time"
)

// poisonAttempts is how many attempts without a failure that explains them a pod may have before it no longer counts
// as the oldest: new nodes evidently do not help it.
const poisonAttempts = 3

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

// standing is what the history says about the pods of one workload in this request.
type standing struct {
	pods          int
	priority      int32
	oldest        time.Time // first sight of the oldest pod that counts; zero without one
	ignored       []string
	counting      []int // pods that count
	unservedLoops int
}

// standings looks at every pod once.
func (p *problem) standings() []standing {
	all := make([]standing, len(p.policy.Workloads)+1)
	for pod := range p.req.Pods {
		w := p.shapes[p.shapeOf[pod]].workload
		if w == unmatched {
			w = len(all) - 1
		}
		s := &all[w]
		if s.pods == 0 || p.req.Pods[pod].Priority > s.priority {
			s.priority = p.req.Pods[pod].Priority
		}
		s.pods++
		if w < len(p.policy.Workloads) && p.unexplained(pod) >= poisonAttempts {
			s.ignored = append(s.ignored, p.uid(pod))
			continue
		}
		s.counting = append(s.counting, pod)
		if seen := p.firstSeen(pod, w); s.oldest.IsZero() || seen.Before(s.oldest) {
			s.oldest = seen
		}
	}
	for w := range p.policy.Workloads {
		all[w].unservedLoops = p.history.Workloads[p.policy.Workloads[w].Name].Unserved
		if own := p.policy.Workloads[w].Priority; own != nil {
			all[w].priority = *own
		}
	}
	return all
}

// attempts calls yield for every earlier choice that covered a pod and was made in the same mode: what was only
// observed is no attempt of an active expander.
func (p *problem) attempts(pod int, yield func(*Choice)) {
	for _, id := range p.history.Pods[p.uid(pod)].Choices {
		if i, ok := p.choiceAt[id]; ok && p.history.Choices[i].Observed == (p.policy.Mode != Active) {
			yield(&p.history.Choices[i])
		}
	}
}

func (p *problem) unexplained(pod int) int {
	n := 0
	p.attempts(pod, func(c *Choice) {
		if !c.Failed {
			n++
		}
	})
	return n
}

// firstSeen is the first sight of a pod, one stage budget earlier if the history of it is lost.
func (p *problem) firstSeen(pod, workload int) time.Time {
	seen := p.history.Pods[p.uid(pod)]
	if seen.Lost && workload < len(p.policy.Workloads) {
		for _, stage := range p.policy.Workloads[workload].Stages {
			if budget := stage.Escalate.FirstSeen; budget > 0 {
				return seen.FirstSeen.Add(-budget)
			}
		}
	}
	return seen.FirstSeen
}

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

// onDemandBase restricts a workload to capacity that is not reclaimed while it has less of it than configured.
func (p *problem) onDemandBase(workload int, options []int) (stageChoice, bool) {
	w := &p.policy.Workloads[workload]
	running, known := p.view.CapacityReplicas[w.Name]
	if !known || (w.OnDemandBase.Count <= 0 && w.OnDemandBase.Share <= 0) {
		return stageChoice{}, false
	}
	all := p.pending(workload)
	for _, replicas := range running {
		all += replicas
	}
	base := max(w.OnDemandBase.Count, int(math.Ceil(w.OnDemandBase.Share*float64(all)-1e-9)))
	if running[OnDemand]+running[Reserved]+p.onTheWay(w.Name) >= base {
		return stageChoice{}, false
	}
	var firm []int
	for _, o := range options {
		if keepsRunning(p.facts(o).capacity) {
			firm = append(firm, o)
		}
	}
	for stage := 1; stage <= len(w.Stages); stage++ {
		if in := p.inStage(workload, stage, firm); len(in) > 0 {
			return stageChoice{stage, in, StageOnDemandBase, false}, true
		}
	}
	return stageChoice{}, false
}

func keepsRunning(c CapacityType) bool { return c == OnDemand || c == Reserved }

func (p *problem) pending(workload int) int {
	n := 0
	for _, s := range p.shapeOf {
		if p.shapes[s].workload == workload {
			n++
		}
	}
	return n
}

// onTheWay counts the pods of recent on-demand choices whose nodes are still coming, less those that are back.
func (p *problem) onTheWay(workload string) int {
	n := 0
	for _, c := range p.history.Choices {
		if p.coming(c, workload) {
			n += c.Pods
		}
	}
	for _, latest := range p.latest {
		if latest >= 0 && p.coming(p.history.Choices[latest], workload) {
			n--
		}
	}
	return max(0, n)
}

func (p *problem) coming(c Choice, workload string) bool {
	return c.Workload == workload && c.OnDemand && !c.Observed && !c.Failed && !c.Delivered && p.now.Sub(c.At) < provisionTime
}
