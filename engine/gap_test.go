package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// suspendable is an engine in virtual time that is left out of some ticks, with a metric store that may have no past.
type suspendable struct {
	*Engine
	*fakeSource
	now time.Time
	// blind fails every look at the past.
	blind bool
	id    string
}

const gapStep = 15 * time.Second

var gapStart = time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)

// windowYAML is a service with a scale-down window of five minutes.
func windowYAML(least int, more string) string {
	return fmt.Sprintf(`
- name: chat
  namespace: ml
  replicas: {min: %d, max: 50}
  preset: none
  queries: {waiting: waiting_of_ml_chat, running: running_of_ml_chat%s}
  perReplica: {concurrency: 1, maxUtilization: 1}
  forecast: {mode: "off"}
  scaleDown: {window: 5m, maxStep: 0%%, period: 0s}
  startup: {lead: 60s}
  activation: {idleAfter: 10m}`, least, more)
}

const gapWindow = 5 * time.Minute

func newSuspendable(t testing.TB, service string, demand func(at time.Time) float64) *suspendable {
	t.Helper()
	s := &suspendable{fakeSource: newFakeSource(), now: gapStart}
	s.rewind = true
	s.set("waiting_of_ml_chat", 0)
	s.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) { return demand(at), nil })
	s.Engine = newTestEngine(t, Options{Config: testConfig(t, service), Source: s, Clock: func() time.Time { return s.now }})
	s.id = mustResolve(t, s.Engine, triggerOf("ml", "object", "chat"))
	return s
}

func (s *suspendable) Read(ctx context.Context, at time.Time, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	s.fakeSource.Read(ctx, at, services, report)
}

func (s *suspendable) Rewind(ctx context.Context, from, to time.Time, step time.Duration, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	if !s.blind {
		s.fakeSource.Rewind(ctx, from, to, step, services, report)
		return
	}
	for i := range services {
		for q := range services[i] {
			report(i, q, nil, errors.New("status 503"))
		}
	}
}

func (s *suspendable) History(ctx context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	return s.fakeSource.History(ctx, q, from, to, slot)
}

// run ticks from one time to another, both included.
func (s *suspendable) run(t testing.TB, from, to time.Duration) {
	t.Helper()
	for after := from; after <= to; after += gapStep {
		s.now = gapStart.Add(after)
		s.Tick(t.Context(), s.now)
	}
}

// demandSteps is the demand from each time on.
func demandSteps(steps map[time.Duration]float64) func(time.Time) float64 {
	return func(at time.Time) float64 {
		newest, value := time.Duration(-1), 0.0
		for after, v := range steps {
			if after > newest && !at.Before(gapStart.Add(after)) {
				newest, value = after, v
			}
		}
		return value
	}
}

// TestSuspended leaves out evaluations while the demand moves. With a past to read the targets are those of a process that was
// never suspended; without one the last target holds for one window, and no longer.
func TestSuspended(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		demand map[time.Duration]float64
		// The ticks after suspended and before resumed are left out.
		suspended, resumed time.Duration
		blind              bool
		wants              map[time.Duration]int
	}{
		"shorter than the window": {
			map[time.Duration]float64{0: 9, 4 * m: 2},
			4 * m, 6 * m, false,
			map[time.Duration]int{6 * m: 9, 8*m + 45*time.Second: 9, 9 * m: 2},
		},
		"shorter, no past": {
			map[time.Duration]float64{0: 9, 4 * m: 2},
			4 * m, 6 * m, true,
			map[time.Duration]int{6 * m: 9, 10*m + 45*time.Second: 9, 11 * m: 2},
		},
		"longer, and the demand fell in its end": {
			map[time.Duration]float64{0: 9, 28 * m: 2},
			4 * m, 30 * m, false,
			map[time.Duration]int{30 * m: 9, 32*m + 45*time.Second: 9, 33 * m: 2},
		},
		"longer, and the demand fell in its beginning": {
			map[time.Duration]float64{0: 9, 5 * m: 2},
			4 * m, 30 * m, false,
			map[time.Duration]int{30 * m: 2},
		},
		"longer, with a peak in it": {
			map[time.Duration]float64{0: 9, 27 * m: 20, 28 * m: 2},
			4 * m, 30 * m, false,
			map[time.Duration]int{30 * m: 20, 32*m + 45*time.Second: 20, 33 * m: 2},
		},
		"longer, no past": {
			map[time.Duration]float64{0: 9, 5 * m: 2},
			4 * m, 30 * m, true,
			map[time.Duration]int{30 * m: 9, 34*m + 45*time.Second: 9, 35 * m: 2},
		},
		"longer, no past, more demand": {
			map[time.Duration]float64{0: 9, 5 * m: 12},
			4 * m, 30 * m, true,
			map[time.Duration]int{30 * m: 12},
		},
		"a day": {
			map[time.Duration]float64{0: 9, 5 * m: 2},
			4 * m, 24 * 60 * m, false,
			map[time.Duration]int{24 * 60 * m: 2},
		},
		"a day, no past": {
			map[time.Duration]float64{0: 9, 5 * m: 2},
			4 * m, 24 * 60 * m, true,
			map[time.Duration]int{24 * 60 * m: 9, (24*60 + 5) * m: 2},
		},
		"one evaluation": { // nothing to read for that
			map[time.Duration]float64{0: 9, 4 * m: 2},
			4*m - gapStep, 4*m + gapStep, true,
			map[time.Duration]int{4*m + gapStep: 9, 8*m + 45*time.Second: 9, 9 * m: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuspendable(t, windowYAML(1, ""), demandSteps(c.demand))
			s.run(t, 0, c.suspended)
			wantTarget(t, s.Engine, s.id, 9)
			s.blind = c.blind
			last := time.Duration(0)
			for after := range c.wants {
				last = max(last, after)
			}
			for after := c.resumed; after <= last; after += gapStep {
				s.run(t, after, after)
				if want, ok := c.wants[after]; ok {
					t.Log(after)
					wantTarget(t, s.Engine, s.id, want)
				}
			}
		})
	}
}

// TestPausedWithItsMetricStore has a past without a sample of the gap: the whole machine was paused. The last target holds for a
// window.
func TestPausedWithItsMetricStore(t *testing.T) {
	resumed := gapStart.Add(30 * time.Minute)
	s := newSuspendable(t, windowYAML(1, ""), func(time.Time) float64 { return 0 })
	s.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) {
		switch {
		case !at.After(gapStart.Add(4 * time.Minute)):
			return 9, nil
		case at.Before(resumed):
			return 0, errFakeEmpty
		}
		return 2, nil
	})
	s.run(t, 0, 4*time.Minute)
	s.run(t, 30*time.Minute, 34*time.Minute)
	wantTarget(t, s.Engine, s.id, 9)
	s.run(t, 34*time.Minute+gapStep, 35*time.Minute+gapStep)
	wantTarget(t, s.Engine, s.id, 2)
}

// TestSuspendedAtItsLastReplica: a time that nobody has seen is not a time without demand, so no service goes to zero after it
// before it was idle for the whole idle time.
func TestSuspendedAtItsLastReplica(t *testing.T) {
	demand := demandSteps(map[time.Duration]float64{0: 1, 4 * time.Minute: 0})
	for _, blind := range []bool{false, true} {
		s := newSuspendable(t, windowYAML(0, ""), demand)
		s.run(t, 0, 5*time.Minute)
		wantTarget(t, s.Engine, s.id, 1)
		s.blind = blind
		s.run(t, 40*time.Minute, 40*time.Minute)
		if !blind {
			wantTarget(t, s.Engine, s.id, 0) // the metric store has seen no demand for 36 minutes
			continue
		}
		s.run(t, 40*time.Minute+gapStep, 49*time.Minute+30*time.Second)
		wantTarget(t, s.Engine, s.id, 1)
		s.run(t, 49*time.Minute+45*time.Second, 50*time.Minute)
		wantTarget(t, s.Engine, s.id, 0)
	}
}

// TestSuspendedWithoutItsVotes are services of which the metric store does not have all that decides: the last target holds for
// a window, although every expression can be read.
func TestSuspendedWithoutItsVotes(t *testing.T) {
	demand := demandSteps(map[time.Duration]float64{0: 9, 5 * time.Minute: 2})
	for name, change := range map[string]func(s *suspendable){
		"utilisation": func(s *suspendable) { s.set("busy_of_ml_chat", 0.1) },
		"an order of the forecast": func(s *suspendable) {
			one, _ := s.services.get(s.id)
			line := *one.entry.Load()
			line.decision.Forecast = &scaler.Forecast{Used: true}
			one.entry.Store(&line)
		},
	} {
		t.Run(name, func(t *testing.T) {
			more := ""
			if name == "utilisation" {
				more = ", gpuUtilization: busy_of_ml_chat"
			}
			s := newSuspendable(t, windowYAML(1, more), demand)
			s.set("busy_of_ml_chat", 0.1)
			s.run(t, 0, 4*time.Minute)
			change(s)
			s.run(t, 30*time.Minute, 34*time.Minute)
			wantTarget(t, s.Engine, s.id, 9)
			s.run(t, 34*time.Minute+gapStep, 35*time.Minute)
			wantTarget(t, s.Engine, s.id, 2)
		})
	}
}

// TestSuspendedForgetsNoTrigger: nobody could ask meanwhile.
func TestSuspendedForgetsNoTrigger(t *testing.T) {
	s := newSuspendable(t, windowYAML(1, ""), func(time.Time) float64 { return 9 })
	s.run(t, 0, 4*time.Minute)
	s.run(t, 10*time.Hour, 10*time.Hour)
	wantTarget(t, s.Engine, s.id, 9)
	one, _ := s.services.get(s.id)
	asked := one.asked.Load()
	s.run(t, 10*time.Hour+gapStep, 11*time.Hour+gapStep)
	if _, err := s.Target(s.id); !errors.Is(err, ErrUnknownService) {
		t.Errorf("an hour after the resumption, asked last at %v: %v, want that it is forgotten", time.Unix(asked, 0).UTC(), err)
	}
}

// TestStepsBeginAtTheLastAnswer: what was never answered is no step down.
func TestStepsBeginAtTheLastAnswer(t *testing.T) {
	s := newSuspendable(t, windowYAML(1, ""), demandSteps(map[time.Duration]float64{0: 20, 5 * time.Minute: 2}))
	one, _ := s.services.get(s.id)
	compiled := *one.compiled
	compiled.Policy.ScaleDown.MaxStep, compiled.Policy.ScaleDown.Period = 0.25, time.Minute
	one.compiled = &compiled
	s.run(t, 0, 4*time.Minute)
	s.run(t, 30*time.Minute, 30*time.Minute)
	wantTarget(t, s.Engine, s.id, 15)
	s.run(t, 30*time.Minute+gapStep, 31*time.Minute)
	wantTarget(t, s.Engine, s.id, 12)
}

// TestFrozenOverAGap: a freeze holds the last answer, whatever was missed.
func TestFrozenOverAGap(t *testing.T) {
	s := newSuspendable(t, windowYAML(1, ""), demandSteps(map[time.Duration]float64{0: 9, 27 * time.Minute: 20}))
	s.run(t, 0, 4*time.Minute)
	if _, err := s.SetFreeze(Freeze{Half: HalfScaler, On: true, Reason: "the test", Who: "test"}); err != nil {
		t.Fatal(err)
	}
	s.run(t, 4*time.Minute+gapStep, 5*time.Minute)
	s.run(t, 30*time.Minute, 31*time.Minute)
	wantTarget(t, s.Engine, s.id, 9)
}

// TestClockSetBack moves the clock back in the middle of a window: nothing falls because of it, and nothing waits until the clock
// has come to where it was.
func TestClockSetBack(t *testing.T) {
	for _, back := range []time.Duration{gapStep + time.Second, time.Minute, time.Hour, 30 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			low := false
			s := newSuspendable(t, windowYAML(1, ""), func(time.Time) float64 {
				if low {
					return 2
				}
				return 9
			})
			s.run(t, 0, 4*time.Minute)
			low = true
			s.run(t, 4*time.Minute+gapStep, 7*time.Minute)
			wantTarget(t, s.Engine, s.id, 9)
			set := (7*time.Minute - back).Truncate(gapStep)
			s.run(t, set, set+gapWindow-gapStep-gapStep)
			wantTarget(t, s.Engine, s.id, 9)
			s.run(t, set+gapWindow-gapStep, set+gapWindow)
			wantTarget(t, s.Engine, s.id, 2)
		})
	}
}

// TestSlowTicksStillComeDown: evaluations that are always late do not hold a target for ever.
func TestSlowTicksStillComeDown(t *testing.T) {
	s := newSuspendable(t, windowYAML(1, ""), demandSteps(map[time.Duration]float64{0: 9, 4 * time.Minute: 2}))
	for after := time.Duration(0); after <= 12*time.Minute; after += 4 * gapStep {
		s.run(t, after, after)
		want := 9
		if after >= 9*time.Minute {
			want = 2
		}
		wantTarget(t, s.Engine, s.id, want)
	}
}

// TestSuspendedFollowsTheTwin suspends at random, for any time, with a past that can be read or not, again and again.
func TestSuspendedFollowsTheTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 2, 5, 9, 20}), 40, 40).Draw(rt, "level")
		demand := func(at time.Time) float64 {
			return levels[max(0, min(len(levels)-1, int(at.Sub(gapStart)/(4*gapStep))))]
		}
		least := rapid.IntRange(0, 1).Draw(rt, "least")
		s, twin := newSuspendable(t, windowYAML(least, ""), demand), newSuspendable(t, windowYAML(least, ""), demand)
		// held is what a gap without a past leaves in the window until heldUntil.
		suspendedUntil, heldUntil, held := -1, -1, 0
		for tick := range 160 {
			after := time.Duration(tick) * gapStep
			twin.run(t, after, after)
			if tick < suspendedUntil {
				continue
			}
			if tick == suspendedUntil && s.blind {
				heldUntil, held = tick-1+int(gapWindow/gapStep), numberOf(s)
			}
			s.run(t, after, after)
			got, right := numberOf(s), numberOf(twin)
			switch {
			case tick <= heldUntil && got < held:
				rt.Fatalf("tick %d: %d, and it was %d before the gap without a past", tick, got, held)
			case tick > heldUntil && got != right && !(s.blind && least == 0 && right == 0 && got == 1):
				rt.Fatalf("tick %d: %d, right is %d", tick, got, right)
			case heldUntil < 0 && got != right:
				rt.Fatalf("tick %d: %d, right is %d", tick, got, right)
			}
			if tick > 4 && rapid.IntRange(0, 30).Draw(rt, "suspend") == 0 {
				suspendedUntil = tick + rapid.IntRange(3, 60).Draw(rt, "for")
				s.blind = rapid.Bool().Draw(rt, "no past")
			}
		}
	})
}

// numberOf is the target as it is on the board, -1 for none.
func numberOf(s *suspendable) int {
	one, _ := s.services.get(s.id)
	line := one.entry.Load()
	if line == nil || line.decision.Unavailable != "" {
		return -1
	}
	return line.decision.Replicas
}
