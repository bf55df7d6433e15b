package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a child that is ended by its id and whose output lies in a file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{}
	once      sync.Once
}

// launch starts a binary with its output in dir/NAME.log.
func launch(dir, name, binary string, env, args []string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = append(os.Environ(), env...)
	// A test that is killed takes its processes along.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		out.Close()
		close(p.done)
	}()
	return p, nil
}

// stop ends the process, and kills it when it takes longer than ten seconds.
func (p *process) stop(signal syscall.Signal) {
	if p == nil {
		return
	}
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(signal)
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
}

// ended tells whether the process is over.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail is the end of the output.
func (p *process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-3000):])
}

// freePort finds a port of the loopback interface that nobody listens on. The kernel hands ports out in turn, so it is
// not given to somebody else within the moment until it is used.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
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
