package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBlocksWantTags(t *testing.T) {
	for name, text := range map[string]string{
		"no tag":         "```sh\nls\n```\n",
		"indented":       "1. a\n\n   ```sh\n   ls\n   ```\n",
		"tildes":         "~~~sh\nls\n~~~\n",
		"no reason":      "```sh test=no\nls\n```\n",
		"reason for run": "```sh test=run reason=\"x\"\nls\n```\n",
		"unknown":        "```sh test=later\nls\n```\n",
		"open":           "```sh test=run\nls\n",
	} {
		if blocks, err := Blocks(text); err == nil {
			t.Errorf("%s: read as %v", name, blocks)
		}
	}
	blocks, err := Blocks("a\n```sh test=run\nls\npwd\n```\n```yaml test=no reason=\"why\"\nb: c\n```\n")
	if err != nil || len(blocks) != 2 || blocks[0].Text != "ls\npwd\n" || blocks[0].Line != 2 || blocks[1].Reason != "why" {
		t.Errorf("blocks %+v, error %v", blocks, err)
	}
}

// The blocks of the documents are tagged, scripts parse, and values are values of the chart. Those that run do so in
// test/cluster.
func TestDocuments(t *testing.T) {
	for _, name := range []string{"install.md", "uninstall.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := Blocks(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		run := 0
		for _, b := range blocks {
			switch {
			case b.Language == "sh":
				if b.Test == "run" {
					run++
				}
				cmd := exec.CommandContext(t.Context(), "bash", "-n")
				cmd.Stdin = strings.NewReader(b.Text)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: line %d: %v\n%s", name, b.Line, err, out)
				}
			case b.Test == "values":
				path := filepath.Join(t.TempDir(), "values.yaml")
				if err := os.WriteFile(path, []byte(b.Text), 0o600); err != nil {
					t.Fatal(err)
				}
				render(t, path)
			default:
				t.Errorf("%s: line %d: nothing checks a block of %s with test=%s", name, b.Line, b.Language, b.Test)
			}
		}
		if run == 0 {
			t.Errorf("%s: no block is run", name)
		}
	}
}
