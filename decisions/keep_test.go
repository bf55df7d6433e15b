package decisions

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func choose(l *Log, at time.Time) {
	d := fullChoice()
	d.Time = at
	l.AddExpander(d)
}

// TestComparisonOutlivesARestart: what a week of observing added up is there after any number of restarts, and nothing is
// counted twice where the log's own file holds the same decisions.
func TestComparisonOutlivesARestart(t *testing.T) {
	for _, withFile := range []bool{false, true} {
		dir := t.TempDir()
		o := Options{ComparisonFile: filepath.Join(dir, "comparison.json")}
		if withFile {
			o.File = filepath.Join(dir, "decisions.jsonl")
		}
		for day := range 7 {
			l := openLog(t, o)
			choose(l, start.AddDate(0, 0, day))
			choose(l, start.AddDate(0, 0, day).Add(time.Hour))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l := openLog(t, o)
		days := l.Comparison().Days()
		if sum := l.Comparison().Sum(); len(days) != 7 || sum.Requests != 14 || sum.Compared != 14 || days[0].Date != start.Format(time.DateOnly) {
			t.Errorf("with a file of decisions %v: %d days, sum %+v", withFile, len(days), sum)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestComparisonAfterKill: a process that is killed loses what came in the last minute at most, and gets that back from
// the decisions where they are in a file.
func TestComparisonAfterKill(t *testing.T) {
	dir := t.TempDir()
	o := Options{ComparisonFile: filepath.Join(dir, "comparison.json"), File: filepath.Join(dir, "decisions.jsonl")}
	l := openLog(t, o)
	choose(l, start)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(o.ComparisonFile)
	if err != nil {
		t.Fatal(err)
	}
	l = openLog(t, o)
	choose(l, start.Add(time.Hour))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.ComparisonFile, stored, 0o600); err != nil { // as if it had been killed before the second save
		t.Fatal(err)
	}
	l = openLog(t, o)
	defer l.Close()
	if sum := l.Comparison().Sum(); sum.Requests != 2 {
		t.Errorf("sum %+v, want both requests once", sum)
	}
}

// TestComparisonIsStoredOnTheWay, once a minute and only when it changed.
func TestComparisonIsStoredOnTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "comparison.json")
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, Options{ComparisonFile: path})
		defer l.Close()
		choose(l, time.Now())
		if _, err := os.Stat(path); err == nil {
			t.Error("stored at once")
		}
		time.Sleep(keepEvery + time.Second)
		synctest.Wait()
		first, err := readKept(path)
		if err != nil || len(first.Days) != 1 || first.Days[0].Requests != 1 {
			t.Fatalf("after a minute: %+v, %v", first, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * keepEvery)
		synctest.Wait()
		if _, err := os.Stat(path); err == nil {
			t.Error("stored although nothing changed")
		}
	})
}

// TestComparisonOfAnother: who recorded nothing stores nothing, or it would put back what it read at its start.
func TestComparisonOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "comparison.json")
	l := openLog(t, Options{ComparisonFile: path})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty comparison was stored")
	}
}

// TestUnreadableComparison is put aside and said, and does not keep the program from deciding.
func TestUnreadableComparison(t *testing.T) {
	for name, text := range map[string]string{
		"torn.unreadable": `{"version":1,"days":[{"date":"2026-0`, "of a later version.newer": `{"version":2}`,
		"no day.unreadable": `{"version":1,"days":[{"date":"today"}]}`, "no version.unreadable": `{"days":[]}`,
	} {
		path := filepath.Join(t.TempDir(), "comparison.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		l := openLog(t, Options{ComparisonFile: path, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		choose(l, start)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		aside, err := os.ReadFile(path + filepath.Ext(name))
		if diff := cmp.Diff(text, string(aside)); err != nil || diff != "" {
			t.Errorf("%s: put aside: %v\n%s", name, err, diff)
		}
		if !strings.Contains(said.String(), "begins anew") {
			t.Errorf("%s: said %q", name, said.String())
		}
		if again, err := readKept(path); err != nil || len(again.Days) != 1 {
			t.Errorf("%s: stored anew: %+v, %v", name, again, err)
		}
	}
}

// TestComparisonThatCannotBeStored is said once, not every minute.
func TestComparisonThatCannotBeStored(t *testing.T) {
	var said bytes.Buffer
	k := &keeper{path: filepath.Join(t.TempDir(), "no", "such", "directory"), logger: slog.New(slog.NewTextHandler(&said, nil))}
	for range 3 {
		k.save(kept{Version: keptVersion})
	}
	if n := strings.Count(said.String(), "cannot be stored"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
}
