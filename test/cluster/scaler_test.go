package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"
)

// sync is the period of the HPA in the tests.
const hpaSync = 5 * time.Second

// A target is reached exactly and in one step, also where the HPA's usual tolerance of 10 % would not follow (10 and 11, 23
// and 24).
func TestEveryTargetIsReachedExactly(t *testing.T) {
	e := running(t)
	e.exporter.load("exact", 1)
	w := e.deploy(t, "exact", 1, "scaledobject.yaml")
	w.reaches(t, 1, 30*time.Second)
	eventually(t, 60*time.Second, "KEDA makes an HPA that works", func() error {
		hpa, err := w.hpa(t.Context())
		if err != nil {
			return err
		}
		for _, c := range hpa.Status.Conditions {
			if c.Type == "ScalingActive" && c.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", hpa.Status.Conditions)
	})
	before := 1
	for _, n := range []int{2, 10, 11, 23, 24, 23, 11, 10, 2, 1} {
		e.exporter.load("exact", float64(n))
		began := time.Now()
		seen := w.reaches(t, n, 60*time.Second)
		t.Logf("%d to %d in %v", before, n, time.Since(began).Round(100*time.Millisecond))
		for _, count := range seen {
			if count != before && count != n {
				t.Errorf("from %d to %d it passed %v", before, n, seen)
			}
		}
		before = n
	}
	w.holds(t, 1, 2*hpaSync)
}

// From zero the push stream acts as soon as the demand can be seen; the rest is the HPA's.
func TestFromZeroByPush(t *testing.T) {
	e := running(t)
	const pending, busy = `gateway_requests_pending{namespace="e2e",service="zero"}`, `gateway_requests_running{namespace="e2e",service="zero"}`
	e.exporter.set(pending, 0)
	e.exporter.set(busy, 0)
	w := e.deploy(t, "zero", 0, "scaledobject-from-zero.yaml", func(spec map[string]any) {
		set(t, spec, "minReplicaCount", int64(0))
		set(t, spec, "maxReplicaCount", int64(8))
		set(t, spec, "cooldownPeriod", int64(5))
		// The stream has to do it: the next poll is far away.
		set(t, spec, "pollingInterval", int64(120))
	})
	eventually(t, 60*time.Second, "the ScaledObject is ready and idle", func() error {
		ready, err := w.condition(t.Context(), "Ready")
		if err != nil || ready != "True" {
			return fmt.Errorf("ready %q, %w", ready, err)
		}
		return nil
	})
	w.holds(t, 0, 5*time.Second)

	// The rule is a matter of seconds; a machine that is busy with something else gets two more chances.
	const limit = 3 * time.Second
	for attempt := 1; ; attempt++ {
		took := w.wakes(t, pending, 3)
		t.Logf("woken up %v after the demand was visible", took.Round(10*time.Millisecond))
		if took <= limit {
			break
		}
		if attempt == 3 {
			t.Fatalf("never woken up within %v; %s", limit, w.explain())
		}
		e.exporter.set(pending, 0)
		w.reaches(t, 0, 3*time.Minute)
	}
	w.reaches(t, 3, 60*time.Second)

	// And back: idle for idleAfter, then the cooldown.
	e.exporter.set(pending, 0)
	w.reaches(t, 1, 90*time.Second)
}

// wakes sets a demand and returns how long after it was visible in Prometheus the first replica was ordered.
func (w workload) wakes(t *testing.T, series string, demand float64) time.Duration {
	t.Helper()
	w.exporter.set(series, demand)
	eventually(t, 30*time.Second, "the demand is visible in Prometheus", func() error {
		v, err := w.metrics.value(t.Context(), `sum(`+series+`)`)
		if err == nil && v != demand {
			err = fmt.Errorf("%v pending", v)
		}
		return err
	})
	visible := time.Now()
	eventually(t, time.Minute, "the first replica", func() error {
		n, err := w.replicas(t.Context())
		if err == nil && n == 0 {
			err = errors.New("still at zero")
		}
		return err
	})
	return time.Since(visible)
}

// Without its metric store warmpool has no value; neither the hold nor the fallback that follows removes a replica.
func TestPrometheusStops(t *testing.T) {
	e := running(t)
	e.exporter.load("outage", 5)
	w := e.deploy(t, "outage", 5, "scaledobject-pull.yaml", func(spec map[string]any) {
		set(t, spec, "fallback.replicas", int64(3)) // below what is there
		set(t, spec, "fallback.failureThreshold", int64(2))
	})
	w.reaches(t, 5, 30*time.Second)
	w.holds(t, 5, 2*hpaSync)

	e.metrics.stop()
	e.restoreAfter(t)
	w.holds(t, 5, 15*time.Second) // staleAfter is over after 5 s
	eventually(t, 60*time.Second, "KEDA uses the fallback", func() error {
		fallback, err := w.condition(t.Context(), "Fallback")
		if err == nil && fallback != "True" {
			err = fmt.Errorf("fallback %q", fallback)
		}
		return err
	})
	w.holds(t, 5, 3*hpaSync)
	e.stillReady(t)
	if err := e.metrics.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.exporter.load("outage", 7)
	w.reaches(t, 7, 90*time.Second)
}

// Nobody can give a value: KEDA's fallback, which names fewer replicas, leaves those that are there, whichever goes first,
// and afterwards everything goes on.
func TestFallbackWithPrometheusAndWarmpoolDown(t *testing.T) {
	e := running(t)
	e.exporter.load("dark", 5)
	w := e.deploy(t, "dark", 5, "scaledobject.yaml", func(spec map[string]any) {
		set(t, spec, "fallback.replicas", int64(3)) // below what is there
		set(t, spec, "fallback.failureThreshold", int64(2))
	})
	w.reaches(t, 5, 30*time.Second)
	w.holds(t, 5, 2*hpaSync)
	e.restoreAfter(t)

	// Prometheus first: KEDA falls back, and still does when warmpool is gone too.
	e.metrics.stop()
	eventually(t, 90*time.Second, "KEDA uses the fallback", func() error {
		fallback, err := w.condition(t.Context(), "Fallback")
		if err == nil && fallback != "True" {
			err = fmt.Errorf("fallback %q", fallback)
		}
		return err
	})
	e.warmpool.stop(syscall.SIGKILL)
	w.holds(t, 5, 6*hpaSync)
	// warmpool is back first and has nothing to go by: it gives no value rather than a low one.
	if err := e.warmpool.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.holds(t, 5, 3*hpaSync)
	if err := e.metrics.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.exporter.load("dark", 7)
	w.reaches(t, 7, 90*time.Second)

	// Both at once: KEDA does not learn the metric's name any more, so it has no fallback, and the HPA changes nothing.
	e.warmpool.stop(syscall.SIGKILL)
	e.metrics.stop()
	w.holds(t, 7, 6*hpaSync)
	if err := errors.Join(e.metrics.start(t.Context()), e.warmpool.start(t.Context())); err != nil {
		t.Fatal(err)
	}
	e.exporter.load("dark", 6)
	w.reaches(t, 6, 90*time.Second)
}

// A restart forgets nothing that keeps replicas.
func TestRestartScalesNothingDown(t *testing.T) {
	e := running(t)
	e.exporter.load("restart", 6)
	w := e.deploy(t, "restart", 6, "scaledobject.yaml")
	w.reaches(t, 6, 30*time.Second)
	w.holds(t, 6, 2*hpaSync)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		e.warmpool.stop(signal)
		w.holds(t, 6, hpaSync)
		if err := e.warmpool.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.holds(t, 6, 3*hpaSync)
	}
	e.exporter.load("restart", 4)
	if seen := w.reaches(t, 4, 60*time.Second); slices.Min(seen) < 4 {
		t.Errorf("it passed %v", seen)
	}
}

// restoreAfter starts at the end of a test what the test has left stopped, because the next one needs it.
func (e *environment) restoreAfter(t *testing.T) {
	t.Cleanup(func() {
		ctx := context.Background()
		if e.metrics.process.Ended() {
			if err := e.metrics.start(ctx); err != nil {
				t.Error(err)
			}
		}
		if e.warmpool.process.Ended() {
			if err := e.warmpool.start(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// stillReady checks that the health of a source is not that of the server.
func (e *environment) stillReady(t *testing.T) {
	t.Helper()
	if err := get(t.Context(), http.DefaultClient, "http://"+e.warmpool.admin+"/readyz"); err != nil {
		t.Errorf("without its metric store warmpool is not ready: %v", err)
	}
}
