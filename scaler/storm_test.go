package scaler

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// registry is a scale target whose pods pull their images from one registry: the more of them start, the longer each
// takes.
type registry struct {
	base, each time.Duration
	pods       []pod
	starts     []time.Duration
}

type pod struct{ created, ready time.Time }

// scale creates pods, or removes the youngest.
func (r *registry) scale(n int, now time.Time) {
	for len(r.pods) < n {
		wait := r.base
		for _, p := range r.pods {
			if p.ready.After(now) {
				wait += r.each
			}
		}
		r.pods = append(r.pods, pod{now, now.Add(wait)})
	}
	r.pods = r.pods[:n]
}

func (r *registry) state(now time.Time) Pods {
	p := Pods{Known: true, StartTimes: r.starts}
	for _, pod := range r.pods {
		if pod.ready.After(now) {
			p.Starting = append(p.Starting, now.Sub(pod.created))
		} else {
			p.Ready++
		}
	}
	return p
}

// No 4, 8, 16 while the first four still load: however slowly the registry delivers, the target never exceeds what the
// demand asks for plus the surge for stuck pods, which is a tenth.
func TestNoStormWithSlowRegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := slotPolicy(1, 1000)
		policy.Concurrency, policy.MaxUtilization = 8, 0.8
		policy.Sources = sources(Waiting, Running)
		policy.ScaleDown.Window = time.Minute
		target := registry{
			base:   time.Duration(rapid.IntRange(10, 300).Draw(t, "base")) * time.Second,
			each:   time.Duration(rapid.IntRange(0, 300).Draw(t, "each")) * time.Second,
			starts: seconds(60, 60, 70, 80, 90),
		}
		target.scale(3, caseStart.Add(-time.Hour))
		users := rapid.IntRange(10, 400).Draw(t, "users")
		most := Surge(CeilGuard(float64(users)/6.4), 1000, 1000) + CeilGuard(float64(users)/6.4)
		state, trail := State{}, ""
		for tick := range 240 {
			now := caseStart.Add(time.Duration(tick) * 15 * time.Second)
			pods := target.state(now)
			busy := float64(min(users, 8*pods.Ready))
			in := at(now, map[Signal]float64{Running: busy, Waiting: float64(users) - busy})
			in.Pods = pods
			var d Decision
			d, state = Evaluate(policy, state, in, now)
			trail += fmt.Sprint(" ", d.Replicas)
			if d.Replicas > most {
				t.Fatalf("%d users need %d at most, the targets were%s", users, most, trail)
			}
			target.scale(d.Replicas, now)
		}
	})
}

// The same demand, with the utilisation vote on top: busy replicas are demand too, so they do not add up either.
func TestNoStormByUtilization(t *testing.T) {
	policy := slotPolicy(1, 1000)
	policy.Concurrency, policy.MaxUtilization = 8, 0.8
	policy.Sources = sources(Waiting, Running, Utilization)
	target := registry{base: 5 * time.Minute, each: time.Minute}
	target.scale(4, caseStart.Add(-time.Hour))
	state := State{}
	for tick := range 120 {
		now := caseStart.Add(time.Duration(tick) * 15 * time.Second)
		pods := target.state(now)
		busy := float64(min(48, 8*pods.Ready))
		in := at(now, map[Signal]float64{Running: busy, Waiting: 48 - busy, Utilization: busy / float64(8*pods.Ready)})
		in.Pods = pods
		var d Decision
		d, state = Evaluate(policy, state, in, now)
		if d.Replicas > 9 { // 48/6.4 = 7.5, and one for the stuck ones
			t.Fatalf("after %d ticks %s", tick, d.Text)
		}
		target.scale(d.Replicas, now)
	}
}
