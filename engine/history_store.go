package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/warmpool/warmpool/expander"
)

// HistoryStore keeps what the expander has learnt over a restart, and joins what several instances learn.
type HistoryStore interface {
	// Load returns the stored history, the zero value if there never was one. [IsCorrupt] tells an unreadable one, which
	// the store has put aside, from one that may be readable later.
	Load(ctx context.Context) (expander.History, error)
	// Save stores a history, joined with what others have stored, and returns the result.
	Save(ctx context.Context, history expander.History) (expander.History, error)
}

// SharedHistory is a [HistoryStore] that several instances write to. Neither Save nor News waits for a server.
type SharedHistory interface {
	HistoryStore
	// News returns the stored history if others have changed it since the last call.
	News() (expander.History, bool)
}

// IsCorrupt tells whether an error means that stored content is damaged, or of a newer version, and was put aside. Stores of other packages
// say so by an error with a method Corrupt.
func IsCorrupt(err error) bool {
	var damaged interface{ Corrupt() bool }
	return errors.Is(err, errCorrupt) || errors.Is(err, errNewer) || (errors.As(err, &damaged) && damaged.Corrupt())
}

var errCorrupt = errors.New("content is damaged")

// FileHistory keeps the history in one file, for a single instance.
type FileHistory struct{ path string }

const historyFile = "expander-history.json"

// NewFileHistory uses the file expander-history.json in a directory, which must exist.
func NewFileHistory(dir string) FileHistory {
	return FileHistory{path: filepath.Join(dir, historyFile)}
}

// The file is one line with version and checksum of the rest, then JSON: people can read it, and a torn or edited file
// is noticed.
const (
	historyHeader = "warmpool-history %d %08x\n"
	historyLayout = 1
)

// Load reads the file. A damaged one is renamed to end in .damaged, for people to look at, and one of a newer version to
// end in .newer.
func (f FileHistory) Load(context.Context) (expander.History, error) {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return expander.History{}, nil
	}
	if err != nil {
		return expander.History{}, fmt.Errorf("read history: %w", err)
	}
	history, err := decodeHistory(content)
	if err == nil {
		return history, nil
	}
	aside, moved := putAside(f.path, err)
	if moved != nil {
		return expander.History{}, fmt.Errorf("history file %s: %w; move it away", f.path, errors.Join(err, moved))
	}
	return expander.History{}, fmt.Errorf("history file %s: %w; it is kept as %s", f.path, err, aside)
}

func decodeHistory(content []byte) (expander.History, error) {
	head, body, found := bytes.Cut(content, []byte("\n"))
	var version int
	var sum uint32
	if _, err := fmt.Sscanf(string(head)+"\n", historyHeader, &version, &sum); err != nil || !found || version < 1 {
		return expander.History{}, fmt.Errorf("%w: it has no header", errCorrupt)
	}
	if version > historyLayout {
		return expander.History{}, fmt.Errorf("%w: layout %d, and this one knows %d", errNewer, version, historyLayout)
	}
	if crc32.ChecksumIEEE(body) != sum {
		return expander.History{}, fmt.Errorf("%w: wrong checksum", errCorrupt)
	}
	var history expander.History
	if err := json.Unmarshal(body, &history); err != nil {
		return expander.History{}, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	if history.Version > expander.HistoryVersion {
		return expander.History{}, fmt.Errorf("%w: version %d, and this one knows %d", errNewer, history.Version, expander.HistoryVersion)
	}
	return history, nil
}

// Save replaces the file in one step.
func (f FileHistory) Save(_ context.Context, history expander.History) (expander.History, error) {
	body, err := json.Marshal(history)
	if err != nil {
		return history, fmt.Errorf("encode history: %w", err)
	}
	content := append(fmt.Appendf(nil, historyHeader, historyLayout, crc32.ChecksumIEEE(body)), body...)
	if err := replaceFile(f.path, content); err != nil {
		return history, fmt.Errorf("write history: %w", err)
	}
	return history, nil
}

// temporarySuffix ends the names of files that are being written.
const temporarySuffix = ".tmp"

// sweep removes what a killed process left of [replaceFile], so that a data directory does not fill up with it. Nobody
// else may be writing there.
func sweep(dir string) {
	for _, name := range []string{historyFile, operationsFile} {
		left, err := filepath.Glob(filepath.Join(escaped.Replace(dir), name+".*"+temporarySuffix))
		if err != nil {
			continue
		}
		for _, path := range left {
			_ = os.Remove(path)
		}
	}
}

// escaped makes a path match itself only.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// replaceFile writes beside the file and renames, so that a crash leaves the old content or the new one.
func replaceFile(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+temporarySuffix)
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
