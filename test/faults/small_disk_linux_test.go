package faults

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/scaler"
)

const diskKey = "WARMPOOL_SMALL_DISK"

// TestSmallDisk starts on a real disk that is full, with and without a store from before, and on one that is read-only:
// a file system in memory, mounted where only a process of its own sees it. Not every machine lets a user do that.
func TestSmallDisk(t *testing.T) {
	if dir := os.Getenv(diskKey); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestSmallDisk$")
	child.Env = append(os.Environ(), diskKey+"="+t.TempDir())
	own := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid()),
	}
	out, err := child.CombinedOutput()
	if _, started := err.(*exec.ExitError); err != nil && !started || strings.Contains(string(out), cannotMount) { //nolint:errorlint // it is not wrapped
		t.Skipf("this machine does not let a user mount: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const cannotMount = "cannot mount"

func onSmallDisk(t *testing.T, dir string) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(cannotMount, err)
	}
	fill := func(name string) {
		f, err := os.Create(filepath.Join(dir, name))
		for err == nil {
			_, err = f.Write(make([]byte, 1024))
		}
		f.Close()
	}
	if logged := startOn(t, dir); strings.Contains(logged, "ERROR") {
		t.Errorf("on an empty disk: %s", logged)
	}
	fill("filling")
	startOn(t, dir)
	if err := os.Remove(filepath.Join(dir, "warmpool.db")); err != nil {
		t.Fatal(err)
	}
	fill("more")
	if logged := startOn(t, dir); !strings.Contains(logged, "no space left") {
		t.Errorf("on a full disk without a store nothing is said: %s", logged)
	}
	if err := os.Remove(filepath.Join(dir, "filling")); err != nil {
		t.Fatal(err)
	}
	startOn(t, dir)
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if logged := startOn(t, dir); !strings.Contains(logged, "read-only") {
		t.Errorf("on a read-only disk nothing is said: %s", logged)
	}
}

// startOn opens everything in a directory as a start does, decides and saves, and returns the log.
func startOn(t *testing.T, dir string) string {
	t.Helper()
	logs := &logWatch{}
	logger := slog.New(slog.NewTextHandler(logs, nil))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	settings, err := config.Parse("test", []byte(strings.NewReplacer("PROMETHEUS", "127.0.0.1:1", "DATA", dir).Replace(configuration)))
	must(err)
	log, err := decisions.Open(decisions.Options{File: settings.Decisions.File, Logger: logger})
	must(err)
	store, err := engine.OpenStore(dir, logger)
	must(err)
	e, err := engine.New(engine.Options{
		Config: settings, Decisions: log, Store: store, History: engine.NewFileHistory(dir), Operations: engine.NewOperationsFile(dir), Log: logger,
	})
	must(err)
	e.Tick(context.Background(), time.Now())
	log.AddScaler(scaler.Decision{Time: time.Now(), Service: "ml/llama"})
	e.Save()
	must(log.Close())
	must(store.Close())
	return logs.String()
}
