package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const poll = 5 * time.Second

// refusedRing is in a valid configuration that cannot be put into force.
const refusedRing = 666

var errRefused = errors.New("cannot be used")

func ringText(n string) string { return head + "decisions: {ring: " + n + "}\n" }

// watched runs a watcher over a file in a bubble of fake time. Each step is followed by as many polls as it says.
type watched struct {
	t       *testing.T
	path    string
	watcher *Watcher
	taken   []int
}

func watch(t *testing.T, text string, body func(w *watched)) {
	t.Helper()
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "config.yaml")}
	w.write(text)
	synctest.Test(t, func(t *testing.T) {
		watcher, err := NewWatcher(w.path, poll, func(c *Config) error {
			if c.Decisions.Ring == refusedRing {
				return errRefused
			}
			w.taken = append(w.taken, c.Decisions.Ring)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.watcher = watcher
		ctx, cancel := context.WithCancel(t.Context())
		go watcher.Run(ctx)
		time.Sleep(poll / 2) // between two looks
		body(w)
		cancel()
		synctest.Wait()
	})
}

func (w *watched) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) polls(n int) {
	time.Sleep(time.Duration(n) * poll)
	synctest.Wait()
}

func (w *watched) want(ring, failures int) {
	w.t.Helper()
	s := w.watcher.Status()
	if got := w.watcher.Current().Decisions.Ring; got != ring || s.Failures != failures {
		w.t.Errorf("ring %d (status %+v), want %d with %d failures", got, s, ring, failures)
	}
}

func TestWatcherTakesAChange(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		w.want(10, 0)
		w.polls(10)
		w.want(10, 0)
		w.write(ringText("20"))
		w.polls(1)
		w.want(10, 0) // seen once, it may be half of what is being written
		w.polls(1)
		w.want(20, 0)
		w.polls(5)
		if len(w.taken) != 1 || w.taken[0] != 20 || w.watcher.Status().Reloads != 2 {
			t.Errorf("taken %v, status %+v; want 20 once", w.taken, w.watcher.Status())
		}
	})
}

func TestWatcherKeepsTheLastGoodOne(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		w.write(ringText("lots"))
		w.polls(10)
		w.want(10, 1) // tried once, not at every look
		if err := w.watcher.Status().Err; err == nil || !strings.Contains(err.Error(), "decisions.ring") {
			t.Errorf("status has error %v, want the key", err)
		}
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		w.polls(3)
		w.want(10, 2)
		w.write(ringText("10"))
		w.polls(2)
		if s := w.watcher.Status(); s.Err != nil || s.Reloads != 1 || len(w.taken) != 0 {
			t.Errorf("back to the first content: %+v, taken %v; want no error and no reload", s, w.taken)
		}
		w.write(ringText("30"))
		w.polls(2)
		w.want(30, 2)
	})
}

// TestWatcherIgnoresHalfWrittenFiles grows a file between looks: every half is valid by itself.
func TestWatcherIgnoresHalfWrittenFiles(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		for _, part := range []string{head, head + "decisions: {ring: 4}\n", head + "decisions: {ring: 4}\nfreeze: {scaler: true}\n"} {
			w.write(part)
			w.polls(1)
			w.want(10, 0)
		}
		w.polls(1)
		w.want(4, 0)
		if !w.watcher.Current().Freeze.Scaler {
			t.Error("half of the file was taken")
		}
	})
}

// TestWatcherFollowsSwappedLinks changes the file the way a mounted ConfigMap does: the name is a link through a directory
// that is itself a link and is swapped.
func TestWatcherFollowsSwappedLinks(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, filepath.Join(dir, "tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("one", ringText("10"))
	path := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(filepath.Join("..data", "config.yaml"), path); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWatcher(path, poll, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go w.Run(ctx)
		version("two", ringText("20"))
		time.Sleep(3 * poll)
		synctest.Wait()
		if got := w.Current().Decisions.Ring; got != 20 {
			t.Errorf("ring %d, want 20", got)
		}
		cancel()
		synctest.Wait()
	})
}

// TestWatcherLooksAtCatalogues takes a change of a price file, and a change of which files there are.
func TestWatcherLooksAtCatalogues(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		prices := filepath.Join(filepath.Dir(w.path), "prices.csv")
		price := func(text string) {
			if err := os.WriteFile(prices, []byte("instance_type,hourly_cost\ng5.xlarge,"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cost := func() float64 { return w.watcher.Current().Expander.InstanceTypes["g5.xlarge"].HourlyCost }
		price("1")
		w.write(ringText("11") + "catalogue: {files: [prices.csv]}\nexpander: {}\n")
		w.polls(2)
		if got := cost(); got != 1 {
			t.Fatalf("cost %g, want 1", got)
		}
		w.polls(3)
		price("2")
		w.polls(2)
		if got := cost(); got != 2 {
			t.Errorf("cost %g, want 2", got)
		}
		price("-2")
		w.polls(2)
		if got := cost(); got != 2 || w.watcher.Status().Err == nil {
			t.Errorf("cost %g, status %+v; want 2 and an error", got, w.watcher.Status())
		}
	})
}

func TestWatcherReload(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		w.write(ringText("20"))
		if err := w.watcher.Reload(); err != nil {
			t.Fatal(err)
		}
		w.want(20, 0)
		w.write("kind: [")
		if err := w.watcher.Reload(); err == nil {
			t.Error("a broken file is no error")
		}
		w.want(20, 1)
		for range 3 {
			w.write(ringText("20") + "# the same in other words\n")
			if err := w.watcher.Reload(); err != nil {
				t.Error(err)
			}
		}
		if s := w.watcher.Status(); s.Reloads != 2 || len(w.taken) != 1 {
			t.Errorf("%+v, taken %v; the same configuration was taken again", s, w.taken)
		}
	})
}

func TestNewWatcherRefusesABrokenStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if _, err := NewWatcher(path, poll, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
}

// TestRefusedConfiguration does not show a configuration that could not be put into force as the one in use.
func TestRefusedConfiguration(t *testing.T) {
	watch(t, ringText("10"), func(w *watched) {
		before := w.watcher.Status().Hash
		w.write(ringText("666"))
		w.polls(3)
		w.want(10, 1)
		if s := w.watcher.Status(); s.Hash != before || !errors.Is(s.Err, errRefused) || s.Reloads != 1 {
			t.Errorf("status %+v, want the hash %s and why the file is not used", s, before)
		}
		if err := w.watcher.Reload(); !errors.Is(err, errRefused) {
			t.Errorf("reload by hand: %v", err)
		}
		w.write(ringText("20"))
		w.polls(3)
		w.want(20, 2)
		if s := w.watcher.Status(); s.Err != nil || s.Hash == before {
			t.Errorf("status %+v after a good configuration", s)
		}
	})
}
