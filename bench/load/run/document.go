package main

import (
	"fmt"
	"os"
	"strings"
)

// writeTable replaces what is between the markers of a table in a document.
func writeTable(path, name, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := "<!-- generated: load " + name + " -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		return fmt.Errorf("%s has no place for this table: add %s and <!-- end -->", path, strings.TrimSpace(begin))
	}
	return os.WriteFile(path, []byte(before+begin+table+"<!-- end -->"+after), 0o644) //nolint:gosec // a document is for everybody
}
