package operations

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the texts of the repository, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	add := func(path string) {
		texts[strings.TrimPrefix(path, root+"/")] = string(read(t, path))
	}
	tops, err := filepath.Glob(root + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tops {
		add(path)
	}
	for _, folder := range []string{"docs", "deploy"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
				add(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence   = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
)

// TestLinks follows every relative link of the documents, anchors included.
func TestLinks(t *testing.T) {
	texts := documents(t)
	n := 0
	for path, text := range texts {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			n++
			goal := filepath.Join(filepath.Dir(path), to)
			if to == "" {
				goal = path
			}
			if _, err := os.Stat(filepath.Join(root, goal)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, found[1])
				continue
			}
			if other, ok := texts[goal]; ok && anchor != "" && !anchors(other)[anchor] {
				t.Errorf("%s: %s has no heading for #%s", path, goal, anchor)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d links found: the test checks little", n)
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are the headings of a text in the form of their links.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""), " ", "-")] = true
	}
	return all
}
