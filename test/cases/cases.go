// Package cases reads the files testdata/cases.yaml of the cores: situations in which other autoscalers failed, taken
// from their public bug reports. The cores themselves may not import it, as it reads files; their tests do.
package cases

import (
	"encoding/json"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// Case is one situation. Given and Expect differ by Kind; the test of a case knows their fields.
type Case struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Given  json.RawMessage `json:"given"`
	Expect json.RawMessage `json:"expect"`
}

// Read returns the cases of a file in their order.
func Read(tb testing.TB, file string) []Case {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var content struct {
		Cases []Case `json:"cases"`
	}
	if err := yaml.Unmarshal(data, &content); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	if len(content.Cases) == 0 {
		tb.Fatalf("%s holds no cases", file)
	}
	return content.Cases
}

// Decode reads both parts of one case of a file; a part without a place to put it is left out.
func Decode(tb testing.TB, file, id string, given, expect any) {
	tb.Helper()
	for _, c := range Read(tb, file) {
		if c.ID == id {
			c.Decode(tb, given, expect)
			return
		}
	}
	tb.Fatalf("%s holds no case %s", file, id)
}

// Decode reads both parts; nil leaves one out.
func (c Case) Decode(tb testing.TB, given, expect any) {
	tb.Helper()
	for _, part := range []struct {
		name string
		data json.RawMessage
		into any
	}{{"given", c.Given, given}, {"expect", c.Expect, expect}} {
		if part.into == nil {
			continue
		}
		if err := json.Unmarshal(part.data, part.into); err != nil {
			tb.Fatalf("case %s, %s: %v", c.ID, part.name, err)
		}
	}
}
