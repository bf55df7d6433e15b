package predictor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The cases come from public bug reports of other autoscalers; see the file.

type caseFile struct {
	Cases []bugCase `json:"cases"`
}

type bugCase struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Given  json.RawMessage `json:"given"`
	Expect json.RawMessage `json:"expect"`
}

func (c bugCase) decode(t *testing.T, given, expect any) {
	t.Helper()
	for _, part := range []struct {
		data json.RawMessage
		into any
	}{{c.Given, given}, {c.Expect, expect}} {
		if part.into == nil {
			continue
		}
		if err := json.Unmarshal(part.data, part.into); err != nil {
			t.Fatalf("case %s: %v", c.ID, err)
		}
	}
}

// textKeys turns the keys of maps into text, as JSON wants them.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = textKeys(x)
		}
		return v
	case map[any]any:
		out := map[string]any{}
		for k, x := range v {
			out[fmt.Sprint(k)] = textKeys(x)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = textKeys(x)
		}
	}
	return v
}

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(textKeys(tree))
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*testing.T, bugCase){
		"judoscale-255": caseClockChange, "keda-4677": caseWeekend, "keda-932": caseZones,
		"dynamo-6985": caseIdle, "dynamo-14493": caseFalling, "dynamo-14513": caseFailure,
		"dynamo-14238": caseSwitch, "kthena-1361": caseTiming, "mimir-7775": caseAnomaly,
		"crane-787": caseAnomaly, "crane-728": caseGaps, "opencost-1472": caseQueries,
		"llm-d-1071": namedIn("../scaler/startup_test.go"), "mimir-12406": caseCoverage,
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if tests[c.ID] == nil {
				t.Fatal("no test for this case")
			}
			tests[c.ID](t, c)
		})
	}
	if len(file.Cases) != len(tests) {
		t.Errorf("%d cases, %d tests", len(file.Cases), len(tests))
	}
}

// namedIn is a case that another package decides; its tests read it from here.
func namedIn(file string) func(*testing.T, bugCase) {
	return func(t *testing.T, c bugCase) {
		if tests, err := os.ReadFile(file); err != nil || !bytes.Contains(tests, []byte(c.ID)) {
			t.Errorf("no test of %s names the case: %v", file, err)
		}
	}
}
