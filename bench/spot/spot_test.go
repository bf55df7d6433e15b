package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// steady is a need of n replicas for some hours.
func steady(n float64, hours int) []float64 {
	out := make([]float64, hours*int(time.Hour/tick))
	for i := range out {
		out[i] = n
	}
	return out
}

// rooms is a spot group that is away from one hour to another.
func rooms(hours, from, to int) map[string][]int {
	room := make([]int, hours*int(time.Hour/tick))
	for i := range room {
		if hour := i / int(time.Hour/tick); hour < from || hour >= to {
			room[i] = 1000
		}
	}
	return map[string][]int{"x": room}
}

func named(t *testing.T, name string) policy {
	t.Helper()
	for _, p := range policies {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no policy %q", name)
	return policy{}
}

func TestWithoutOutageSpotCostsItsPrice(t *testing.T) {
	c := conditions{spots: []string{"x"}, kill: killAll, detect: time.Minute}
	hours := 36
	want := 5.0 * float64(hours-12)
	for name, price := range map[string]float64{"all on-demand": 1, "all spot": spotPrice, ruleName: spotPrice} {
		r := run(named(t, name), c, service{demand: steady(5, hours), seed: 1}, rooms(hours, hours, hours), 0)
		if math.Abs(r.cost-want*price) > 0.01*want || r.short > 0 || r.lost > 0 {
			t.Errorf("%s: cost %.2f, short %d, lost %d; want %.2f and nothing else", name, r.cost, r.short, r.lost, want*price)
		}
	}
}

// After an outage the fall-back nodes empty at the next scale-in with rule 1, and stay without it.
func TestRatchetDissolves(t *testing.T) {
	c := conditions{spots: []string{"x"}, kill: killAll, detect: time.Minute}
	hours := 60
	demand := steady(4, hours)
	for i := range demand { // four hours of eight replicas, four of four
		if i/int(4*time.Hour/tick)%2 == 0 {
			demand[i] = 8
		}
	}
	with := run(named(t, ruleName), c, service{demand: demand, seed: 1}, rooms(hours, 14, 16), 0)
	u := run(named(t, ruleUName), c, service{demand: demand, seed: 1}, rooms(hours, 14, 16), 0)
	if firm := with.cost - with.spotCost; firm > 0.6*(u.cost-u.spotCost) {
		t.Errorf("%.1f on-demand hours with rule 1, %.1f with U", firm, u.cost-u.spotCost)
	}
}

// A notice brings the replacement forward and orders nothing twice.
func TestNoticeOrdersOnce(t *testing.T) {
	c := conditions{spots: []string{"x"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute}
	plain := run(named(t, ruleName), c, service{demand: steady(5, 24), seed: 1}, rooms(24, 16, 24), 0)
	early := run(named(t, "1 + replacement at notice"), c, service{demand: steady(5, 24), seed: 1}, rooms(24, 16, 24), 0)
	if early.unserved >= plain.unserved {
		t.Errorf("%.1f replica ticks unserved with the rule, %.1f without", early.unserved, plain.unserved)
	}
	if early.lost != plain.lost || early.cost > 1.02*plain.cost {
		t.Errorf("with the rule: lost %d, cost %.2f; without: lost %d, cost %.2f", early.lost, early.cost, plain.lost, plain.cost)
	}
}

func TestCurve(t *testing.T) {
	at := func(short, cost float64) record { return record{short: int(1000 * short), ticks: 1000, cost: cost} }
	c := curve{at(0.10, 1), at(0.04, 2), at(0.01, 3)}
	if got := c.at(record.shortShare, 0.02); math.Abs(got-(2+2.0/3)) > 1e-9 {
		t.Errorf("cost at 2 %% = %v", got)
	}
	if got := c.at(record.shortShare, 0.001); !math.IsNaN(got) {
		t.Errorf("cost at 0.1 %% = %v, never reached", got)
	}
	if got := c.at(record.shortShare, 0.2); got != 1 {
		t.Errorf("cost at 20 %% = %v, want the cheapest", got)
	}
	if got := c.shortAt(2.5); math.Abs(got-0.025) > 1e-9 {
		t.Errorf("short at a cost of 2.5 = %v", got)
	}
	if mean, n := geometric([]float64{2, math.NaN(), 8}); n != 2 || math.Abs(mean-4) > 1e-9 {
		t.Errorf("mean %v of %d", mean, n)
	}
}

// Every condition plays what the others are compared with, rule 1, and all rules, and each rule where it can have an
// effect.
func TestWhatIsPlayed(t *testing.T) {
	for i, c := range settings {
		plain := c.notice == 0 && c.detect == time.Minute
		for name, want := range map[string]bool{
			"all on-demand": i == 0, plainName: true, ruleUName: true, ruleName: true, "1 + a loss is a failure": true,
			allName: true, swapName: true, "1 + replacement at notice": c.notice > 0, "1 + suspect nodes": c.detect > time.Minute,
			"1 without escalation": len(c.spots) > 1, "memory 10 min alone": plain, "all spot": plain, "all rules, base 50 %": plain,
			allName + ", forecast": plain && slices.Contains([]string{"good", "mid", "mild", "partial"}, c.name), "1 + swap": plain,
		} {
			if c.plays(named(t, name)) != want {
				t.Errorf("%s: %s played is not %v", c.name, name, want)
			}
		}
	}
}

// Each goal is of a condition that is played, and strong is beyond must.
func TestGoals(t *testing.T) {
	for _, g := range goals {
		if !slices.ContainsFunc(settings, func(c conditions) bool { return c.name == g.condition }) {
			t.Errorf("%s: no condition %q", g.what, g.condition)
		}
		if g.strong >= g.must {
			t.Errorf("%s, %s: strong %v, must %v", g.what, g.condition, g.strong, g.must)
		}
		for x, want := range map[float64]string{g.must + 0.01: "MISSED", g.must: "must", math.NaN(): "MISSED"} {
			if got := g.verdict(x); got != want {
				t.Errorf("%s, %s: %v is %q, want %q", g.what, g.condition, x, got, want)
			}
		}
	}
}

// The forecast knows nothing of what comes after: a series that is cut says the same up to the cut.
func TestForeseeIsCausal(t *testing.T) {
	day := int(24 * time.Hour / tick)
	need := make([]float64, 12*day)
	for i := range need {
		need[i] = 20 - 15*math.Cos(2*math.Pi*float64(i)/float64(day))
	}
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	whole, err := foresee("x", start, need, 4*day)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := foresee("x", start, need[:11*day], 3*day)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole[:3*day], cut) {
		t.Error("the forecast changes with what comes after it")
	}
	played, late := need[8*day:], 0
	for i := 0; i+ticksOf(coldLead) < len(whole); i++ {
		if whole[i] < played[i+ticksOf(coldLead)] {
			late++
		}
	}
	if share := float64(late) / float64(len(whole)); share > 0.05 {
		t.Errorf("for %.0f %% of the time less is ordered than is needed when it is there", 100*share)
	}
}

// After a loss the replacements do not wait for a failure of the group that was lost.
func TestLossIsAFailure(t *testing.T) {
	for _, detect := range []time.Duration{time.Minute, 15 * time.Minute} {
		c := conditions{spots: []string{"x"}, kill: killAll, detect: detect}
		plain := run(named(t, ruleName), c, service{demand: steady(5, 24), seed: 1}, rooms(24, 16, 24), 0)
		held := run(named(t, "1 + a loss is a failure"), c, service{demand: steady(5, 24), seed: 1}, rooms(24, 16, 24), 0)
		saved := (plain.unserved - held.unserved) * tick.Minutes()
		if want := 5 * detect.Minutes(); saved < want/2 {
			t.Errorf("failures found after %v: %.0f replica minutes less unserved, want %.0f or not much less", detect, saved, want)
		}
	}
}

// A steady demand never scales in: what fell back stays with rule 1 alone, and goes back one by one with a swap.
func TestSwapBringsBack(t *testing.T) {
	c := conditions{spots: []string{"x"}, kill: killAll, detect: time.Minute}
	hours := 72
	plain := run(named(t, "1 + a loss is a failure"), c, service{demand: steady(4, hours), seed: 1}, rooms(hours, 14, 16), 0)
	back := run(named(t, swapName), c, service{demand: steady(4, hours), seed: 1}, rooms(hours, 14, 16), 0)
	if firm := back.cost - back.spotCost; firm > 0.3*(plain.cost-plain.spotCost) {
		t.Errorf("%.1f on-demand hours with the swap, %.1f without", firm, plain.cost-plain.spotCost)
	}
	if back.short > plain.short || back.lost != plain.lost {
		t.Errorf("short %d ticks and %d lost with the swap, %d and %d without", back.short, back.lost, plain.short, plain.lost)
	}
}
