package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestRun plays a day as fast as it goes, through the real server.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole day")
	}
	var out bytes.Buffer
	err := Run(t.Context(), Options{For: 60 * time.Second, Speed: 1e9, Out: &out, Seed: 1})
	text := out.String()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Log(text)
	for _, want := range []string{"gRPC     127.0.0.1:", "KEDA asked", "CA asked", "  up ", "status", "Until midnight", "failed calls: 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the story does not say %q", want)
		}
	}
}
