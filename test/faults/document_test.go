package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/reliability.md")

const (
	document = "../../docs/reliability.md"
	begin    = "<!-- The table is made by: go test ./test/faults -run TestDocument -update -->\n"
	end      = "<!-- End of the table. -->\n"
)

// table is every fault with the claims that TestFaults checks.
func table() string {
	var out strings.Builder
	out.WriteString("| fault | clients see | decided meanwhile | recovers |\n|---|---|---|---|\n")
	for _, f := range allFaults() {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(f.columns(), " | "))
	}
	return out.String()
}

// TestDocument holds the table of the documentation against the faults that are tested.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	present, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table: put\n%s%sinto it", document, begin, end)
	}
	if want := table(); present != want {
		if *update {
			if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the table of %s is not what is tested: run go test ./test/faults -run TestDocument -update", document)
	}
}
