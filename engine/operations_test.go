package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/decisions"
)

// TestOverrideAtRunTime sets an override, looks that it shows in the decision and in the record, restarts, and lets it
// end by itself.
func TestOverrideAtRunTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		source := newFakeSource()
		source.setDemand("ml", "chat", 3)
		log, err := decisions.Open(decisions.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		open := func() (*Engine, string) {
			e := newTestEngine(t, Options{
				Config: testConfig(t, serviceYAML("ml", "chat", ""), serviceYAML("ml2", "chat", "")), Source: source, Decisions: log,
				Operations: NewOperationsFile(dir),
			})
			return e, mustResolve(t, e, triggerOf("ml", "object", "chat"))
		}
		e, id := open()
		set, err := e.SetOverride(Override{Service: "ml/chat", Min: new(9), To: start.Add(time.Hour), Reason: "launch", Who: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		e.Tick(t.Context(), start)
		d := wantTarget(t, e, id, 9)
		if d.Override == nil || d.Override.Reason != "launch" || d.Min != 9 || !strings.Contains(d.Text, "override 9 to 50") {
			t.Errorf("the decision does not show the override: %+v, min %d, %q", d.Override, d.Min, d.Text)
		}
		if !e.Persistent() {
			t.Error("with a file, an order is kept over a restart")
		}

		e, id = open()
		e.Tick(t.Context(), start.Add(15*time.Second))
		wantTarget(t, e, id, 9)
		if diff := cmp.Diff([]Override{set}, e.Operations().Overrides); diff != "" {
			t.Errorf("after a restart: %s", diff)
		}
		sleepUntil(t.Context(), start.Add(time.Hour))
		e.Tick(t.Context(), start.Add(time.Hour))
		if d := wantTarget(t, e, id, 3); d.Override != nil || d.Min != 0 {
			t.Errorf("at its end: override %+v, min %d; want none and 0", d.Override, d.Min)
		}
		if got := e.Operations().Overrides; len(got) != 0 {
			t.Errorf("an override that is over is still listed: %v", got)
		}
		records := log.List(decisions.Filter{Kind: decisions.KindOperation})
		if len(records) != 1 || records[0].Operation.Who != "alice" || records[0].Operation.Action != "override-set" ||
			!strings.Contains(records[0].Summary, "min 9, max as it is") {
			t.Errorf("records: %+v", records)
		}
	})
}

// TestFileWins joins the override of the file with one that was ordered: each limit is the file's if it gives one.
func TestFileWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, test := range []struct {
			file             string // of the override in the file; empty without one
			least, most      *int
			wantMin, wantMax int
		}{
			{"", new(5), nil, 5, 50},
			{"", nil, new(7), 0, 7},
			{"min: 10", new(5), nil, 10, 50},
			{"min: 10", nil, new(20), 10, 20},
			{"min: 10", new(5), new(20), 10, 20},
			{"min: 10, max: 12", new(1), new(40), 10, 12},
			{"min: 10", nil, new(4), 10, 50}, // contradicts the file
		} {
			text := "apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices:" + serviceYAML("ml", "chat", "")
			if test.file != "" {
				text += fmt.Sprintf("\noverrides: [{service: chat, %s, from: %s, to: %s, reason: file}]\n", test.file,
					start.Add(-time.Hour).UTC().Format(time.RFC3339), start.Add(time.Hour).UTC().Format(time.RFC3339))
			}
			source := newFakeSource()
			source.setDemand("ml", "chat", 3)
			e := newTestEngine(t, Options{Config: parseConfig(t, text), Source: source})
			id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
			if _, err := e.SetOverride(Override{Service: "chat", Min: test.least, Max: test.most, To: start.Add(time.Minute), Reason: "r", Who: "w"}); err != nil {
				t.Fatal(err)
			}
			e.Tick(t.Context(), start)
			d, err := e.Target(id)
			if err != nil || d.Min != test.wantMin || d.Max != test.wantMax {
				t.Errorf("file %q with %v: limits %d to %d, %v; want %d to %d", test.file, test, d.Min, d.Max, err, test.wantMin, test.wantMax)
			}
		}
	})
}

func TestTheLastOrderCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		source := newFakeSource()
		source.setDemand("ml", "chat", 3)
		e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source})
		id := mustResolve(t, e, triggerOf("ml", "object", "chat"))
		order := func(service string, least int) Override {
			t.Helper()
			o, err := e.SetOverride(Override{Service: service, Min: new(least), To: start.Add(time.Hour), Reason: "r", Who: "w"})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		order("ml/chat", 8)
		second := order("chat", 6) // in the same nanosecond of the test's clock
		order("ml2/chat", 20)      // another namespace
		order("ml/cha", 30)        // another service
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 6)
		if _, err := e.ClearOverride(second.ID, "w", ""); err != nil {
			t.Fatal(err)
		}
		e.Tick(t.Context(), start.Add(15*time.Second))
		wantTarget(t, e, id, 8)
		if _, err := e.ClearOverride(second.ID, "w", ""); !errors.Is(err, ErrUnknownOverride) {
			t.Errorf("clearing it again: %v", err)
		}
	})
}

func TestFreezeAtRunTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		source := newFakeSource()
		source.setDemand("ml", "chat", 3)
		open := func() (*Engine, string) {
			e := newTestEngine(t, Options{Config: testConfig(t, serviceYAML("ml", "chat", "")), Source: source, Operations: NewOperationsFile(dir)})
			return e, mustResolve(t, e, triggerOf("ml", "object", "chat"))
		}
		e, id := open()
		e.Tick(t.Context(), start)
		wantTarget(t, e, id, 3)
		if _, err := e.SetFreeze(Freeze{Half: HalfScaler, On: true, Reason: "incident 7", Who: "w"}); err != nil {
			t.Fatal(err)
		}
		source.setDemand("ml", "chat", 30)
		e.Tick(t.Context(), start.Add(15*time.Second))
		if d := wantTarget(t, e, id, 3); d.Frozen != "incident 7" {
			t.Errorf("frozen %q, want the reason", d.Frozen)
		}
		if s := e.Status(); !s.FrozenScaler || s.FrozenReason != "incident 7" {
			t.Errorf("the status does not show it: %+v", s)
		}
		e, _ = open()
		if on, reason := e.frozen(HalfScaler); !on || reason != "incident 7" {
			t.Errorf("after a restart: %v, %q", on, reason)
		}
		if on, _ := e.frozen(HalfExpander); on {
			t.Error("the other half is frozen as well")
		}
		if _, err := e.SetFreeze(Freeze{Half: HalfScaler, Reason: "over", Who: "w"}); err != nil {
			t.Fatal(err)
		}
		if on, _ := e.frozen(HalfScaler); on {
			t.Error("the freeze has no end")
		}
	})
}

func TestOperationsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, Options{Config: testConfig(t)})
		in := time.Now().Add(time.Hour)
		for want, o := range map[string]Override{
			"NAMESPACE/NAME":      {Service: "a/b/c", Min: new(1), To: in, Reason: "r"},
			"service must be":     {Min: new(1), To: in, Reason: "r"},
			"changes nothing":     {Service: "s", To: in, Reason: "r"},
			"min is -1":           {Service: "s", Min: new(-1), To: in, Reason: "r"},
			"max is 100001":       {Service: "s", Max: new(100_001), To: in, Reason: "r"},
			"above max":           {Service: "s", Min: new(3), Max: new(2), To: in, Reason: "r"},
			"to is required":      {Service: "s", Min: new(3), Reason: "r"},
			"to is over":          {Service: "s", Min: new(3), To: time.Now(), Reason: "r"},
			"after from":          {Service: "s", Min: new(3), From: in, To: in, Reason: "r"},
			"ahead":               {Service: "s", Min: new(3), To: time.Now().Add(32 * 24 * time.Hour), Reason: "r"},
			"reason is required":  {Service: "s", Min: new(3), To: in, Reason: " "},
			"reason is longer":    {Service: "s", Min: new(3), To: in, Reason: strings.Repeat("x", 501)},
			"service is longer":   {Service: strings.Repeat("x", 400), Min: new(3), To: in, Reason: "r"},
			"changes nothing: gi": {Service: "", To: time.Time{}, Reason: ""}, // with every other mistake
		} {
			if _, err := e.SetOverride(o); !errors.Is(err, ErrInvalidOperation) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", o, err, want)
			}
		}
		if _, err := e.SetFreeze(Freeze{Half: "all", On: true, Reason: "r"}); !errors.Is(err, ErrInvalidOperation) {
			t.Errorf("half all: %v", err)
		}
		if _, err := e.SetFreeze(Freeze{Half: HalfScaler, On: true}); !errors.Is(err, ErrInvalidOperation) {
			t.Errorf("without a reason: %v", err)
		}
		for n := range mostOverrides + 1 {
			_, err := e.SetOverride(Override{Service: "s", Min: new(1), To: in, Reason: "r"})
			if (err == nil) != (n < mostOverrides) {
				t.Fatalf("override %d: %v", n, err)
			}
		}
	})
}

// TestOperationsFile keeps nothing that it cannot store, and starts with a damaged file, loudly.
func TestOperationsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := newTestEngine(t, Options{Config: testConfig(t), Operations: NewOperationsFile(dir)})
	in := time.Now().Add(time.Hour)
	if _, err := e.SetOverride(Override{Service: "s", Min: new(1), To: in, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SetFreeze(Freeze{Half: HalfScaler, On: true, Reason: "r"}); err == nil {
		t.Error("an order that cannot be stored was taken")
	}
	if on, _ := e.frozen(HalfScaler); on {
		t.Error("an order that was refused is in force")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"{", `{"version": 9}`, "[]"} {
		path := filepath.Join(dir, "operations.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		e := newTestEngine(t, Options{Config: testConfig(t), Operations: NewOperationsFile(dir), Log: slog.New(slog.NewTextHandler(&said, nil))})
		if got := e.Operations(); len(got.Overrides)+len(got.Freezes) > 0 || !strings.Contains(said.String(), "set them again") {
			t.Errorf("%q: %+v, said %q", content, got, said.String())
		}
		aside := path + ".damaged"
		if strings.Contains(content, "9") {
			aside = path + ".newer"
		}
		if kept, err := os.ReadFile(aside); err != nil || string(kept) != content {
			t.Errorf("%q was not put aside: %q, %v", content, kept, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "operations.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Config: testConfig(t), Operations: NewOperationsFile(dir)}); err == nil {
		t.Error("a file that cannot be read was taken for an empty one")
	}
}

// TestMergeOperations joins what three instances know in any order and any number of times: they end with the same.
func TestMergeOperations(t *testing.T) {
	base := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		// A version of an order is told apart by its time of change.
		versions := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Operations {
			id, at := rapid.IntRange(1, 4).Draw(rt, "id"), rapid.IntRange(0, 9).Draw(rt, "at")
			o := Override{
				ID: fmt.Sprintf("%016x", id), Service: "s", Min: new(id), To: base.Add(time.Hour), At: base.Add(time.Duration(at)),
				Cleared: at%2 == 1, Reason: fmt.Sprint(at),
			}
			return Operations{
				Overrides: []Override{o},
				Freezes:   []Freeze{{Half: []string{HalfExpander, HalfScaler}[id%2], On: at%2 == 0, At: base.Add(time.Duration(at))}},
			}
		}), 1, 20).Draw(rt, "versions")
		join := func(order []int) Operations {
			var all Operations
			for _, i := range order {
				all.merge(versions[i])
			}
			return all
		}
		order := make([]int, len(versions))
		for i := range order {
			order[i] = i
		}
		want := join(order)
		shuffled := rapid.Permutation(order).Draw(rt, "order")
		if diff := cmp.Diff(want, join(append(shuffled, order...))); diff != "" {
			rt.Errorf("the order of meeting matters: %s", diff)
		}
		newest := map[string]time.Time{}
		for _, v := range versions {
			if at := v.Overrides[0].At; !at.Before(newest[v.Overrides[0].ID]) {
				newest[v.Overrides[0].ID] = at
			}
		}
		for _, o := range want.Overrides {
			if !o.At.Equal(newest[o.ID]) {
				rt.Errorf("%s is of %v, and %v is known", o.ID, o.At, newest[o.ID])
			}
		}
	})
}
