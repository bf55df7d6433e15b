package raw_test

import (
	"runtime/metrics"
	"time"
)

// watchHeap samples the bytes of heap objects until stop is closed, and then yields the largest sample.
func watchHeap() (stop chan struct{}, peak chan uint64) {
	stop, peak = make(chan struct{}), make(chan uint64, 1)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		var most uint64
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-ticker.C:
				metrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			}
		}
	}()
	return stop, peak
}
