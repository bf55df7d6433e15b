package cluster

import (
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

	e.exporter.set(pending, 3)
	eventually(t, 10*time.Second, "the demand is visible in Prometheus", func() error {
		v, err := e.metrics.value(t.Context(), `sum(`+pending+`)`)
		if err == nil && v != 3 {
			err = fmt.Errorf("%v pending", v)
		}
		return err
	})
	visible := time.Now()
	for {
		n, err := w.replicas(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			break
		}
		if time.Since(visible) > 3*time.Second {
			t.Fatalf("still at zero 3 s after the demand was visible; %s", w.explain())
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("woken up %v after the demand was visible", time.Since(visible).Round(10*time.Millisecond))
	w.reaches(t, 3, 60*time.Second)

	// And back: idle for idleAfter, then the cooldown.
	e.exporter.set(pending, 0)
	w.reaches(t, 1, 90*time.Second)
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
	t.Cleanup(func() {
		if err := e.metrics.start(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
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

	// warmpool goes down as well: KEDA gets no spec and no value.
	e.warmpool.stop(syscall.SIGKILL)
	w.holds(t, 5, 4*hpaSync)
	if err := e.metrics.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.warmpool.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.exporter.load("outage", 7)
	w.reaches(t, 7, 90*time.Second)
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

// stillReady checks that the health of a source is not that of the server.
func (e *environment) stillReady(t *testing.T) {
	t.Helper()
	if err := get(t.Context(), http.DefaultClient, "http://"+e.warmpool.admin+"/readyz"); err != nil {
		t.Errorf("without its metric store warmpool is not ready: %v", err)
	}
}
