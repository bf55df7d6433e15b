package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

// TestSourcesDeadAtStart is the case keda-7729: whatever the state of the sources, a trigger resolves at once, and there
// is no number before there is data.
func TestSourcesDeadAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.failDemand("ml", "chat")
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		started := time.Now()
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		if _, err := e.Target(id); !errors.Is(err, ErrNoData) {
			t.Errorf("before the first evaluation: %v, want ErrNoData", err)
		}
		e.Tick(t.Context(), time.Now())
		d, err := e.Target(id)
		if err != nil || d.Unavailable == "" {
			t.Errorf("with dead sources: %+v, %v; want a decision without an answer", d, err)
		}
		if !strings.HasSuffix(id, "/chat") {
			t.Errorf("id %q does not end with the name of the service", id)
		}
		if took := time.Since(started); took > 0 {
			t.Errorf("the calls waited %v", took)
		}
	})
}

// TestTriggersAreSeparate is the case keda-gpu-scaler-110: two triggers of one scaled object, and the same one in another
// namespace, each hold their own value down.
func TestTriggersAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		e := newTestEngine(t, Options{Source: source, Config: testConfig(t,
			serviceYAML("ml", "chat-queue", ""), serviceYAML("ml", "chat-audio", ""), serviceYAML("ml2", "chat-queue", ""))})
		queue := mustResolve(t, e, triggerOf("ml", "chat", "chat-queue"))
		audio := mustResolve(t, e, triggerOf("ml", "chat", "chat-audio"))
		other := mustResolve(t, e, triggerOf("ml2", "chat", "chat-queue"))
		start := time.Now()
		for _, step := range []struct {
			after                           time.Duration
			queue, audio, other             float64
			wantQueue, wantAudio, wantOther int
		}{
			// Nothing is known of the replicas in ml2, so no demand there is not an answer of zero.
			{0, 9, 2, 0, 9, 2, -1},
			{15 * time.Second, 4, 1, 0, 9, 2, -1},
			{30 * time.Second, 4, 1, 1, 9, 2, 1},
			// The 9 of the first step is older than the window of 60 s now.
			{75 * time.Second, 4, 1, 1, 4, 1, 1},
		} {
			sleepUntil(t.Context(), start.Add(step.after))
			source.setDemand("ml", "chat-queue", step.queue)
			source.setDemand("ml", "chat-audio", step.audio)
			source.setDemand("ml2", "chat-queue", step.other)
			e.Tick(t.Context(), start.Add(step.after))
			wantTarget(t, e, queue, step.wantQueue)
			wantTarget(t, e, audio, step.wantAudio)
			wantTarget(t, e, other, step.wantOther)
		}
	})
}

// TestActivationWithinASecond is the case noctaya-42: a service at zero gets its first request 3.2 s after a tick. The
// stream must be woken within a second of it, long before the next tick.
func TestActivationWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		start := time.Now().Truncate(15 * time.Second).Add(15 * time.Second)
		source.set("waiting_of_ml_chat", 0)
		arrival := start.Add(3200 * time.Millisecond)
		source.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) {
			if at.Before(arrival) {
				return 0, nil
			}
			return 1, nil
		})
		e := newTestEngine(t, Options{
			Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Cluster: fakeCluster{pods: scaler.Pods{Known: true}},
		})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		sleepUntil(t.Context(), start)
		stop := runEngine(t, e)
		defer stop()
		synctest.Wait()
		wantTarget(t, e, id, 0)
		<-e.Changed(id)
		if after := time.Since(arrival); after < 0 || after > time.Second {
			t.Errorf("woken %v after the arrival, want at most 1s", after)
		}
		wantTarget(t, e, id, 1)
	})
}

// TestActivationWithoutClusterView is the same without knowledge of the pods: before the demand there is no answer, as
// nobody knows whether the service is at zero, and the demand is still seen within a second.
func TestActivationWithoutClusterView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 0)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		stop := runEngine(t, e)
		defer stop()
		sleepUntil(t.Context(), time.Now().Truncate(15*time.Second).Add(18*time.Second))
		wantTarget(t, e, id, -1)
		changed := e.Changed(id)
		source.setDemand("ml", "chat", 1)
		arrival := time.Now()
		<-changed
		if after := time.Since(arrival); after > time.Second {
			t.Errorf("woken %v after the arrival, want at most 1s", after)
		}
		wantTarget(t, e, id, 1)
	})
}

// TestStreamOfTrues is the case keda-6986 as far as the board decides it: a stream that sends true at once and at each
// heartbeat while the target is above zero has twelve of them in 120 s, and sees no target of zero in the first window.
func TestStreamOfTrues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		start := time.Now().Truncate(15 * time.Second).Add(15 * time.Second)
		source.set("waiting_of_ml_chat", 0)
		source.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) {
			switch since := at.Sub(start); {
			case since < time.Minute:
				return 2, nil
			case since < 2*time.Minute:
				return 3, nil
			default:
				return 0, nil
			}
		})
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		sleepUntil(t.Context(), start)
		stop := runEngine(t, e)
		defer stop()
		synctest.Wait()
		trues, highest := 0, 0
		for beat := start; beat.Before(start.Add(2 * time.Minute)); beat = beat.Add(10 * time.Second) {
			sleepUntil(t.Context(), beat)
			synctest.Wait()
			d, err := e.Target(id)
			if err == nil && d.Active {
				trues++
			}
			highest = max(highest, d.Replicas)
		}
		if trues != 12 || highest != 3 {
			t.Errorf("%d heartbeats with an active service and at most %d replicas, want 12 and 3", trues, highest)
		}
	})
}

func runEngine(t *testing.T, e *Engine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestSlowQueryHoldsUpNobody has one service whose query hangs: the other is on the board at once, tick after tick.
func TestSlowQueryHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "fast", 3)
		source.setDemand("ml", "slow", 5)
		source.delays["running_of_ml_slow"] = 10 * time.Second
		e := newTestEngine(t, Options{
			Source: source, Config: testConfig(t, serviceYAML("ml", "fast", ""), serviceYAML("ml", "slow", "")),
		})
		fast, slow := mustResolve(t, e, triggerOf("ml", "a", "fast")), mustResolve(t, e, triggerOf("ml", "b", "slow"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			e.Tick(ctx, time.Now())
		}()
		synctest.Wait()
		wantTarget(t, e, fast, 3)
		wantTarget(t, e, slow, -1)
		<-done
		// Waiting was read and is zero, running was never: no answer, and not zero.
		wantTarget(t, e, slow, -1)
	})
}

// TestStaleBoard stops ticking: the last answer stands for staleAfter and an interval, then there is none.
func TestStaleBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		e.Tick(t.Context(), time.Now())
		sleepUntil(t.Context(), time.Now().Add(105*time.Second))
		wantTarget(t, e, id, 4)
		sleepUntil(t.Context(), time.Now().Add(time.Second))
		if _, err := e.Target(id); !errors.Is(err, ErrNoData) {
			t.Errorf("106 s after the last tick: %v, want ErrNoData", err)
		}
	})
}

// TestSourceLost holds the target while votes are fresh enough, then has no answer, and never a zero.
func TestSourceLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		start := time.Now()
		e.Tick(t.Context(), start)
		source.failDemand("ml", "chat")
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{15 * time.Second, 4}, {90 * time.Second, 4}, {105 * time.Second, -1}, {10 * time.Minute, -1}} {
			sleepUntil(t.Context(), start.Add(step.after))
			e.Tick(t.Context(), start.Add(step.after))
			d := wantTarget(t, e, id, step.want)
			if step.after == 15*time.Second && (len(d.Signals) == 0 || d.Signals[0].Error == "") {
				t.Errorf("the decision does not say why a signal is missing: %+v", d.Signals)
			}
		}
	})
}

// TestRestartScalesNothingDown starts a second engine on the metric store's history while the demand has just fallen.
func TestRestartScalesNothingDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.rewind = true
		start := time.Now()
		source.set("waiting_of_ml_chat", 0)
		source.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) {
			if at.Before(start.Add(-30 * time.Second)) {
				return 9, nil
			}
			return 2, nil
		})
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 9)
		// A whole window has to pass after the start.
		for after := 15 * time.Second; after <= 75*time.Second; after += 15 * time.Second {
			sleepUntil(t.Context(), start.Add(after))
			e.Tick(t.Context(), start.Add(after))
		}
		wantTarget(t, e, id, 2)
	})
}

// TestHistoryUnreadableAtStart has a metric store that answers instant queries but no range queries at first: a restart
// then gives no answer rather than one that forgets the last window, and goes on after a minute at the latest.
func TestHistoryUnreadableAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		readableAfter time.Duration
		only          string
		wants         map[time.Duration]int
	}{
		"comes back":   {20 * time.Second, "", map[time.Duration]int{0: -1, 15 * time.Second: -1, 30 * time.Second: 9}},
		"stays away":   {time.Hour, "", map[time.Duration]int{0: -1, 45 * time.Second: -1, 60 * time.Second: 2}},
		"never lost":   {0, "", map[time.Duration]int{0: 9}},
		"one is short": {20 * time.Second, "running_of_ml_chat", map[time.Duration]int{0: -1, 15 * time.Second: -1, 30 * time.Second: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				source := &forgetful{fakeSource: newFakeSource(), until: start.Add(c.readableAfter), only: c.only}
				source.rewind = true
				source.set("waiting_of_ml_chat", 0)
				source.setFunc("running_of_ml_chat", func(at time.Time) (float64, error) {
					if at.Before(start.Add(-10 * time.Second)) {
						return 9, nil
					}
					return 2, nil
				})
				e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
				id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
				for _, after := range slices.Sorted(maps.Keys(c.wants)) {
					sleepUntil(t.Context(), start.Add(after))
					e.Tick(t.Context(), start.Add(after))
					wantTarget(t, e, id, c.wants[after])
				}
			})
		})
	}
}

// TestStoredAnswerCoversAGap: where a part of the history cannot be read, a restart goes on from the stored answer.
func TestStoredAnswerCoversAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := OpenStore(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		start := time.Now()
		source := &forgetful{fakeSource: newFakeSource(), until: start.Add(time.Hour), only: "busy"}
		source.rewind = true
		source.set("waiting_of_ml_chat", 1)
		source.set("running_of_ml_chat", 2)
		source.set("busy", 0.5)
		yaml := strings.Replace(serviceYAML("ml", "chat", ""), "queries: {", "queries: {gpuUtilization: busy, ", 1)
		e := newTestEngine(t, Options{Config: testConfig(t, yaml), Source: source, Store: store})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		at := start.Add(-20 * time.Second)
		last := scaler.State{N: 9, Need: 9, Valid: true, Since: at, Computed: []scaler.Target{{At: at, N: 9}}}
		if err := store.save(map[string]saved{id: {state: &last}}, at); err != nil {
			t.Fatal(err)
		}
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 9)
	})
}

// forgetful fails every range query until a time, or those of one expression.
type forgetful struct {
	*fakeSource
	until time.Time
	only  string
}

func (f *forgetful) Rewind(ctx context.Context, from, to time.Time, step time.Duration, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	f.fakeSource.Rewind(ctx, from, to, step, services, func(s, q int, samples []scaler.Sample, err error) {
		if time.Now().Before(f.until) && (f.only == "" || f.only == services[s][q].Expr) {
			samples, err = nil, errors.New("status 422")
		}
		report(s, q, samples, err)
	})
}

// TestFaultyParts scales by the signals when the view of the pods and the predictor fail.
func TestFaultyParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		e := newTestEngine(t, Options{
			Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Cluster: fakeCluster{panic: true}, Metrics: registry,
		})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		s, _ := e.services.get(id)
		s.forecast = &forecast{predictor: &predictor.Service{}, perReplica: 1} // not made by New: any use of it fails
		e.Tick(t.Context(), time.Now())
		e.Tick(t.Context(), time.Now().Add(15*time.Second))
		wantTarget(t, e, id, 4)
		if n := gathered(t, registry, "warmpool_evaluations_total"); n < 4 {
			t.Errorf("%v evaluations and faults counted, want two of each at least", n)
		}
	})
}

// TestResolve covers what callers can get wrong.
func TestResolve(t *testing.T) {
	e := newTestEngine(t, Options{
		Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: newFakeSource(),
		Limits: Limits{Triggers: 3, NamespaceTriggers: 2},
	})
	if _, err := e.Resolve(triggerOf("ml", "object", "nobody")); !errors.Is(err, ErrUnknownService) {
		t.Errorf("unknown service: %v", err)
	}
	secret := Trigger{Namespace: "ml", ScaledObject: "object", Metadata: map[string]string{"service": "chat", "password": "hunter2"}}
	_, err := e.Resolve(secret)
	if !errors.Is(err, ErrInvalidTrigger) || !strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in the metadata: %v", err)
	}
	first := mustResolve(t, e, triggerOf("ml", "a", "chat"))
	moved := triggerOf("ml", "a", "chat")
	moved.Metadata["scalerAddress"] = "elsewhere:1"
	if again := mustResolve(t, e, moved); again != first {
		t.Errorf("another address made another trigger: %s and %s", first, again)
	}
	mustResolve(t, e, triggerOf("ml", "b", "chat"))
	if _, err := e.Resolve(triggerOf("ml", "c", "chat")); !errors.Is(err, ErrTooMany) {
		t.Errorf("a third trigger of the namespace: %v, want ErrTooMany", err)
	}
	if _, err := e.Target("ml/none/0/chat"); !errors.Is(err, ErrUnknownService) {
		t.Errorf("an id that was never given out: %v", err)
	}
	if e.Changed("ml/none/0/chat") != nil {
		t.Error("an unknown id has a channel")
	}
}

// TestTriggersAreBoundedInBytes: few triggers with much metadata are refused like many, and places come back.
func TestTriggersAreBoundedInBytes(t *testing.T) {
	e := newTestEngine(t, Options{
		Config: testConfig(t, serviceYAML("ml", "chat", ""), serviceYAML("lab", "chat", "")), Source: newFakeSource(),
		Limits: Limits{TriggerBytes: 40_000},
	})
	long := func(namespace string, i int) Trigger {
		trigger := triggerOf(namespace, fmt.Sprint("object-", i), "chat")
		trigger.Metadata["scalerAddress"] = strings.Repeat("x", 6000)
		return trigger
	}
	ids := []string{mustResolve(t, e, long("ml", 0)), mustResolve(t, e, long("ml", 1)), mustResolve(t, e, long("ml", 2))}
	if _, err := e.Resolve(long("ml", 3)); !errors.Is(err, ErrTooMany) {
		t.Errorf("beyond half of the bytes: %v, want ErrTooMany", err)
	}
	mustResolve(t, e, triggerOf("ml", "short", "chat"))
	mustResolve(t, e, long("lab", 0))
	for _, id := range ids {
		s, _ := e.services.get(id)
		e.membership.Lock()
		e.services.remove(s)
		e.membership.Unlock()
	}
	mustResolve(t, e, long("ml", 3))
	if e.services.bytes["ml"]+e.services.bytes["lab"] != e.services.allBytes {
		t.Errorf("%v, %d in all", e.services.bytes, e.services.allBytes)
	}
}

// TestTriggerKeys gives two triggers the same key exactly if they differ in nothing but the connection.
func TestTriggerKeys(t *testing.T) {
	trigger := rapid.Custom(func(t *rapid.T) Trigger {
		text := rapid.SampledFrom([]string{"", "a", "b", "ab", "1:a", "scalerAddress", "enableTLS"})
		return Trigger{
			Namespace: rapid.SampledFrom([]string{"ml", "ml2"}).Draw(t, "namespace"), ScaledObject: "o",
			Metadata: rapid.MapOfN(text, text, 0, 3).Draw(t, "metadata"),
		}
	})
	essence := func(t Trigger) map[string]string {
		m := maps.Clone(t.Metadata)
		delete(m, "scalerAddress")
		delete(m, "enableTLS")
		delete(m, "unsafeSsl")
		m["\x00namespace"] = t.Namespace
		return m
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := trigger.Draw(t, "a"), trigger.Draw(t, "b")
		if same := maps.Equal(essence(a), essence(b)); (a.key() == b.key()) != same {
			t.Fatalf("keys %s and %s of %v and %v", a.key(), b.key(), a, b)
		}
	})
}

// TestForgottenTriggers frees the place of a trigger that nobody asks for, and evaluates its service by itself again.
func TestForgottenTriggers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		e := newTestEngine(t, Options{
			Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Limits: Limits{ForgetAfter: 10 * time.Minute},
		})
		kept, gone := mustResolve(t, e, triggerOf("ml", "kept", "chat")), mustResolve(t, e, triggerOf("ml", "gone", "chat"))
		// Time goes by with ticks: without them the process was suspended, and nobody could ask.
		letPass := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				sleepUntil(t.Context(), time.Now().Add(15*time.Second))
				e.Tick(t.Context(), time.Now())
			}
		}
		letPass(6 * time.Minute)
		mustResolve(t, e, triggerOf("ml", "kept", "chat"))
		letPass(6 * time.Minute)
		wantTarget(t, e, kept, 4)
		if _, err := e.Target(gone); !errors.Is(err, ErrUnknownService) {
			t.Errorf("a forgotten trigger: %v", err)
		}
		letPass(11 * time.Minute)
		wantTarget(t, e, "ml/chat", 4)
		if n := len(e.Board()); n != 1 {
			t.Errorf("%d lines on the board, want the configured service", n)
		}
	})
}

// TestInheritedAnswer gives a trigger that is a mere reference the answer of its configured service at once.
func TestInheritedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		e.Tick(t.Context(), time.Now())
		wantTarget(t, e, mustResolve(t, e, triggerOf("ml", "object", "chat")), 4)
	})
}

// TestReload keeps what was learnt, refuses triggers that no longer resolve, and takes them back.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 9)
		first := testConfig(t, serviceYAML("ml", "chat", ""))
		e := newTestEngine(t, Options{Config: first, Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		start := time.Now()
		tick := func(after time.Duration) {
			sleepUntil(t.Context(), start.Add(after))
			e.Tick(t.Context(), start.Add(after))
		}
		tick(0)
		source.setDemand("ml", "chat", 2)
		smaller := strings.Replace(serviceYAML("ml", "chat", ""), "max: 50", "max: 7", 1)
		if err := e.Reload(testConfig(t, smaller)); err != nil {
			t.Fatal(err)
		}
		wantTarget(t, e, id, 9) // not yet evaluated
		tick(15 * time.Second)
		wantTarget(t, e, id, 7) // the window still holds the 9, and the limit is 7
		if err := e.Reload(testConfig(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Resolve(triggerOf("ml", "object", "chat")); !errors.Is(err, ErrUnknownService) {
			t.Errorf("a service that was removed: %v", err)
		}
		if err := e.Reload(first); err != nil {
			t.Fatal(err)
		}
		tick(30 * time.Second)
		if again := mustResolve(t, e, triggerOf("ml", "object", "chat")); again != id {
			t.Errorf("another id after the reload: %s, was %s", again, id)
		}
		if d := wantTarget(t, e, id, 9); len(d.Reasons) == 0 {
			t.Errorf("a held target without a reason: %+v", d)
		}
		if err := e.Reload(nil); err == nil {
			t.Error("nothing was accepted as a configuration")
		}
	})
}

// TestFreezeAndOverride come from the configuration and show in the decision.
func TestFreezeAndOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 2)
		base := "apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices:" + serviceYAML("ml", "chat", "")
		e := newTestEngine(t, Options{Config: parseConfig(t, base), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		start := time.Now()
		e.Tick(t.Context(), start)
		frozen := parseConfig(t, base+"\nfreeze: {scaler: true, reason: incident 7}\n")
		if err := e.Reload(frozen); err != nil {
			t.Fatal(err)
		}
		source.setDemand("ml", "chat", 8)
		sleepUntil(t.Context(), start.Add(15*time.Second))
		e.Tick(t.Context(), start.Add(15*time.Second))
		if d := wantTarget(t, e, id, 2); d.Frozen != "incident 7" {
			t.Errorf("frozen = %q", d.Frozen)
		}
		from, to := start.Add(-time.Hour).UTC(), start.Add(20*time.Second).UTC()
		override := fmt.Sprintf("\noverrides: [{service: chat, min: 12, from: %s, to: %s, reason: launch}]\n",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
		if err := e.Reload(parseConfig(t, base+override)); err != nil {
			t.Fatal(err)
		}
		e.Tick(t.Context(), start.Add(16*time.Second))
		if d := wantTarget(t, e, id, 12); d.Override == nil || d.Override.Reason != "launch" {
			t.Errorf("override = %+v", d.Override)
		}
	})
}

// TestRecords logs a decision when it changes and else every five minutes.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 4)
		log, err := decisions.Open(decisions.Options{Ring: 100})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Decisions: log})
		start := time.Now()
		for after := time.Duration(0); after <= 10*time.Minute; after += 15 * time.Second {
			if after == 7*time.Minute {
				source.setDemand("ml", "chat", 6)
			}
			sleepUntil(t.Context(), start.Add(after))
			e.Tick(t.Context(), start.Add(after))
		}
		var replicas []int
		records := log.List(decisions.Filter{Kind: decisions.KindScaler, Limit: 100})
		for _, r := range records {
			replicas = append(replicas, r.Scaler.Replicas)
		}
		if records[0].Scaler.Replicas != 6 {
			t.Errorf("newest record %v", records[0])
		}
		// The first, the five-minute one and the change; reasons of the first window add their own.
		if n := len(replicas); n < 3 || n > 6 {
			t.Errorf("%d records of %v in ten minutes of 41 ticks", n, replicas)
		}
		d, err := e.Target("ml/chat")
		if err != nil || d.Replicas != records[0].Scaler.Replicas {
			t.Errorf("the board says %v, the log %v", d.Replicas, records[0].Scaler.Replicas)
		}
	})
}

// TestOverrunIsSkipped has a source that takes 40 s: ticks of 15 s are left out and counted, and the loop goes on.
func TestOverrunIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		source := &stubborn{fakeSource: newFakeSource(), takes: 40 * time.Second}
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Metrics: registry})
		sleepUntil(t.Context(), time.Now().Truncate(15*time.Second).Add(15*time.Second))
		stop := runEngine(t, e)
		sleepUntil(t.Context(), time.Now().Add(2*time.Minute+time.Second))
		stop()
		// The tick of 0 s ends at 40 s: 15 is left out, 30 runs late. It ends at 80: 45 and 60 are left out, 75 runs
		// late. It ends at 120: 90 and 105 are left out, 120 runs.
		if skipped := gathered(t, registry, "warmpool_ticks_skipped_total"); skipped != 5 {
			t.Errorf("%v ticks skipped, want 5", skipped)
		}
	})
}

// stubborn takes its time whatever the deadline.
type stubborn struct {
	*fakeSource
	takes time.Duration
}

func gathered(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			sum := 0.0
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
			return sum
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func (s *stubborn) Read(_ context.Context, at time.Time, services [][]config.Query, report func(int, int, []scaler.Sample, error)) {
	time.Sleep(s.takes)
	s.fakeSource.Read(context.Background(), at, services, report)
}
