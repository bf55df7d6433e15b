package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknownService tells that a trigger names a service that the configuration does not have and does not describe
// itself.
var ErrUnknownService = errors.New("unknown service")

// Problem is one thing that is wrong with a configuration or with the metadata of a trigger.
type Problem struct {
	// Path is the key, such as services[2].replicas.max; for trigger metadata it is the flat key.
	Path string
	// Line counts from 1; 0 where there is no file to point into.
	Line int
	// Message says what is wrong, what is allowed and how to mend it.
	Message string
}

// String gives the problem as PATH: MESSAGE.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Errors is every problem found in one source.
type Errors struct {
	// Name is the file name, or the namespace/name of the scaled object.
	Name     string
	Problems []Problem
}

// Error lists every problem on a line of its own, in the form NAME:LINE: PATH: MESSAGE that editors can jump to.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		if p.Line > 0 {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", e.Name, p.Line, p))
			continue
		}
		lines = append(lines, e.Name+": "+p.String())
	}
	return strings.Join(lines, "\n")
}

// Warning is something that is allowed and probably not meant.
type Warning struct {
	// Code is a stable name for the kind, such as pool-unreachable.
	Code    string
	Path    string
	Line    int
	Message string
}

// String gives the warning as CODE: PATH: MESSAGE.
func (w Warning) String() string { return w.Code + ": " + w.Path + ": " + w.Message }

// report collects what is found while a configuration is read, and knows the line of every key.
type report struct {
	problems []Problem
	warnings []Warning
	lines    map[string]int
	// secret keeps values out of the messages: trigger metadata may hold resolved environment variables.
	secret bool
}

func (r *report) errorf(path, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: path, Line: r.lineOf(path), Message: fmt.Sprintf(format, args...)})
}

func (r *report) warnf(code, path, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Code: code, Path: path, Line: r.lineOf(path), Message: fmt.Sprintf(format, args...)})
}

// lineOf finds the line of a key, or of the nearest enclosing key that is in the file: a missing key is reported where
// it would have to be written.
func (r *report) lineOf(path string) int {
	for {
		if line, ok := r.lines[path]; ok {
			return line
		}
		if path == "" {
			return 0
		}
		path = parentPath(path)
	}
}

func parentPath(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// given tells whether the key is written in the source, as opposed to taken from its default.
func (r *report) given(path string) bool {
	_, ok := r.lines[path]
	return ok
}

// has tells whether a problem was found at the path or below it.
func (r *report) has(path string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Path, path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// err returns the problems in the order of the file, or nil.
func (r *report) err(name string) error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	return &Errors{Name: name, Problems: r.problems}
}
