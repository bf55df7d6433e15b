package deploy

import (
	"fmt"
	"regexp"
	"strings"
)

// A Block is a fenced code block of a document, with what its tag says about tests.
type Block struct {
	Line     int
	Language string
	// Test is run (on the test control plane), values (of the chart) or no.
	Test   string
	Reason string
	Text   string
}

var tag = regexp.MustCompile(`^([a-z]+) test=(run|values|no)(?: reason="([^"]+)")?$`)

// Blocks reads the code blocks of a Markdown document. A block without a tag, and one that is not tested without a
// reason, is an error.
func Blocks(text string) ([]Block, error) {
	var blocks []Block
	var open *Block
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " \t>"), "```")
		if strings.HasPrefix(strings.TrimLeft(line, " \t>"), "~~~") && open == nil {
			return nil, fmt.Errorf("line %d: a code block with tildes; use ``` with a tag", i+1)
		}
		switch {
		case isFence && open != nil:
			blocks = append(blocks, *open)
			open = nil
		case isFence:
			m := tag.FindStringSubmatch(fence)
			if m == nil {
				return nil, fmt.Errorf("line %d: the code block %q has no tag: LANGUAGE test=run, test=values or test=no reason=\"...\"", i+1, fence)
			}
			if (m[2] == "no") != (m[3] != "") {
				return nil, fmt.Errorf("line %d: a block that is not run, and only that one, gives a reason", i+1)
			}
			open = &Block{Line: i + 1, Language: m[1], Test: m[2], Reason: m[3]}
		case open != nil:
			open.Text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the code block does not end", open.Line)
	}
	return blocks, nil
}
