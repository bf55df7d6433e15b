package faults

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/warmpool/warmpool/engine"
)

// files of the data directory.
var dataFiles = []string{"expander-history.json", "operations.json", "warmpool.db", "decisions.jsonl"}

// limitedWrites lets this process write files up to a size only. Every user may set this limit, unlike a quota or a small
// file system; writing fails as on a full disk, after the bytes that still have room. What else is on the disk is not
// meant: see write.
func limitedWrites(w *world, bytes uint64) (mend func()) {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	w.must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	set := func(now uint64) {
		w.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: now, Max: before.Max}))
	}
	set(bytes)
	w.lift = func() (back func()) {
		set(before.Cur)
		return func() { set(bytes) }
	}
	return func() {
		set(before.Cur)
		w.lift = nil
	}
}

// write makes a file that is not warmpool's, which is there however full the data directory is.
func (w *world) write(path string, content []byte) {
	w.t.Helper()
	if w.lift != nil {
		defer w.lift()()
	}
	w.must(os.WriteFile(path, content, 0o600))
}

// refused orders an override, which must fail and not be in force: what cannot be stored does not count.
func refused(w *world) {
	e, most := w.current(), 1
	if o, err := e.SetOverride(engine.Override{Service: "ml/llama", Max: &most, To: w.now().Add(interval * 100), Reason: "a test", Who: "test"}); err == nil {
		w.t.Errorf("%s: the override %s counts although it cannot be stored", w.name, o.ID)
	}
	if n := len(e.Operations().Overrides); n != 0 {
		w.t.Errorf("%s: %d overrides are in force", w.name, n)
	}
}

// anew restarts with files that were changed.
func anew(spoil func(w *world) error) func(w *world) func() {
	return func(w *world) func() {
		w.restart(func() {
			if w.lift != nil {
				defer w.lift()()
			}
			w.must(spoil(w))
		})
		return func() {}
	}
}

// damage overwrites the middle of every file.
func damage(w *world) error {
	for _, name := range dataFiles {
		path := filepath.Join(w.dataDir, name)
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			content = []byte("{}") // never written yet
		} else if err != nil {
			return err
		}
		for i := len(content) / 4; i < len(content)*3/4; i++ {
			content[i] ^= 0x5a
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// newer makes every file that of a later program.
func newer(w *world) error {
	for name, text := range map[string]string{
		"expander-history.json": "warmpool-history 2 00000000\n{}", "operations.json": `{"version": 2, "somethingElse": []}`,
		"decisions.jsonl": `{"version":2,"kind":"other","id":"ffffffffffffff"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dataDir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	db, err := bbolt.Open(filepath.Join(w.dataDir, "warmpool.db"), 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		all := tx.Bucket([]byte("services-1"))
		return all.ForEachBucket(func(id []byte) error {
			one := all.Bucket(id)
			value := append([]byte{2}, one.Get([]byte("state"))[1:]...)
			return one.Put([]byte("state"), value)
		})
	})
}

// aside tells whether what could not be used was kept.
func (r *record) aside(names ...string) error {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(r.w.dataDir, name)); err != nil {
			return fmt.Errorf("what could not be used is not kept: %w", err)
		}
	}
	return nil
}

func (r *record) whole() error {
	return readable(r.w.dataDir)
}

var (
	inMemory     = claim{"as ever, in memory; overrides and freezes are refused, because a restart would forget them", asEver.check}
	learnt       = claim{"as ever; what was learnt is read again from the metric store", asEver.check}
	fromStored   = claim{"as ever, from what was stored before; overrides and freezes are refused", asEver.check}
	afterRestart = claim{"the decision log by itself, the store with the next restart", func(r *record) error {
		if err := r.right(0); err != nil {
			return err
		}
		return r.whole()
	}}
	rewrites = claim{"the next save writes all files", func(r *record) error {
		if err := r.right(0); err != nil {
			return err
		}
		return r.whole()
	}}
	kept = claim{"at the start; the files are kept as `*.damaged`", func(r *record) error {
		if err := r.aside("expander-history.json.damaged", "operations.json.damaged", "warmpool.db.damaged"); err != nil {
			return err
		}
		return r.right(0)
	}}
	keptText = claim{"at the start; the text files are kept as `*.newer`, single values of the store are learnt again", func(r *record) error {
		if err := r.aside("expander-history.json.newer", "operations.json.newer"); err != nil {
			return err
		}
		return r.right(0)
	}}
)

var diskFaults = []*fault{
	{
		part: "Data directory", name: "is full: nothing more can be written", alone: true, clients: []claim{follows, answers}, decided: []claim{inMemory}, recovers: rewrites,
		inject: func(w *world) func() {
			mend := limitedWrites(w, 0)
			refused(w)
			return mend
		},
	},
	{
		part: "Data directory", name: "is full after 2 KiB: what is written is cut off", alone: true, clients: []claim{follows, answers}, decided: []claim{inMemory}, recovers: rewrites,
		inject: func(w *world) func() {
			mend := limitedWrites(w, 2048)
			return mend
		},
	},
	{
		part: "Data directory", name: "is full at a start", alone: true, excludes: []string{"cannot be written to"}, clients: []claim{follows, answers}, decided: []claim{fromStored}, recovers: afterRestart,
		inject: func(w *world) func() {
			var mend func()
			w.restart(func() { mend = limitedWrites(w, 0) })
			refused(w)
			return func() {
				mend()
				w.restart(nil)
			}
		},
	},
	{
		part: "Data directory", name: "cannot be written to", clients: []claim{follows, answers}, decided: []claim{inMemory}, recovers: rewrites,
		inject: func(w *world) func() {
			// In place of the directory there is a file, so that no user, not even root, can make files in it.
			away := w.dataDir + ".away"
			w.must(os.Rename(w.dataDir, away))
			w.must(os.WriteFile(w.dataDir, nil, 0o400)) // an empty file has room on a full disk
			refused(w)
			return func() {
				w.must(os.Remove(w.dataDir))
				w.must(os.Rename(away, w.dataDir))
			}
		},
	},
	{
		part: "Data directory", name: "is damaged at a start", clients: []claim{follows, answers}, decided: []claim{learnt}, recovers: kept,
		inject: anew(damage), excludes: []string{"cannot be written to"},
	},
	{
		part: "Data directory", name: "is of a newer version at a start", clients: []claim{follows, answers}, decided: []claim{learnt}, recovers: keptText,
		inject: anew(newer), excludes: []string{"cannot be written to", "is damaged at a start"},
	},
}
