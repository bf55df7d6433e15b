package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestReloadWhileTriggersCome lets triggers come while configurations change: whenever each of them came, it ends with the
// last one.
func TestReloadWhileTriggersCome(t *testing.T) {
	configs := []string{"replicas: {min: 1, max: 5}", "replicas: {min: 1, max: 7}"}
	yaml := func(i int) string {
		return fmt.Sprintf("\n- {name: chat, namespace: ml, preset: vllm, %s, forecast: {mode: \"off\"}}", configs[i%2])
	}
	e := newTestEngine(t, Options{Config: testConfig(t, yaml(0)), Source: newFakeSource()})
	const triggers, reloads = 60, 11
	var group sync.WaitGroup
	for caller := range 4 {
		group.Go(func() {
			for i := caller; i < triggers; i += 4 {
				if _, err := e.Resolve(triggerOf("ml", fmt.Sprintf("object-%d", i), "chat")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for i := range reloads + 1 {
			if err := e.Reload(testConfig(t, yaml(i))); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	e.Tick(t.Context(), time.Now())
	seen := 0
	for _, s := range e.services.list() {
		if s.trigger == nil {
			continue
		}
		seen++
		if s.compiled.Policy.Max != 7 {
			t.Errorf("%s has at most %d replicas, want the 7 of the last configuration", s.id, s.compiled.Policy.Max)
		}
	}
	if seen != triggers {
		t.Errorf("%d triggers, want %d", seen, triggers)
	}
}
