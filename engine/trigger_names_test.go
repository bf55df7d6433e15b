package engine

import (
	"errors"
	"strings"
	"testing"
)

// Names that no API server would have let through are refused before anything is made of them.
func TestForgedNamesAreRefused(t *testing.T) {
	for _, names := range [][2]string{
		{"", "llm"}, {"ai", ""}, {"ai/prod", "llm"}, {`a",x="b`, "llm"}, {"ai", "llm\nlevel=ERROR"}, {"AI", "llm"}, {strings.Repeat("a", 64), "llm"}, {"ai", strings.Repeat("a", 254)},
	} {
		err := Trigger{Namespace: names[0], ScaledObject: names[1]}.checkNames()
		if !errors.Is(err, ErrInvalidTrigger) {
			t.Errorf("%q, %q: %v, want an invalid trigger", names[0], names[1], err)
		} else if len(names[0]) > 3 && strings.Contains(err.Error(), names[0]) {
			t.Errorf("the error repeats %q", names[0])
		}
	}
	if err := (Trigger{Namespace: "ai-prod", ScaledObject: "llm-7b.v2"}).checkNames(); err != nil {
		t.Errorf("usual names: %v", err)
	}
}
