package link_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/link"
)

// swapping is one target that is moved back to spot, in the hands of a test.
type swapping struct {
	view  link.SwapView
	state link.SwapState
	now   time.Time
	next  int
}

func newSwapping(firm, wanted int) *swapping {
	s := &swapping{now: noon}
	s.view = link.SwapView{
		Target: link.Target{Owner: "ReplicaSet"}, Wanted: wanted, Max: 20, OnDemandCost: 1,
		Pools: []link.ReturnPool{{Pool: "spot", HourlyCost: 0.35, Deliverable: true}},
	}
	for range firm {
		s.add(link.OnDemand, true)
	}
	return s
}

func (s *swapping) add(c link.Capacity, ready bool) *link.Replica {
	s.next++
	r := link.Replica{ID: fmt.Sprintf("r%02d", s.next), Name: fmt.Sprint("r", s.next), Node: "n", Pool: "od", Capacity: c, Ready: ready, Created: s.now}
	if c == link.Spot {
		r.Pool = "spot"
	}
	s.view.Target.Replicas = append(s.view.Target.Replicas, r)
	s.mark()
	return &s.view.Target.Replicas[len(s.view.Target.Replicas)-1]
}

// mark writes the deletion costs that are planned.
func (s *swapping) mark() {
	plan, _ := link.PlanCosts(s.view.Target, s.view.Base, link.Rate{Burst: 100}, link.Bucket{}, s.now)
	for _, c := range plan.Changes {
		i := slices.IndexFunc(s.view.Target.Replicas, func(r link.Replica) bool { return r.ID == c.ID })
		s.view.Target.Replicas[i].Cost = new(c.Cost)
	}
}

// dropFirm removes a fall-back replica, as the controller does by the deletion costs.
func (s *swapping) dropFirm() {
	i := slices.IndexFunc(s.view.Target.Replicas, func(r link.Replica) bool { return r.Cost != nil && *r.Cost == link.CostFallBack })
	s.view.Target.Replicas = slices.Delete(s.view.Target.Replicas, i, i+1)
	s.mark()
}

func (s *swapping) after(d time.Duration) link.SwapStep {
	s.now = s.now.Add(d)
	var step link.SwapStep
	step, s.state = link.Swap(s.view, s.state, s.now)
	return step
}

func (s *swapping) want(t *testing.T, d time.Duration, extra int, text string) {
	t.Helper()
	if step := s.after(d); step.Extra != extra || !strings.Contains(step.Text, text) {
		t.Fatalf("at %v: extra %d, %q; want %d and %q", s.now.Sub(noon), step.Extra, step.Text, extra, text)
	}
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// The story of three fall-back replicas with a base of one: the first goes back and is on trial for half an hour, then
// the second goes, and the base stays.
func TestSwapOneAtATime(t *testing.T) {
	s := newSwapping(3, 3)
	s.view.Base = 1
	s.mark()
	s.want(t, 0, 1, "one replica goes back to spot: its replacement comes first")
	s.want(t, time.Minute, 1, "one replica goes back")
	r := s.add(link.Spot, false)
	s.want(t, 3*time.Minute, 1, "one replica goes back")
	r.Ready = true
	s.want(t, 3*time.Minute, 0, "a replica serves on spot; a fall-back one goes")
	s.want(t, 15*time.Second, 0, "on trial on spot")
	s.dropFirm()
	for range 3 {
		s.want(t, 9*time.Minute, 0, "on trial on spot until")
	}
	s.want(t, 3*time.Minute, 1, "one replica goes back to spot")
	s.add(link.Spot, true)
	s.want(t, 3*time.Minute, 0, "a replica serves on spot")
	s.dropFirm()
	s.want(t, time.Minute, 0, "nothing to swap: no replica above the base")
	if s.state.Moved != 2 || len(s.view.Target.Replicas) != 3 {
		t.Errorf("%d moved, %d replicas; want 2 and 3", s.state.Moved, len(s.view.Target.Replicas))
	}
}

// What begins ends with the first sign that it will not come, and is not tried again for a quarter of an hour.
func TestSwapGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *swapping)
		text    string
	}{
		"nothing comes":       {func(s *swapping) { s.now = s.now.Add(25 * time.Minute) }, "no replica served within 20m0s"},
		"it came on firm":     {func(s *swapping) { s.add(link.OnDemand, false) }, "the new replica came on od"},
		"notices":             {func(s *swapping) { s.view.Target.Replicas[0].Doomed = s.now }, "machines were given notice"},
		"the pool fails":      {func(s *swapping) { s.view.Pools[0].Deliverable = false }, "the pool cannot deliver any more"},
		"the pool loses some": {func(s *swapping) { s.view.Pools[0].Lost = 1 }, "the pool cannot deliver any more"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSwapping(2, 2)
			s.want(t, 0, 1, "one replica goes back")
			c.happens(s)
			s.want(t, time.Minute, 0, c.text)
			fresh := newSwapping(2, 2)
			fresh.state, fresh.now = s.state, s.now
			fresh.want(t, 14*time.Minute, 0, "the last one failed")
			fresh.want(t, 2*time.Minute, 1, "one replica goes back")
		})
	}
}

// Nothing begins while anything speaks against it.
func TestSwapDoesNotBegin(t *testing.T) {
	for name, c := range map[string]struct {
		given func(s *swapping)
		text  string
	}{
		"a replica starts":     {func(s *swapping) { s.view.Target.Replicas[0].Ready = false }, "1 of 2 replicas serve"},
		"the demand grows":     {func(s *swapping) { s.view.Wanted = 3 }, "2 of 2 replicas serve, wanted 3"},
		"no room":              {func(s *swapping) { s.view.Max = 2 }, "at its maximum of 2"},
		"another service":      {func(s *swapping) { s.view.Busy = true }, "another service is being moved"},
		"the pool is held":     {func(s *swapping) { s.view.Pools[0].Deliverable = false }, "spot cannot deliver now"},
		"the pool is restless": {func(s *swapping) { s.view.Pools[0].ReclaimsPerHour = 0.5 }, "spot lost 0.50 of its nodes an hour"},
		"just lost":            {func(s *swapping) { s.view.Pools[0].Lost = 2 }, "spot has just lost nodes"},
		"no cheaper":           {func(s *swapping) { s.view.Pools[0].HourlyCost = 1.1 }, "spot is no cheaper"},
		"no pool":              {func(s *swapping) { s.view.Pools = nil }, "no spot pool is known"},
		"all of the base":      {func(s *swapping) { s.view.Base = 2 }, "no replica above the base"},
		"no effect":            {func(s *swapping) { s.view.Target.Owner = "StatefulSet" }, "a StatefulSet does not look at the deletion cost"},
		"no permission": {func(s *swapping) {
			s.view.Target.Replicas = append(s.view.Target.Replicas, link.Replica{ID: "s", Node: "n", Capacity: link.Spot, Ready: true})
			s.view.Wanted = 3
		}, "the patch of pods may not be granted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSwapping(2, 2)
			c.given(s)
			s.want(t, 0, 0, c.text)
			if !s.state.Since.IsZero() {
				t.Error("something is under way")
			}
		})
	}
}

// A pool whose losses are not known yet gets a trial; one that loses the trial is left alone.
func TestSwapTrialIsLost(t *testing.T) {
	s := newSwapping(3, 3)
	s.view.Pools[0].ReclaimsPerHour = -1
	s.want(t, 0, 1, "one replica goes back")
	s.add(link.Spot, true)
	s.want(t, 5*time.Minute, 0, "a replica serves on spot")
	s.dropFirm()
	s.view.Pools[0].Lost = 1
	s.want(t, 10*time.Minute, 0, "the last one failed")
	s.want(t, time.Minute, 0, "the last one failed") // the same loss, seen again, is no second setback
	s.view.Pools[0].Lost = 0
	s.want(t, 10*time.Minute, 0, "the last one failed")
	s.want(t, 5*time.Minute, 1, "one replica goes back")
}

// The pause doubles with every setback, up to six hours, and a trial that is passed makes it short again.
func TestSwapPauses(t *testing.T) {
	s := newSwapping(4, 4)
	fail := func(pause time.Duration) {
		t.Helper()
		s.want(t, 0, 1, "one replica goes back")
		s.want(t, 21*time.Minute, 0, "was given up")
		if got := s.state.Paused.Sub(s.now); got != pause {
			t.Errorf("after %d setbacks the pause is %v, want %v", s.state.Setbacks, got, pause)
		}
		s.now = s.state.Paused
	}
	for _, pause := range []time.Duration{15, 30, 60, 120, 240, 360, 360} {
		fail(pause * time.Minute)
	}
	s.want(t, 0, 1, "one replica goes back")
	s.add(link.Spot, true)
	s.want(t, 5*time.Minute, 0, "a replica serves on spot")
	s.dropFirm()
	s.want(t, 29*time.Minute, 0, "on trial")
	s.want(t, time.Minute, 1, "one replica goes back") // the trial is passed
	s.want(t, 21*time.Minute, 0, "was given up")
	if got := s.state.Paused.Sub(s.now); got != 15*time.Minute {
		t.Errorf("after a trial that was passed the pause is %v, want 15m", got)
	}
}

// Whatever happens, there is never more than one replica more, none while nothing is above the base, and none to a pool
// that cannot deliver.
func TestSwapIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwapping(rapid.IntRange(0, 5).Draw(t, "firm"), 4)
		s.view.Base = rapid.IntRange(0, 3).Draw(t, "base")
		for range 60 {
			switch rapid.IntRange(0, 7).Draw(t, "event") {
			case 0:
				s.add(link.Spot, rapid.Bool().Draw(t, "ready"))
			case 1:
				s.add(link.OnDemand, true)
			case 2:
				if n := len(s.view.Target.Replicas); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "gone")
					s.view.Target.Replicas = slices.Delete(s.view.Target.Replicas, i, i+1)
				}
			case 3:
				for i := range s.view.Target.Replicas {
					s.view.Target.Replicas[i].Ready = true
				}
			case 4:
				s.view.Pools[0].Deliverable = !s.view.Pools[0].Deliverable
			case 5:
				s.view.Pools[0].Lost = rapid.IntRange(0, 1).Draw(t, "lost")
			case 6:
				s.view.Wanted = rapid.IntRange(0, 6).Draw(t, "wanted")
			}
			firm := 0
			for _, r := range s.view.Target.Replicas {
				if r.Capacity == link.OnDemand && r.Ready {
					firm++
				}
			}
			step := s.after(time.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * time.Minute)
			deliverable := s.view.Pools[0].Deliverable && s.view.Pools[0].Lost == 0
			if step.Extra < 0 || step.Extra > 1 || (step.Extra > 0 && (firm <= s.view.Base || !deliverable)) || step.Text == "" {
				t.Fatalf("extra %d with %d on on-demand, base %d, deliverable %v: %q", step.Extra, firm, s.view.Base, deliverable, step.Text)
			}
			if (step.Extra > 0) != !s.state.Since.IsZero() {
				t.Fatalf("extra %d, under way since %v", step.Extra, s.state.Since)
			}
		}
	})
}
