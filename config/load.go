package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Load reads and compiles the configuration file at path. The error is an [*Errors] that holds every problem, unless the
// file cannot be read.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse compiles a configuration that was read from name; catalogue files are looked up beside it.
func Parse(name string, data []byte) (*Config, error) {
	return parse(name, data, readFile)
}

// readFile reads a regular file of sane size; a device or a pipe would block or never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFileSize {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), maxFileSize)
	}
	return os.ReadFile(path)
}

type fileReader func(path string) ([]byte, error)

func parse(name string, data []byte, read fileReader) (*Config, error) {
	r := &report{lines: map[string]int{}}
	source := decodeFile(r, data)
	if source == nil {
		return nil, r.err(name)
	}
	c := &compiler{report: r, source: source, name: name, read: read}
	compiled := c.compile()
	if err := r.err(name); err != nil {
		return nil, err
	}
	compiled.Warnings = sortedWarnings(r.warnings)
	return compiled, nil
}

// decodeFile gives what could be understood of a file, with defaults for the rest, or nil.
func decodeFile(r *report, data []byte) *file {
	root, problem := parseDocument(data)
	if problem != nil {
		r.problems = append(r.problems, *problem)
		return nil
	}
	source := &file{}
	d := &decoder{report: r}
	v := reflect.ValueOf(source).Elem()
	d.setDefaults(v)
	r.lines[""] = 1
	if isNull(root) {
		r.errorf("", "the file has no content; it needs at least apiVersion: %s and kind: %s", apiVersion, kind)
		return nil
	}
	d.decode(root, v, "")
	return source
}

// beside resolves a path relative to the configuration file.
func beside(name, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(name), strings.TrimPrefix(path, "./"))
}
