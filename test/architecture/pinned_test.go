package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEverythingIsPinned: a build and a test run take nothing that can change under the same name: modules come with
// checksums, the base image with a digest, packages of the page's tests with a lock file, and no script downloads.
func TestEverythingIsPinned(t *testing.T) {
	root := filepath.Join("..", "..")
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var modules []string
	for _, pattern := range []string{"go.mod", "tools/go.mod", "tools/*/go.mod", "test/*/go.mod"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, found...)
	}
	if len(modules) < 6 {
		t.Fatalf("%d modules were found", len(modules))
	}
	exact := regexp.MustCompile(`(?m)^go \d+\.\d+\.\d+$`)
	for _, name := range modules {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSuffix(name, "mod") + "sum"); err != nil {
			t.Errorf("%s has no checksums: %v", name, err)
		}
		if !exact.Match(text) {
			t.Errorf("%s does not name the release of Go with its patch number", name)
		}
	}
	if !regexp.MustCompile(`(?m)^defaultBaseImage: \S+@sha256:[0-9a-f]{64}$`).MatchString(read(".ko.yaml")) {
		t.Error(".ko.yaml does not pin the base image by digest")
	}
	if !strings.Contains(read("test/web/package-lock.json"), `"integrity": "sha512-`) {
		t.Error("test/web/package-lock.json has no checksums")
	}
	scripts, err := filepath.Glob(filepath.Join(root, "tools", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "tools", "*", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	floating := regexp.MustCompile(`@latest|@main|@master|:latest|\b(curl|wget)\b|npm install|pip install|go get `)
	for _, name := range append(append(scripts, more...), filepath.Join(root, "Makefile"), filepath.Join(root, ".ci", "run")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := floating.Find(text); found != nil {
			t.Errorf("%s has %q: what it fetches can change under the same name", name, found)
		}
	}
}
