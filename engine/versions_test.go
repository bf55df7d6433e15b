package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

var release = flag.Bool("release", false, "record what is stored as released: what later versions must be able to read")

// releasedState holds a data directory of each released format of the store.
const releasedState = "testdata/released/1"

// storedID and storedForecast are what is in it.
const (
	storedID       = "ml/chat/0123456789ab/chat"
	storedForecast = "forecast/ml/chat"
)

func storedAt() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }

func storedSettings() predictor.Settings {
	return predictor.Settings{Name: "chat", PerReplica: 2, Lead: 5 * time.Minute, Calendar: predictor.Calendar{Location: time.UTC}}
}

// TestReleasedState reads what a released version has stored: this one goes on from it, or migrates it.
func TestReleasedState(t *testing.T) {
	if *release {
		writeReleased(t)
	}
	dir := t.TempDir()
	for _, name := range []string{storeFile, historyFile, operationsFile} {
		if err := os.WriteFile(filepath.Join(dir, name), unzipped(t, filepath.Join(releasedState, name+".gz")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store := openTestStore(t, dir, log)
	state, ok := store.state(storedID)
	if !ok {
		t.Errorf("the state of a service cannot be read")
	}
	contains(t, "state.json", state)
	made, err := predictor.New(storedSettings())
	if err != nil {
		t.Fatal(err)
	}
	if !store.get(storedForecast, forecastKey, func(value []byte, _ time.Time) error { return made.UnmarshalBinary(value) }) {
		t.Errorf("the forecast cannot be read")
	}
	if newest, ok := made.Newest(); !ok || !newest.Equal(storedAt()) || len(made.Samples()) < 14*288 {
		t.Errorf("the forecast has %d samples up to %v, %v", len(made.Samples()), newest, ok)
	}
	history, err := NewFileHistory(dir).Load(t.Context())
	if err != nil {
		t.Error(err)
	}
	contains(t, "history.json", history)
	operations, err := NewOperationsFile(dir).load(log)
	if err != nil {
		t.Error(err)
	}
	contains(t, "operations.json", operations)
	if said.Len() > 0 {
		t.Errorf("it said %s", said.String())
	}
}

// contains wants everything that a golden file has in a value; there may be more.
func contains(t *testing.T, name string, value any) {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(releasedState, name)
	if *release {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(golden, &want), json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	if missing := lacks(got, want, name); missing != "" {
		t.Error(missing)
	}
}

func lacks(got, want any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for key, value := range w {
			if missing := lacks(g[key], value, path+"."+key); missing != "" {
				return missing
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf("%s has %d elements, want %d", path, len(g), len(w))
		}
		for i, value := range w {
			if missing := lacks(g[i], value, fmt.Sprintf("%s[%d]", path, i)); missing != "" {
				return missing
			}
		}
	default:
		if got != want {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
	}
	return ""
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// writeReleased makes the directory with this version.
func writeReleased(t *testing.T) {
	t.Helper()
	at := storedAt()
	state := scaler.State{
		Last:     map[scaler.Signal][]scaler.Sample{scaler.Waiting: {{At: at, Value: 3}}, scaler.Running: {{At: at, Value: 40}}},
		Computed: []scaler.Target{{At: at.Add(-time.Minute), N: 9}, {At: at, N: 7}},
		N:        9, Need: 7, Valid: true, LastStep: at.Add(-5 * time.Minute), LastDemand: at, Since: at.Add(-24 * time.Hour), FirstStuck: at.Add(-time.Hour),
		UtilizationUps: []scaler.Target{{At: at, N: 5}}, QuietSince: at, Busy: []scaler.Sample{{At: at, Value: 4.5}}, LastBusy: 4.5,
		Ready: 8, BecameReady: at.Add(-2 * time.Minute), Ordered: 2, Released: 1,
	}
	service, err := predictor.New(storedSettings())
	if err != nil {
		t.Fatal(err)
	}
	for i := 21 * 288; i >= 0; i-- {
		start := at.Add(-time.Duration(i) * 5 * time.Minute)
		service.Observe(start, math.Round(20+15*math.Sin(2*math.Pi*float64(start.Unix()%86400)/86400)), true)
	}
	forecast, err := service.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store, err := OpenStore(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.save(map[string]saved{storedID: {state: &state}, storedForecast: {forecast: forecast}}, at); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	history := expander.History{
		Version: expander.HistoryVersion, LostAt: at.Add(-time.Hour),
		Pods:      map[string]expander.PodHistory{"pod-1": {FirstSeen: at.Add(-time.Minute), LastSeen: at, Choices: []uint64{7}, Lost: true}},
		Choices:   []expander.Choice{{ID: 7, At: at, Group: "spot-a", Workload: "online", Stages: map[string]int{"online": 1}, Nodes: 2, Pods: 1, Registered: 3, OnDemand: true, Failed: true}},
		Groups:    map[string]expander.GroupHistory{"spot-a": {Failures: []expander.FailureRecord{{At: at, Class: expander.FailureQuota, Proven: true, QuotaGroup: "a100"}}, DeliveredAt: at}},
		Workloads: map[string]expander.WorkloadHistory{"online": {Unserved: 2, At: at, Stage: 2, Failed: 1, StageAt: at}},
	}
	if _, err := NewFileHistory(dir).Save(t.Context(), history); err != nil {
		t.Fatal(err)
	}
	operations := Operations{
		Overrides: []Override{{ID: "1", Service: "ml/chat", Min: new(4), Max: new(9), From: at, To: at.Add(time.Hour), Reason: "launch", Who: "ops"}},
		Freezes:   []Freeze{{Half: HalfScaler, On: true, Reason: "incident", Who: "ops", At: at}},
	}
	if err := NewOperationsFile(dir).save(operations); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(releasedState, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{storeFile, historyFile, operationsFile} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(releasedState, name+".gz"), packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewerState is a roll-back: a program finds what a later one has stored. It starts, says so, and leaves the files as
// they are, so that the later one can have them back; also when that happens twice.
func TestNewerState(t *testing.T) {
	dir := t.TempDir()
	for _, suffix := range []string{".newer", ".newer.1"} {
		store := openTestStore(t, dir, nil)
		err := store.db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(metaBucket)).Put([]byte(formatKey), []byte("2"))
		})
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{historyFile: "warmpool-history 2 00000000\nsomething else", operationsFile: `{"version": 2, "other": "` + suffix + `"}`}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(filepath.Join(dir, storeFile))
		if err != nil {
			t.Fatal(err)
		}
		files[storeFile] = string(before)
		var said strings.Builder
		log := slog.New(slog.NewTextHandler(&said, nil))
		again := openTestStore(t, dir, log)
		if err := again.save(map[string]saved{"s": {state: &scaler.State{N: 1}}}, storedAt()); err != nil {
			t.Errorf("the new store cannot be used: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := NewFileHistory(dir).Load(t.Context()); !IsCorrupt(err) || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("the history: %v", err)
		}
		if _, err := NewOperationsFile(dir).load(log); err != nil || strings.Count(said.String(), "newer version") != 2 {
			t.Errorf("%v, it said %s", err, said.String())
		}
		for name, want := range files {
			if kept, err := os.ReadFile(filepath.Join(dir, name+suffix)); err != nil || string(kept) != want {
				t.Errorf("%s%s is not the file that was there: %v", name, suffix, err)
			}
		}
	}
}

// TestMigrate goes from an older format to the present one step by step, in one transaction, or not at all.
func TestMigrate(t *testing.T) {
	store := openTestStore(t, t.TempDir(), nil)
	set := func(format string) {
		err := store.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(metaBucket)).Put([]byte(formatKey), []byte(format)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(steps map[int]func(*bbolt.Tx) error, to int) error {
		return store.db.Update(func(tx *bbolt.Tx) error { _, err := migrate(tx, steps, to); return err })
	}
	format := func() (text string) {
		_ = store.db.View(func(tx *bbolt.Tx) error {
			text = string(tx.Bucket([]byte(metaBucket)).Get([]byte(formatKey)))
			return nil
		})
		return text
	}
	if format() != fmt.Sprint(storeFormat) {
		t.Errorf("a new store has the format %q", format())
	}
	var done []int
	step := func(n int) func(*bbolt.Tx) error {
		return func(*bbolt.Tx) error { done = append(done, n); return nil }
	}
	set("1")
	if err := run(map[int]func(*bbolt.Tx) error{1: step(1), 2: step(2), 3: step(3)}, 4); err != nil || fmt.Sprint(done) != "[1 2 3]" || format() != "4" {
		t.Errorf("%v: steps %v, format %s", err, done, format())
	}
	if err := run(nil, 4); err != nil {
		t.Errorf("the same format: %v", err)
	}
	failing := errors.New("full")
	if err := run(map[int]func(*bbolt.Tx) error{4: step(4), 5: func(*bbolt.Tx) error { return failing }}, 6); !errors.Is(err, failing) || format() != "4" {
		t.Errorf("a failing step: %v, format %s", err, format())
	}
	if err := run(nil, 3); !errors.Is(err, errNewer) || format() != "4" {
		t.Errorf("a newer one: %v, format %s", err, format())
	}
	if err := run(nil, 5); !errors.Is(err, errCorrupt) {
		t.Errorf("one that is too old to migrate: %v", err)
	}
	set("x")
	if err := run(nil, 5); !errors.Is(err, errCorrupt) {
		t.Errorf("no number: %v", err)
	}
}
