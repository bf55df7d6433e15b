package trace

import (
	"crypto/sha256"
	_ "embed" // for the manifest
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed manifest.json
var manifestJSON []byte

// Source is a public repository that recorded data comes from.
type Source struct {
	ID         string `json:"id"`
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	Licence    string `json:"licence"`
	Cite       string `json:"cite,omitempty"`
}

// ManifestFile is one file that the benchmarks use.
type ManifestFile struct {
	// Path is relative to the traces directory.
	Path string `json:"path"`
	// Source is the id of the source and Original the path inside it.
	Source   string `json:"source"`
	Original string `json:"original"`
	// Normalised files were brought into the form "timestamp,requests"; the others are as published.
	Normalised bool   `json:"normalised"`
	SHA256     string `json:"sha256"`
}

// Manifest lists the recorded data with its origin.
type Manifest struct {
	Sources []Source       `json:"sources"`
	Files   []ManifestFile `json:"files"`
}

// ReadManifest is the manifest of this release.
func ReadManifest() (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(manifestJSON, &m); err != nil {
		return m, fmt.Errorf("read the trace manifest: %w", err)
	}
	return m, nil
}

// Verify compares the files of a directory with the manifest. Every missing or changed file is an error of its own, and
// all of them are returned together.
func (m Manifest) Verify(dir string) error {
	var problems []error
	for _, f := range m.Files {
		sum, err := fileSum(filepath.Join(dir, filepath.FromSlash(f.Path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, fmt.Errorf("%s is missing: fetch %s from its source %s", f.Path, f.Original, f.Source))
		case err != nil:
			problems = append(problems, fmt.Errorf("check %s: %w", f.Path, err))
		case sum != f.SHA256:
			problems = append(problems, fmt.Errorf("%s has sha256 %s; the manifest says %s", f.Path, sum, f.SHA256))
		}
	}
	return errors.Join(problems...)
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
