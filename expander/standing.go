package expander

import "time"

// poisonAttempts is how many attempts without a failure that explains them a pod may have before it no longer counts
// as the oldest: new nodes evidently do not help it.
const poisonAttempts = 3

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
