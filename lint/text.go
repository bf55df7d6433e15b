package lint

import (
	"fmt"
	"io"
)

// WriteText writes findings for people, one after the other with its fix, and a line with their numbers.
func WriteText(out io.Writer, findings []Finding, objects int) error {
	errors, warnings := Count(findings)
	for _, f := range findings {
		if _, err := fmt.Fprintf(out, "%s: %s %s: %s: %s\n    fix: %s\n", f.Source, f.Severity, f.Code, f.Object, f.Reason, f.Fix); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%s: %s, %s\n", count(objects, "object"), count(errors, "error"), count(warnings, "warning"))
	return err
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Count counts findings by severity.
func Count(findings []Finding) (errors, warnings int) {
	for _, f := range findings {
		if f.Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}
