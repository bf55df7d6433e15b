package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one run of warmpool.
type process struct {
	cmd *exec.Cmd
	// addresses are those of the listeners by name, as the log tells them; ready is closed when all are known.
	addresses map[string]string
	ready     chan struct{}
	done      chan struct{} // closed when the process has ended
	err       error

	mu  sync.Mutex
	log strings.Builder
}

// listeners are those that the load needs.
var listeners = []string{"expander", "scaler-insecure", "admin"}

func start(binary string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(binary, args...), addresses: map[string]string{}, ready: make(chan struct{}), done: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.read(stderr)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		p.mu.Lock()
		p.log.WriteString(line + "\n")
		p.mu.Unlock()
		if strings.Contains(line, "msg=listening") {
			p.addresses[field(line, "listener")] = field(line, "address")
			if len(p.addresses) == len(listeners) {
				close(p.ready)
			}
		}
	}
	_, _ = io.Copy(io.Discard, stderr)
}

func field(line, name string) string {
	_, rest, _ := strings.Cut(line, " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// tail is the end of the log.
func (p *process) tail() string {
	text := p.text()
	return text[max(0, len(text)-3000):]
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startWithin is how long a start may take on a busy machine.
const startWithin = 60 * time.Second

func (p *process) waitReady(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		return fmt.Errorf("it ended by itself: %w\n%s", p.err, p.tail())
	case <-time.After(startWithin):
		return fmt.Errorf("it does not listen after %v\n%s", startWithin, p.tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ask has the process end in order.
func (p *process) ask() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// complaint finds what a start says only about files that are damaged.
func (p *process) complaint() string {
	for line := range strings.Lines(p.text()) {
		for _, sign := range []string{"damaged", "cannot be used", "is lost", "a fault of warmpool", "panic", "level=ERROR"} {
			if strings.Contains(line, sign) {
				return line
			}
		}
	}
	return ""
}
