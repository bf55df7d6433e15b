package child

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	switch os.Getenv("CHILD_TEST") {
	case "":
		goleak.VerifyTestMain(m)
	case "waits":
		os.Stdout.WriteString("hello\n")
		select {}
	case "fails":
		os.Stderr.WriteString("no\n")
		os.Exit(3)
	}
}

func launchSelf(t *testing.T, what string) *Process {
	t.Helper()
	p, err := Launch(t.TempDir(), "self", []string{"CHILD_TEST=" + what}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(syscall.SIGKILL) })
	return p
}

func TestKilled(t *testing.T) {
	p := launchSelf(t, "waits")
	if p.Ended() || p.ID() <= 0 || p.ID() == os.Getpid() {
		t.Errorf("process %d has ended: %v", p.ID(), p.Ended())
	}
	if err := p.Stop(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if !p.Ended() {
		t.Error("it is still there")
	}
	if err := p.Stop(syscall.SIGKILL); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
}

func TestFailed(t *testing.T) {
	p := launchSelf(t, "fails")
	<-p.done
	if err := p.Stop(syscall.SIGTERM); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("stopped: %v, want its exit code", err)
	}
	if !strings.Contains(p.Output(), "no") {
		t.Errorf("output %q", p.Output())
	}
}

func TestNoSuchProgram(t *testing.T) {
	if _, err := Launch(t.TempDir(), "nothing", nil, "/does/not/exist"); err == nil {
		t.Error("started")
	}
}
