package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
)

// FormatError is a place in a file that is not as its format demands. Line and Column count from 1; Column is 0 where
// only the line is known.
type FormatError struct {
	File         string
	Line, Column int
	Problem      string
}

// Error names file, line, column and problem, in the form that editors jump to.
func (e *FormatError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// csvError turns an error of the CSV reader into one that names the file.
func csvError(file string, err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return &FormatError{File: file, Line: parse.Line, Column: parse.Column, Problem: parse.Err.Error()}
	}
	return fmt.Errorf("read %s: %w", file, err)
}
