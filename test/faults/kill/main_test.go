package main

import (
	"os"
	"strings"
	"testing"
)

// TestKill is the short version of the program.
func TestKill(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), 10, 3, os.Getenv("WARMPOOL_BINARY"), &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}
