package decisions

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var release = flag.Bool("release", false, "record the log file as released: what later versions must be able to read")

// TestReleasedFile reads the log file of a released version: every record of every kind, with everything in it.
func TestReleasedFile(t *testing.T) {
	path := filepath.Join("testdata", "released", "decisions.jsonl")
	if *release {
		writeReleased(t, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	read := 0
	err = ReadFiles(path, func(r Record) {
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(lines[read]), &want), json.Unmarshal(again, &got)); err != nil {
			t.Fatal(err)
		}
		if !holds(got, want) {
			t.Errorf("record %d lost something: it was\n%s\nand is\n%s", read, lines[read], again)
		}
		read++
	})
	if err != nil || read != len(lines) || read != 3 {
		t.Errorf("%d of %d records were read: %v", read, len(lines), err)
	}
}

// holds tells whether everything of one value is in another one.
func holds(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			ok = ok && holds(g[key], value)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := 0; ok && i < len(w); i++ {
			ok = holds(g[i], w[i])
		}
		return ok
	}
	return got == want
}

func writeReleased(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	log, err := Open(Options{Ring: 10, File: path})
	if err != nil {
		t.Fatal(err)
	}
	log.AddExpander(fullChoice())
	log.AddScaler(fullTarget())
	log.AddOperation(Operation{Time: start, Action: "override-set", Subject: "ml/chat", Who: "ops", Reason: "launch", ID: "1", Detail: "min 4"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownKinds skips what a later version may have written, and reads on.
func TestUnknownKinds(t *testing.T) {
	known, err := json.Marshal(OfScaler(fullTarget()))
	if err != nil {
		t.Fatal(err)
	}
	file := `{"id":"1","kind":"prophecy","prophecy":{"x":1}}` + "\n" + string(known) + "\n" + `{"id":"3"` + "\n" + string(known) + "\n"
	n := 0
	if err := Read(strings.NewReader(file), func(Record) { n++ }); err != nil || n != 2 {
		t.Errorf("%d records, %v; want 2", n, err)
	}
}
