package load_test

import (
	"testing"

	"github.com/warmpool/warmpool/bench/load"
)

func TestWaveSize(t *testing.T) {
	for _, bytes := range []int{0, 1500, 2000, 4096, 5120, 6000} {
		loop := load.Wave{Groups: 3, Pods: 7, PodBytes: bytes}.Loop()
		if len(loop.Options) != 3 || len(loop.Nodes) != 3 || len(loop.Options[2].Pods) != 7 {
			t.Fatalf("%d options, %d nodes", len(loop.Options), len(loop.Nodes))
		}
		for _, p := range loop.Options[0].Pods {
			if size := p.Size(); bytes >= 2000 && (size < bytes || size > bytes+100) {
				t.Errorf("pod of %d bytes, want %d", size, bytes)
			}
		}
	}
}
