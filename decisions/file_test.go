package decisions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readBack(t *testing.T, path string) []Record {
	t.Helper()
	var out []Record
	if err := ReadFiles(path, func(r Record) { out = append(out, r) }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileKeepsDecisionsOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	first := openLog(t, Options{File: path})
	a := first.AddScaler(target(start, "ml/a", 3))
	b := first.AddExpander(choice(start.Add(time.Second), "gpu-l4"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := openLog(t, Options{File: path})
	if diff := cmp.Diff([]Record{b, a}, second.List(Filter{})); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
	// The clock of the new process is behind: its ids go on from the file's.
	c := second.AddScaler(target(start.Add(-time.Hour), "ml/a", 4))
	if c.ID <= b.ID {
		t.Errorf("id %s after %s", c.ID, b.ID)
	}
}

// TestFileAfterKill has what kill -9 in the middle of a write leaves behind: a line without its end.
func TestFileAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	l := openLog(t, Options{File: path})
	l.AddScaler(target(start, "ml/a", 1))
	l.AddScaler(target(start, "ml/a", 2))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-25], 0o600); err != nil {
		t.Fatal(err)
	}

	l = openLog(t, Options{File: path})
	l.AddScaler(target(start, "ml/a", 3))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, r := range readBack(t, path) {
		got = append(got, r.Scaler.Replicas)
	}
	if !slices.Equal(got, []int{1, 3}) {
		t.Errorf("read back %v, want [1 3]: only the torn line is lost", got)
	}
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	l := openLog(t, Options{File: path, MaxBytes: 2000, Keep: 2})
	for i := range 30 {
		l.AddScaler(target(start.Add(time.Duration(i)*time.Second), "ml/a", i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 3 {
		t.Errorf("files: %v, want the current one and two rotated ones", names)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Size() > 2000 {
			t.Errorf("%s: %v bytes, %v", name, info.Size(), err)
		}
	}
	records := readBack(t, path)
	if !slices.IsSortedFunc(records, func(a, b Record) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("records are not in order over the rotated files")
	}
	if last := records[len(records)-1].Scaler.Replicas; last != 29 {
		t.Errorf("newest record is %d, want 29", last)
	}
}

// TestFileComesBack breaks the file and repairs it: records in between are counted, the log goes on.
func TestFileComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "decisions.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(Options{File: path, MaxBytes: 1}) // rotates at every record, so the directory is needed each time
		if err != nil {
			t.Fatal(err)
		}
		l.AddScaler(target(start, "ml/a", 1))
		synctest.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		l.AddScaler(target(start, "ml/a", 2))
		l.AddScaler(target(start, "ml/a", 3))
		synctest.Wait()
		if s := l.Stats(); s.FileLost != 2 || s.FileErrors != 1 {
			t.Errorf("while broken: %+v, want two lost and one failure", s)
		}
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * reopenAfter)
		l.AddScaler(target(start, "ml/a", 4))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := readBack(t, path); len(got) != 1 || got[0].Scaler.Replicas != 4 {
			t.Errorf("after the repair: %+v", got)
		}
		if got := l.List(Filter{}); len(got) != 4 {
			t.Errorf("in memory: %d records, want 4", len(got))
		}
	})
}

// TestBlockedFileNeverBlocks fills the queue of a file whose writer does not run.
func TestBlockedFileNeverBlocks(t *testing.T) {
	l := openLog(t, Options{})
	l.file = &file{queue: make(chan Record, fileQueue)}
	for i := range fileQueue + 5 {
		l.AddScaler(target(start, "ml/a", i))
	}
	if s := l.Stats(); s.FileLost != 5 {
		t.Errorf("lost %d, want 5", s.FileLost)
	}
	l.file = nil
}

func TestOpenNamesTheRemedy(t *testing.T) {
	_, err := Open(Options{File: filepath.Join(t.TempDir(), "missing", "decisions.jsonl")})
	if err == nil || !strings.Contains(err.Error(), "decisions.file") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(Options{Ring: -1}); err == nil {
		t.Error("a negative ring was accepted")
	}
}
