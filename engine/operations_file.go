package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// OperationsFile keeps what operators ordered in one file, so that a restart keeps it. A nil one keeps nothing.
type OperationsFile struct{ path string }

// NewOperationsFile uses the file operations.json in a directory, which must exist.
func NewOperationsFile(dir string) *OperationsFile {
	return &OperationsFile{filepath.Join(dir, operationsFile)}
}

const operationsFile = "operations.json"

// operationsVersion is that of the layout.
const operationsVersion = 1

type operationsContent struct {
	Version int `json:"version"`
	Operations
}

// load reads the file. One that is damaged, or of a newer version, is put aside, loudly: an override or a freeze that somebody relies on may be
// in it. One that cannot be read at all is an error.
func (f *OperationsFile) load(log *slog.Logger) (Operations, error) {
	none := Operations{Overrides: []Override{}, Freezes: []Freeze{}}
	if f == nil {
		return none, nil
	}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read overrides and freezes: %w; make %s readable, or move it away to start without them", err, f.path)
	}
	content := operationsContent{}
	switch err = json.Unmarshal(text, &content); {
	case content.Version > operationsVersion:
		err = fmt.Errorf("%w: version %d, and this one knows %d", errNewer, content.Version, operationsVersion)
	case err == nil && content.Version != operationsVersion:
		err = fmt.Errorf("version %d is not %d", content.Version, operationsVersion)
	}
	if err != nil {
		aside, moved := putAside(f.path, err)
		if moved != nil {
			return none, fmt.Errorf("overrides and freezes in %s: %w; move the file away: %w", f.path, err, moved)
		}
		log.Error("the file of overrides and freezes cannot be used: none is in force, set them again", "error", err, "kept", aside)
		return none, nil
	}
	// Whatever the order in the file: ids have to be sorted to be found.
	sorted := none
	sorted.merge(content.Operations)
	return sorted, nil
}

func (f *OperationsFile) save(o Operations) error {
	if f == nil {
		return nil
	}
	text, err := json.MarshalIndent(operationsContent{operationsVersion, o}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode overrides and freezes: %w", err)
	}
	if err := replaceFile(f.path, append(text, '\n')); err != nil {
		return fmt.Errorf("store overrides and freezes, nothing is changed: %w", err)
	}
	return nil
}
