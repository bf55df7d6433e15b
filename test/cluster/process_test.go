package cluster

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/load/child"
)

// A process is a child of a test.
type process struct{ *child.Process }

// launch starts a binary with its output in dir/NAME.log.
func launch(dir, name, binary string, env, args []string) (*process, error) {
	p, err := child.Launch(dir, name, env, append([]string{binary}, args...)...)
	if err != nil {
		return nil, err
	}
	return &process{p}, nil
}

// stop ends the process, and kills it when it takes too long.
func (p *process) stop(signal syscall.Signal) {
	if p != nil {
		_ = p.Stop(signal)
	}
}

// freePort is a port that nobody listens on.
func freePort() string {
	port, err := child.FreePort()
	if err != nil {
		panic(err)
	}
	return port
}

var errTimeout = errors.New("timeout")

// slack is how many times as long as on a quiet machine of two cores everything may take.
const slack = 4

// poll repeats check every 100 ms until it succeeds; the last error is in the result. limit is that of a quiet machine.
func poll(limit time.Duration, check func() error) error {
	limit *= slack
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%w after %v", errTimeout, limit), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// eventually is poll for tests.
func eventually(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	if err := poll(limit, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
