package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClaimsNameTests: the documents that point at tests point at tests that exist.
func TestClaimsNameTests(t *testing.T) {
	root := filepath.Join("..", "..")
	claim := regexp.MustCompile("`((?:[a-z]+/)*[a-z]+)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
	for _, document := range []string{"docs/security.md", "docs/release.md", "docs/reliability.md"} {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		claims := claim.FindAllStringSubmatch(string(text), -1)
		if len(claims) == 0 {
			t.Errorf("%s points at no test", document)
		}
		for _, c := range claims {
			folder := c[1]
			if folder == "architecture" {
				folder = "test/architecture"
			}
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, name := range files {
				source, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				found = found || strings.Contains(string(source), "\nfunc "+c[2]+"(")
			}
			if !found {
				t.Errorf("%s names %s.%s, which does not exist", document, c[1], c[2])
			}
		}
	}
}
