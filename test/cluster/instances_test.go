package cluster

import (
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// An address is one name for several instances: each new connection goes to the next one, and connections are cut after a
// while, so that KEDA is answered by all of them in turn.
type address struct {
	listener net.Listener
	targets  []string
	next     atomic.Uint64
	wg       sync.WaitGroup
}

func newAddress(t *testing.T, targets ...string) *address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &address{listener: l, targets: targets}
	a.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			a.wg.Go(func() { a.forward(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		a.wg.Wait()
	})
	return a
}

func (a *address) forward(client net.Conn) {
	defer client.Close()
	for range a.targets {
		server, err := net.Dial("tcp", a.targets[a.next.Add(1)%uint64(len(a.targets))])
		if err != nil {
			continue // this instance is down
		}
		deadline := time.Now().Add(2 * time.Second)
		_, _ = client.SetDeadline(deadline), server.SetDeadline(deadline)
		var pair sync.WaitGroup
		pair.Go(func() { _, _ = io.Copy(server, client) })
		pair.Go(func() { _, _ = io.Copy(client, server) })
		pair.Wait()
		server.Close()
		return
	}
}

// Two instances behind one address give one answer, also while the one that computes is killed and replaced.
func TestInstancesAgree(t *testing.T) {
	e := running(t)
	second, err := newServer(t.Context(), e.plane, "warmpool-1", e.warmpool.binary, e.warmpool.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.stop(syscall.SIGTERM) })
	both := newAddress(t, e.warmpool.scaler, second.scaler)

	e.exporter.load("instances", 6)
	w := e.deploy(t, "instances", 6, "scaledobject.yaml", func(spec map[string]any) {
		trigger := spec["triggers"].([]any)[0].(map[string]any)
		trigger["metadata"].(map[string]any)["scalerAddress"] = e.warmpool.dial(both.listener.Addr().String())
	})
	w.holds(t, 6, 4*hpaSync)
	e.exporter.load("instances", 9)
	if seen := w.reaches(t, 9, 60*time.Second); slices.Min(seen) < 6 || slices.Max(seen) > 9 {
		t.Errorf("on the way to 9 it passed %v", seen)
	}

	e.warmpool.stop(syscall.SIGKILL) // it held the Lease: it was first
	e.restoreAfter(t)
	w.holds(t, 9, 6*hpaSync)
	e.exporter.load("instances", 12)
	if seen := w.reaches(t, 12, 90*time.Second); slices.Min(seen) < 9 {
		t.Errorf("after the change of the leader it passed %v", seen)
	}
	if err := e.warmpool.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.holds(t, 12, 4*hpaSync)
}
