package scaler

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The generators know only what the interface allows; every property holds for all of it.

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		Namespace: "ml", Name: "any",
		Min:             rapid.IntRange(0, 3).Draw(t, "min"),
		Concurrency:     float64(rapid.IntRange(0, 32).Draw(t, "concurrency")),
		ServiceTime:     time.Duration(rapid.IntRange(0, 30).Draw(t, "service")) * time.Second,
		MaxUtilization:  rapid.SampledFrom([]float64{0, 0.6, 0.85}).Draw(t, "share"),
		WaitProbability: rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(t, "wait"),
		QueuePerReplica: 5,
		Form:            rapid.SampledFrom([]QueueForm{FormAuto, FormAuto, FormConcurrency, FormRate, FormWaiting}).Draw(t, "form"),
		Forecast:        ForecastLimit{MaxPrewarm: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "prewarm")},
		Startup:         StartupRule{Lead: rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Minute}).Draw(t, "lead")},
		IdleAfter:       rapid.SampledFrom([]time.Duration{0, 2 * time.Minute}).Draw(t, "idle"),
		StaleAfter:      rapid.SampledFrom([]time.Duration{20 * time.Second, 90 * time.Second}).Draw(t, "stale"),
		ScaleDown: ScaleDown{
			Window:  rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute}).Draw(t, "window"),
			MaxStep: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "step"),
			Period:  rapid.SampledFrom([]time.Duration{0, 2 * time.Minute}).Draw(t, "period"),
		},
		LatencyObjective: rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "objective"),
	}
	p.Max = p.Min + rapid.IntRange(1, 60).Draw(t, "max")
	for _, s := range []Signal{Waiting, Running, Rate, Latency, Utilization, KVCache} {
		if rapid.Bool().Draw(t, string(s)) {
			p.Sources = append(p.Sources, Source{
				Signal: s, OnlyWhenReady: rapid.Bool().Draw(t, "onlyWhenReady"), Optional: rapid.Bool().Draw(t, "optional"),
			})
		}
	}
	return p
}

func drawInputs(t *rapid.T, policy Policy, now time.Time) Inputs {
	in := Inputs{
		Signals:         map[Signal][]Sample{},
		CurrentReplicas: rapid.IntRange(-1, 40).Draw(t, "current"),
		HPATolerance:    rapid.SampledFrom([]float64{-1, 0, 0.1}).Draw(t, "tolerance"),
	}
	for _, source := range policy.Sources {
		if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
			continue
		}
		value := float64(rapid.SampledFrom([]int{0, 0, 1, 3, 17, 120, 400}).Draw(t, string(source.Signal)))
		if source.Signal == Utilization || source.Signal == KVCache {
			value = rapid.SampledFrom([]float64{0, 0.1, 0.28, 0.5, 0.85, 1, 1.02}).Draw(t, string(source.Signal))
		}
		age := time.Duration(rapid.IntRange(-3, 20).Draw(t, "age")) * time.Second
		in.Signals[source.Signal] = []Sample{{At: now.Add(-age), Value: value}}
	}
	if rapid.Bool().Draw(t, "podsKnown") {
		in.Pods = Pods{Known: true, Ready: rapid.IntRange(0, 20).Draw(t, "ready")}
		for range rapid.IntRange(0, 4).Draw(t, "starting") {
			in.Pods.Starting = append(in.Pods.Starting, time.Duration(rapid.IntRange(0, 900).Draw(t, "podAge"))*time.Second)
		}
	}
	if rapid.Bool().Draw(t, "forecast") {
		in.Forecast = &Forecast{
			Replicas: rapid.IntRange(0, 80).Draw(t, "order"), Used: rapid.Bool().Draw(t, "used"),
			NeedWithin: rapid.Bool().Draw(t, "needWithin"), Need995: rapid.IntRange(0, 40).Draw(t, "need995"),
		}
	}
	return in
}

// drawRun runs some evaluations and returns the state after them.
func drawRun(t *rapid.T, policy Policy, steps int) (State, time.Time) {
	state, now := State{}, caseStart
	for range rapid.IntRange(0, steps).Draw(t, "steps") {
		_, state = Evaluate(policy, state, drawInputs(t, policy, now), now)
		now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "pause")) * time.Second)
	}
	return state, now
}

func encode(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Same inputs, same answer; nothing passed in changes; and a state that went through JSON decides the same.
func TestDeterministicAndStateSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		state, copied, now := State{}, State{}, caseStart
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			in := drawInputs(t, policy, now)
			before := encode(t, []any{state, in.Signals, in.Pods.Starting})
			d, next := Evaluate(policy, state, in, now)
			again, nextAgain := Evaluate(policy, state, in, now)
			if diff := cmp.Diff([]any{d, next}, []any{again, nextAgain}, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the same inputs differ:\n%s", diff)
			}
			if after := encode(t, []any{state, in.Signals, in.Pods.Starting}); after != before {
				t.Fatalf("changed its inputs:\n%s\n%s", before, after)
			}
			fromJSON, nextCopied := Evaluate(policy, copied, in, now)
			if diff := cmp.Diff(d, fromJSON, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("a state from JSON decides otherwise:\n%s", diff)
			}
			state, copied = next, State{}
			if err := json.Unmarshal([]byte(encode(t, nextCopied)), &copied); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "pause")) * time.Second)
		}
	})
}

// The rules that hold in every run: the limits, activity, the missing sources, the window (against a plain list of all
// that was computed), and the steps.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		state, now := State{}, caseStart
		var computed []Target
		var lowered time.Time
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			last := state
			d, next := Evaluate(policy, state, drawInputs(t, policy, now), now)
			state = next
			if d.Unavailable != "" {
				if next.N != last.N || next.Need != last.Need || next.Valid != last.Valid {
					t.Fatalf("no answer, but the state went from %+v to %+v", last, next)
				}
				now = now.Add(15 * time.Second)
				continue
			}
			computed = append(computed, Target{At: now, N: d.Raw})
			checkInvariants(t, policy, last, d)
			window := effectiveWindow(policy.ScaleDown.Window, time.Duration(d.Lead.Seconds*float64(time.Second)))
			for _, c := range computed {
				if now.Sub(c.At) <= window && d.Replicas < c.N {
					t.Fatalf("%d is below the %d computed %v ago", d.Replicas, c.N, now.Sub(c.At))
				}
			}
			if last.Valid && d.Replicas < last.N {
				checkStep(t, policy, last.N, d, now, lowered)
				lowered = now
			}
			now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "pause")) * time.Second)
		}
	})
}

func checkInvariants(t *rapid.T, policy Policy, last State, d Decision) {
	if d.Replicas < policy.Min || d.Replicas > policy.Max {
		t.Fatalf("%d is outside %d to %d", d.Replicas, policy.Min, policy.Max)
	}
	if d.Active != (d.Replicas > 0) || d.Text == "" || d.Replicas < d.Raw {
		t.Fatalf("inconsistent: %+v", d)
	}
	holding := slices.DeleteFunc(slices.Concat(d.Missing, d.Stale), func(s Signal) bool { return s == Latency })
	if len(holding) > 0 && last.Valid && d.Replicas < last.N {
		t.Fatalf("lowered from %d to %d without %v", last.N, d.Replicas, holding)
	}
	if last.Valid && d.Replicas > max(last.N, d.Raw) {
		t.Fatalf("a hold raised %d to %d, raw %d", last.N, d.Replicas, d.Raw)
	}
}

func checkStep(t *rapid.T, policy Policy, last int, d Decision, now, lowered time.Time) {
	rule := policy.ScaleDown
	if rule.MaxStep <= 0 {
		return
	}
	if last-d.Replicas > max(1, last/5) {
		t.Fatalf("one step from %d to %d", last, d.Replicas)
	}
	if !lowered.IsZero() && now.Sub(lowered) < rule.Period {
		t.Fatalf("two steps within %v", now.Sub(lowered))
	}
}

// More waiting, running or arriving requests never mean fewer replicas, and neither does a larger forecast.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		state, now := drawRun(t, policy, 12)
		in := drawInputs(t, policy, now)
		d, _ := Evaluate(policy, state, in, now)
		more := in
		more.Signals = maps.Clone(in.Signals)
		for _, s := range []Signal{Waiting, Running, Rate} {
			if samples := in.Signals[s]; len(samples) > 0 {
				add := float64(rapid.IntRange(0, 50).Draw(t, "add"))
				more.Signals[s] = []Sample{{At: samples[0].At, Value: samples[0].Value + add}}
			}
		}
		if in.Forecast != nil {
			f := *in.Forecast
			f.Replicas += rapid.IntRange(0, 30).Draw(t, "addForecast")
			more.Forecast = &f
		}
		if larger, _ := Evaluate(policy, state, more, now); larger.Replicas < d.Replicas {
			t.Fatalf("more demand: %s\nless: %s", larger.Text, d.Text)
		}
	})
}

// For a fixed demand the target depends neither on the ready and starting pods nor on the present count. Utilisation
// votes with ready pods by its nature and stuck pods add the surge, so both are left out; a service that may go to zero
// is held while its last replica starts.
func TestIndependentOfPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		policy.Min, policy.Max = max(policy.Min, 1), max(policy.Max, 2)
		policy.LatencyObjective = 0
		policy.Sources = slices.DeleteFunc(policy.Sources, func(s Source) bool { return s.Signal == Utilization })
		for i := range policy.Sources {
			policy.Sources[i].OnlyWhenReady = false
		}
		run := func(pods []Pods, inputs []Inputs, current int) []int {
			state, now, targets := State{}, caseStart, []int(nil)
			for i, in := range inputs {
				if i > 0 { // a first answer starts from the present count
					in.Pods, in.CurrentReplicas = pods[i], current
				}
				var d Decision
				d, state = Evaluate(policy, state, in, now)
				targets = append(targets, d.Replicas)
				now = now.Add(15 * time.Second)
				if d.Unavailable != "" && !state.Valid {
					return nil
				}
			}
			return targets
		}
		var pods [2][]Pods
		var inputs []Inputs
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			in := drawInputs(t, policy, caseStart.Add(time.Duration(i)*15*time.Second))
			in.Pods = Pods{}
			inputs = append(inputs, in)
			for k := range pods {
				p := Pods{Known: true, Ready: rapid.IntRange(0, 100).Draw(t, "ready")}
				for range rapid.IntRange(0, 20).Draw(t, "starting") {
					p.Starting = append(p.Starting, time.Duration(rapid.IntRange(0, 299).Draw(t, "podAge"))*time.Second)
				}
				pods[k] = append(pods[k], p)
			}
		}
		one, other := run(pods[0], inputs, 3), run(pods[1], inputs, 77)
		if !slices.Equal(one, other) {
			t.Fatalf("targets %v and %v", one, other)
		}
	})
}
