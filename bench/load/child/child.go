package child

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
	"time"
)

// A Process is a child that is ended by its id and whose output lies in a file.
type Process struct {
	// Name is what Launch was given, Log the file of the output.
	Name, Log string

	cmd  *exec.Cmd
	done chan struct{}
	err  error
	once sync.Once
}

// Launch starts a command with its output in dir/NAME.log and more variables in its environment.
func Launch(dir, name string, env []string, command ...string) (*Process, error) {
	p := &Process{Name: name, Log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = attributes()
	if err := p.cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		out.Close()
		close(p.done)
	}()
	return p, nil
}

// ID is the process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Stop sends a signal, and waits for the end. A process that takes longer than 20 s is killed, which is an error.
func (p *Process) Stop(signal syscall.Signal) error {
	var late error
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(signal)
		select {
		case <-p.done:
		case <-time.After(20 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
			late = fmt.Errorf("%s did not end within 20 s", p.Name)
		}
	})
	<-p.done
	if signal == syscall.SIGKILL {
		return late
	}
	return errors.Join(late, p.err)
}

// Ended tells whether the process is over.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Output is the end of what it has written.
func (p *Process) Output() string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4000):])
}

// FreePort finds a port of the loopback interface that nobody listens on. The kernel hands ports out in turn, so it is
// not given to somebody else within the moment until it is used.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
