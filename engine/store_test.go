package engine

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/scaler"
)

func openTestStore(t *testing.T, dir string, log *slog.Logger) *Store {
	t.Helper()
	s, err := OpenStore(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What a killed process was writing is removed at the next start, whatever the directory is called, and nothing else is.
func TestStoreSweeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*?")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	keep := []string{"expander-history.json", "operations.json", "expander-history.json.damaged", "decisions.jsonl", "notes.json.1.tmp"}
	for _, name := range append([]string{"expander-history.json.123.tmp", "operations.json.4.tmp"}, keep...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openTestStore(t, dir, nil)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := append([]string{storeFile}, keep...)
	slices.Sort(want)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("files (-want +left):\n%s", diff)
	}
}

func TestStoreKeepsStates(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_800_000_000, 0).UTC()
	s := openTestStore(t, dir, nil)
	state := scaler.State{N: 7, Valid: true, Since: now, Computed: []scaler.Target{{At: now, N: 7}}}
	old := scaler.State{N: 1, Valid: true}
	if err := s.save(map[string]saved{"ml/old": {state: &old}}, now.Add(-15*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.save(map[string]saved{"ml/chat": {state: &state, forecast: []byte("learnt")}}, now); err != nil {
		t.Fatal(err)
	}
	if err := s.prune(now); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTestStore(t, dir, nil)
	got, ok := s.state("ml/chat")
	if !ok {
		t.Fatal("the state is gone")
	}
	if diff := cmp.Diff(state, got); diff != "" {
		t.Errorf("state (-saved +read):\n%s", diff)
	}
	if _, ok := s.state("ml/old"); ok {
		t.Error("a record that was last saved 15 days ago is still there")
	}
	var learnt string
	if !s.get("ml/chat", forecastKey, func(v []byte, _ time.Time) error { learnt = string(v); return nil }) || learnt != "learnt" {
		t.Errorf("forecast = %q", learnt)
	}
}

// TestStoreDamaged puts a file that is no store, or half of one, aside and goes on with an empty one.
func TestStoreDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"text":    func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"overwritten": func(b []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(b); i++ {
				b[i] = 0xa5
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, storeFile)
			s := openTestStore(t, dir, nil)
			state := scaler.State{N: 7, Valid: true}
			for i := range 50 {
				if err := s.save(map[string]saved{strings.Repeat("x", i+1): {state: &state, forecast: make([]byte, 5000)}}, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(content)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			s = openTestStore(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
			if _, ok := s.state("x"); ok {
				t.Error("a state was read from a damaged file")
			}
			if err := s.save(map[string]saved{"ml/chat": {state: &state}}, time.Now()); err != nil {
				t.Errorf("the new store does not take anything: %v", err)
			}
			if kept, err := os.ReadFile(path + ".damaged"); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file was not kept as it was: %v", err)
			}
			if !strings.Contains(log.String(), "damaged") {
				t.Errorf("nothing was said: %q", log.String())
			}
		})
	}
}

func TestStoreInUse(t *testing.T) {
	dir := t.TempDir()
	openTestStore(t, dir, nil)
	if _, err := OpenStore(dir, nil); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("a second process: %v, want the remedy", err)
	}
	if _, err := OpenStore(filepath.Join(dir, "missing"), nil); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("no such directory: %v, want the remedy", err)
	}
}

// TestSealedValues notices any change of a stored value.
func TestSealedValues(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	sealed := seal([]byte("value"), at)
	if v, when, err := unseal(sealed); err != nil || string(v) != "value" || !when.Equal(at) {
		t.Errorf("unsealed %q of %v, %v", v, when, err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, _, err := unseal(changed); err == nil {
			t.Errorf("a change of byte %d was not noticed", i)
		}
	}
	if _, _, err := unseal(sealed[:5]); err == nil {
		t.Error("a cut-off value was read")
	}
}

// TestStateSurvives stops an engine and starts another on the same store without any history in the metric store: the
// target is the same, although the demand has fallen meanwhile.
func TestStateSurvives(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setDemand("ml", "chat", 9)
		c := testConfig(t, serviceYAML("ml", "chat", ""))
		var id string
		for _, demand := range []float64{9, 3} {
			source.setDemand("ml", "chat", demand)
			store := openTestStore(t, dir, nil)
			e := newTestEngine(t, Options{Config: c, Source: source, Store: store})
			id = mustResolve(t, e, triggerOf("ml", "object", "chat"))
			stop := runEngine(t, e)
			synctest.Wait()
			wantTarget(t, e, id, 9)
			stop()
			store.Close()
		}
	})
}
