package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// FuzzOperationsFile reads any file of overrides and freezes: either it is put aside, or what is in force is in order, can
// be stored and read again, and never makes a target negative.
func FuzzOperationsFile(f *testing.F) {
	f.Add(`{"version":1,"overrides":[{"id":"a","service":"ml/chat","min":2,"max":1,"from":"2026-08-03T00:00:00Z","to":"2126-08-03T00:00:00Z"}],"freezes":[{"half":"scaler","on":true}]}`)
	f.Add(`{"version":1,"overrides":[{"id":"b","min":-5},{"id":"a"},{"id":"b","max":-1}],"freezes":[{"half":"x"},{"half":"expander","on":true,"at":"2026-08-03T00:00:00Z"}]}`)
	f.Add(`{"version":2}`)
	f.Add(`{"version":1,"overrides":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		file := NewOperationsFile(dir)
		if err := os.WriteFile(filepath.Join(dir, "operations.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := file.load(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(got.Overrides, func(a, b Override) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("ids are not in order: %+v", got.Overrides)
		}
		if err := file.save(got); err != nil {
			t.Skip(err) // a time that JSON cannot hold
		}
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: newFakeSource(), Operations: file})
		now := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
		e.Tick(t.Context(), now)
		if d, err := e.Target("ml/chat"); err == nil && d.Replicas < 0 {
			t.Errorf("target %d", d.Replicas)
		}
		e.Operations()
	})
}

// FuzzStoredState gives a stored state back as any bytes with a right checksum: it is used whole or not at all.
func FuzzStoredState(f *testing.F) {
	f.Add([]byte(`{"N":3,"Valid":true}`))
	f.Add([]byte(`{"Computed":[{"At":"2026-08-03T00:00:00Z","N":-7}],"Valid":true}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		at := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
		sealed := seal(text, at)
		got, when, err := unseal(sealed)
		if err != nil || string(got) != string(text) || !when.Equal(at) {
			t.Errorf("%q at %v, %v", got, when, err)
		}
		_, _, _ = unseal(text) // anything at all
		if len(sealed) > sealSize {
			sealed[len(sealed)-1] ^= 1
			if _, _, err := unseal(sealed); err == nil {
				t.Error("a damaged value was taken")
			}
		}
	})
}

// FuzzReceive takes what another instance sends, any bytes for decision and state: the follower answers from it, becomes
// the leader and goes on, and no target is negative.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(`{"Service":"ml/chat","Replicas":3,"Active":true}`), []byte(`{"N":3,"Valid":true}`), int64(time.Minute))
	f.Add([]byte(`{"Replicas":-3}`), []byte(`{"N":-3,"Valid":true,"Computed":[{"N":-9}]}`), int64(time.Minute))
	f.Add([]byte(`{}`), []byte(`{`), int64(1<<62))
	f.Fuzz(func(t *testing.T, decision, state []byte, keep int64) {
		var d scaler.Decision
		if json.Unmarshal(decision, &d) != nil {
			return // refused by the package that receives it
		}
		now := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
		if d.Time.IsZero() {
			d.Time = now
		}
		e := newTestEngine(t, Options{
			Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: newFakeSource(), Clock: func() time.Time { return now },
		})
		e.Follow("leader")
		u := Update{Leader: "leader", Term: 1, Sent: now, Tick: now, Entries: []Published{
			{ID: "ml/chat", Decision: d, Keep: time.Duration(keep), State: state},
			{ID: "ml/object/0/chat", Trigger: &Trigger{Namespace: "ml", ScaledObject: "object", Metadata: map[string]string{"service": "chat"}}, Decision: d, State: state},
		}}
		if err := e.Receive(u); err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			for _, id := range []string{"ml/chat", "ml/object/0/chat"} {
				if d, err := e.Target(id); err == nil && d.Replicas < 0 {
					t.Errorf("%s: target %d of %s", when, d.Replicas, id)
				}
			}
		}
		check("following")
		e.Lead(2)
		for range 3 {
			now = now.Add(15 * time.Second)
			e.Tick(context.Background(), now)
			check("leading")
		}
	})
}
