package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

// podsCluster knows the pods of every scaled object.
type podsCluster struct{ pods scaler.Pods }

func (podsCluster) ExpanderView(time.Time) expander.View { return expander.View{} }
func (c podsCluster) Pods(_, _ string) scaler.Pods       { return c.pods }
func seconds(n ...int) (out []time.Duration) {
	for _, s := range n {
		out = append(out, time.Duration(s)*time.Second)
	}
	return out
}

// TestServiceMetrics reads what alerts and dashboards are made of: starts, lead and signals of one service.
func TestServiceMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		source.fail("waiting_" + exprOf("ml", "chat"))
		e := newTestEngine(t, Options{
			Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Metrics: registry,
			Cluster: podsCluster{scaler.Pods{
				Known: true, Ready: 3, Starting: seconds(10, 900), StartTimes: seconds(100, 110, 120, 130, 140, 150, 160, 170, 180, 600),
			}},
		})
		mustResolve(t, e, triggerOf("ml", "object", "chat"))
		e.Tick(t.Context(), time.Now())
		for name, want := range map[string]float64{
			"warmpool_lead_seconds": 60, "warmpool_starting_replicas": 2, "warmpool_startup_seconds": 180,
			"warmpool_stuck_replicas": 1, "warmpool_signals_unusable": 1, // the waiting requests are stale, not missing yet
			"warmpool_target_held_by_tolerance": 0,
		} {
			if got := gathered(t, registry, name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})
}

// TestForecastMetrics runs two days of a daily rhythm: its bound covers it, and the prewarms of the morning are counted.
func TestForecastMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		source := newFakeSource()
		source.setFunc("gateway_rate", daily)
		e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML("active")), Source: source, Metrics: registry})
		at := wakeAt(t, 8*time.Hour)
		stop := runEngine(t, e)
		defer stop()
		sleepUntil(t.Context(), at.Add(2*time.Hour))
		slots, within := gathered(t, registry, "warmpool_forecast_slots_total"), gathered(t, registry, "warmpool_forecast_slots_within_bound_total")
		if slots < 15 || slots > 24 {
			t.Errorf("%v slots compared in two hours, want nearly 24", slots)
		}
		if within < 0.8*slots || within > slots {
			t.Errorf("%v of %v slots within the bound of a rhythm that repeats exactly", within, slots)
		}
		if n := gathered(t, registry, "warmpool_prewarms"); n < 1 {
			t.Errorf("%v prewarms counted after the morning, want one at least", n)
		}
		if used := gathered(t, registry, "warmpool_forecast_used"); used != 1 {
			t.Errorf("forecast used is %v, want 1 in active mode", used)
		}
	})
}

// TestCoverage counts slots against the bound that was there a lead before, and no others.
func TestCoverage(t *testing.T) {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	plan := func(mode predictor.Mode, upper float64) *predictor.Plan {
		return &predictor.Plan{Mode: mode, Slots: []predictor.SlotPlan{
			{Start: start, Outlook: predictor.Outlook{Upper: 1}, Counts: true},
			{Start: start.Add(slotLength), Outlook: predictor.Outlook{Upper: upper}, Counts: true},
			{Start: start.Add(2 * slotLength), Outlook: predictor.Outlook{Upper: 1}},
		}}
	}
	var c coverage
	c.expect(plan(predictor.Shadow, 10))
	c.expect(plan(predictor.Shadow, 99)) // the bound that counts is the first one
	c.outcome(finished{start: start, rate: 5, ok: true})
	if n := c.slots.Load(); n != 0 {
		t.Errorf("%d slots counted that were never the last of a lead", n)
	}
	c.outcome(finished{start: start.Add(slotLength), rate: 11, ok: true})
	c.expect(plan(predictor.Active, 10))
	c.outcome(finished{start: start.Add(slotLength), rate: 10, ok: true})
	c.expect(plan(predictor.Active, 10))
	c.outcome(finished{start: start.Add(slotLength), ok: false})
	c.expect(plan(predictor.Reactive, 10))
	c.outcome(finished{start: start.Add(slotLength), rate: 5, ok: true})
	if slots, within := c.slots.Load(), c.within.Load(); slots != 2 || within != 1 {
		t.Errorf("%d of %d slots within the bound, want 1 of 2", within, slots)
	}
	if len(c.bounds) != 0 {
		t.Errorf("%d bounds kept of slots that are over", len(c.bounds))
	}
}

// TestHeldBack shows failing groups between requests, until their time is over or a decision says otherwise.
func TestHeldBack(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	request := expander.Request{Groups: []expander.Group{{ID: "spot-a"}, {ID: "spot-b"}}}
	failing := &expander.Decision{
		Time: now, Failures: []expander.FailureState{{GroupID: "spot-a", Until: now.Add(10 * time.Minute)}},
		Candidates: []expander.Candidate{{ID: "spot-a", Pool: "elastic", CapacityType: expander.Spot}, {ID: "spot-b", Pool: "elastic"}},
	}
	spot := poolKey{"elastic", expander.Spot}
	var h heldBack
	h.update(request, failing)
	if n := h.count(now)[spot]; n != 1 {
		t.Errorf("%d groups held back, want 1", n)
	}
	if n := h.count(now.Add(11 * time.Minute))[spot]; n != 0 {
		t.Errorf("%d groups held back after their time, want none", n)
	}
	h.update(expander.Request{Groups: []expander.Group{{ID: "other"}}}, &expander.Decision{Time: now.Add(time.Minute)})
	if n := h.count(now.Add(2 * time.Minute))[spot]; n != 1 {
		t.Errorf("a request of another autoscaler forgot the group: %d", n)
	}
	failing.Candidates = nil // in backoff: no longer an option
	h.update(request, failing)
	if n := h.count(now)[spot]; n != 1 {
		t.Errorf("the pool of a group without an option is forgotten: %v", h.count(now))
	}
	h.update(request, &expander.Decision{Time: now})
	if n := len(h.count(now)); n != 0 {
		t.Errorf("%d pools failing after a decision without failures", n)
	}
}

// TestHeldBackReachesMetrics fails a group by a view in backoff and reads the metric.
func TestHeldBackReachesMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	now := time.Now()
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{"inference-a": expander.UnknownGroup()}}
	g := view.Groups["inference-a"]
	g.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: now.Add(-time.Minute)}
	view.Groups["inference-a"] = g
	e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), Cluster: fakeCluster{view: view}, Metrics: registry})
	if _, err := e.BestOptions(context.Background(), gpuRequest()); err != nil {
		t.Fatal(err)
	}
	if n := gathered(t, registry, "warmpool_expander_groups_held_back"); n != 1 {
		t.Errorf("%v groups held back, want 1", n)
	}
}

// TestMetricNames holds every metric against the conventions of Prometheus.
func TestMetricNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Metrics: registry})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(families) < 9 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
