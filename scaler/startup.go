package scaler

import (
	"math"
	"slices"
	"time"
)

const (
	defaultPrior = 300 * time.Second
	// priorStarts is how many pseudo-samples the prior stands for, and with how many recorded starts it is dropped.
	priorStarts = 5
	// pollDelay and syncDelay pass before an answer has any effect: KEDA's default polling interval, which a push
	// trigger does not need, and the autoscaler's sync period.
	pollDelay = 30 * time.Second
	syncDelay = 15 * time.Second
	// surgeShare bounds the replacements of stuck pods as a share of the need.
	surgeShare = 0.1
)

// Lead is how long before its need a replica has to be ordered: the configured lead, or the time within which 90 % of
// the recorded starts ended (rank ceil(0.9 n)) plus the delays of polling and of the autoscaler. Until five starts are
// known, five pseudo-samples of the prior join them.
func Lead(rule StartupRule, starts []time.Duration) LeadTime {
	return leadFrom(rule, withPrior(rule, starts), len(starts))
}

// leadFrom is Lead for starts that are sorted and joined by the prior already; recorded is their number without it.
func leadFrom(rule StartupRule, sorted []time.Duration, recorded int) LeadTime {
	start := 0.0
	if recorded >= priorStarts {
		start = quantile(sorted, 0.9).Seconds()
	}
	if rule.Lead > 0 {
		return LeadTime{Seconds: rule.Lead.Seconds(), Samples: recorded, Source: "configured", StartSeconds: start}
	}
	lead := quantile(sorted, 0.9) + syncDelay
	if !rule.Push {
		lead += pollDelay
	}
	source := "learned"
	if recorded < priorStarts {
		source = "prior"
	}
	return LeadTime{Seconds: lead.Seconds(), Samples: recorded, Source: source, StartSeconds: start}
}

// stuckAfter is the age from which a starting pod counts as stuck: the 99 % start time of the sorted starts, and not
// before a configured lead.
func stuckAfter(rule StartupRule, sorted []time.Duration) time.Duration {
	return max(quantile(sorted, 0.99), rule.Lead)
}

// ReadyInTime is the probability that a pod of the given age is ready within lead: the share of the recorded starts
// that end by age + lead among those that took longer than age. It is 0 when every recorded start was shorter.
func ReadyInTime(starts []time.Duration, age, lead time.Duration) float64 {
	longer, inTime := 0, 0
	for _, start := range starts {
		if start > age {
			longer++
			if start <= age+lead {
				inTime++
			}
		}
	}
	if longer == 0 {
		return 0
	}
	return float64(inTime) / float64(longer)
}

// Surge is how many replicas are added for stuck pods: one, and one more for every whole lead since the first of them
// got stuck, never more than the stuck pods or a tenth of the need, rounded up.
func Surge(need, stuck, leads int) int {
	if need <= 0 || stuck <= 0 {
		return 0
	}
	return min(stuck, 1+max(leads, 0), CeilGuard(surgeShare*float64(need)))
}

// withPrior returns the starts in ascending order, joined by the prior while they are few.
func withPrior(rule StartupRule, starts []time.Duration) []time.Duration {
	sorted := make([]time.Duration, len(starts), max(len(starts), 2*priorStarts))
	copy(sorted, starts)
	if len(starts) < priorStarts {
		prior := rule.Prior
		if prior <= 0 {
			prior = defaultPrior
		}
		for range priorStarts {
			sorted = append(sorted, prior)
		}
	}
	slices.Sort(sorted)
	return sorted
}

// quantile is the value at rank ceil(q n) of a sorted, non-empty slice.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q*float64(len(sorted)) - ceilGuard))
	return sorted[max(rank, 1)-1]
}

// startup reads the pods: lead, stuck pods and how many of the starting ones will be ready in time.
func (e *evaluation) startup() {
	rule, pods := e.policy.Startup, &e.in.Pods
	starts := withPrior(rule, pods.StartTimes)
	e.d.Lead = leadFrom(rule, starts, len(pods.StartTimes))
	e.lead = time.Duration(e.d.Lead.Seconds * float64(time.Second))
	e.stuckAfter = stuckAfter(rule, starts)
	if !pods.Known {
		return
	}
	e.d.Ready, e.d.Starting, e.d.Doomed = pods.Ready, len(pods.Starting), pods.Doomed
	var oldest time.Duration
	for _, age := range pods.Starting {
		if age > e.stuckAfter {
			e.d.Stuck++
			oldest = max(oldest, age)
		}
		e.d.ReadyInTime += ReadyInTime(starts, age, e.lead)
	}
	e.next.FirstStuck = time.Time{}
	if e.d.Stuck > 0 {
		e.next.FirstStuck = e.now.Add(e.stuckAfter - oldest)
	}
	e.next.Ready, e.next.BecameReady = pods.Ready, e.prev.BecameReady
	if pods.BecameReady.After(e.next.BecameReady) {
		e.next.BecameReady = pods.BecameReady
	} else if e.prev.Valid && pods.Ready > e.prev.Ready && pods.BecameReady.IsZero() {
		e.next.BecameReady = e.now
	}
}

// surge adds the replacements of stuck pods to the need.
func (e *evaluation) surge(need int) int {
	if e.d.Stuck == 0 {
		return 0
	}
	leads := 0
	if e.lead > 0 {
		leads = int(e.now.Sub(e.next.FirstStuck) / e.lead)
	}
	n := Surge(need, e.d.Stuck, leads)
	if n > 0 {
		e.reason(ReasonSurge)
	}
	return n
}
