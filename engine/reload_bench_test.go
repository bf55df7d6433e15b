package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkReload is a new configuration with 10,000 triggers. What counts is how long a tick, or a trigger that is new,
// has to wait for it.
func BenchmarkReload(b *testing.B) {
	e, _ := fleet(b, 10_000)
	c := testConfig(b)
	longest := time.Duration(0)
	for b.Loop() {
		done := make(chan error, 1)
		go func() { done <- e.Reload(c) }()
		for ended := false; !ended; {
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				ended = true
			default:
				asked := time.Now()
				e.membership.Lock()
				waited := time.Since(asked)
				e.membership.Unlock()
				longest = max(longest, waited)
				time.Sleep(100 * time.Microsecond)
			}
		}
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "longest-wait-ms")
}

// BenchmarkFirstCalls is a start with 10,000 scaled objects that KEDA asks for at the same time.
func BenchmarkFirstCalls(b *testing.B) {
	const triggers = 10_000
	for b.Loop() {
		e := newTestEngine(b, Options{Config: testConfig(b), Limits: Limits{Triggers: triggers}})
		var group sync.WaitGroup
		for caller := range 50 {
			group.Go(func() {
				for i := caller; i < triggers; i += 50 {
					if _, err := e.Resolve(Trigger{Namespace: fmt.Sprintf("team-%d", i%20), ScaledObject: fmt.Sprintf("llm-%d", i), Metadata: map[string]string{
						"preset": "vllm", "model": fmt.Sprintf("m%d", i), "maxReplicas": "40", "forecastMode": "off",
					}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
}
