package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestReference keeps the generated parts of the documents equal to the tags that the decoder reads.
func TestReference(t *testing.T) {
	generated(t, "../docs/configuration.md", "keys", keyReference())
	generated(t, "../docs/metadata.md", "metadata", metadataReference())
}

// generated replaces what is between the markers of a document.
func generated(t *testing.T, path, marker, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start, end := "<!-- generated: "+marker+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(data), start)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no markers for %s", path, marker)
	}
	golden(t, path, before+start+text+end+after)
}

func keyReference() string {
	var text strings.Builder
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for _, f := range orderedFields(typ) {
			here, inner := path+f.key, f.typ
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Slice {
				if inner = inner.Elem(); inner.Kind() == reflect.Struct {
					here += "[]"
				}
			}
			fmt.Fprintf(&text, "| `%s`%s | %s | %s | %s |\n", here, mark(f), form(f), defaultOf(f), f.doc)
			// The general forms of these appear once.
			if inner.Kind() == reflect.Struct && len(orderedFields(inner)) > 0 && !seenBefore(here) {
				walk(inner, here+".")
			}
		}
	}
	text.WriteString("| key | form | default | meaning |\n|---|---|---|---|\n")
	walk(reflect.TypeFor[file](), "")
	return text.String()
}

// seenBefore are sections whose keys are listed at another place.
func seenBefore(path string) bool {
	return path == "expander.workloads[].rank[]" || path == "expander.workloads[].failureMemory"
}

func mark(f field) string {
	if f.required {
		return " *"
	}
	return ""
}

func form(f field) string {
	switch {
	case f.enum != nil:
		words := make([]string, len(f.enum))
		for i, w := range f.enum {
			if words[i] = "`" + w + "`"; w == "" {
				words[i] = "empty"
			}
		}
		return strings.Join(words, ", ")
	case f.min != "" && f.max != "":
		return kindName(f.typ) + ", " + f.min + " to " + f.max
	case f.min != "":
		return kindName(f.typ) + ", at least " + f.min
	case f.max != "":
		return kindName(f.typ) + ", at most " + f.max
	}
	return kindName(f.typ)
}

func defaultOf(f field) string {
	switch {
	case !f.hasDefault:
		return ""
	case f.def == `""`:
		return "empty"
	}
	return "`" + f.def + "`"
}

func metadataReference() string {
	var text strings.Builder
	text.WriteString("| key | form | stands for | meaning |\n|---|---|---|---|\n")
	for _, k := range specialKeys {
		fmt.Fprintf(&text, "| `%s` | text | | %s |\n", k.name, k.doc)
	}
	keys := slices.Collect(maps.Values(flatKeys()))
	slices.SortFunc(keys, func(a, b flatKey) int { return slices.Compare(a.index, b.index) })
	for _, k := range keys {
		fmt.Fprintf(&text, "| `%s` | %s | `%s` | %s |\n", k.name, form(k.field), k.path, k.field.doc)
	}
	return text.String()
}

// TestExamples reads the examples of the documents.
func TestExamples(t *testing.T) {
	blocks := func(path string) []string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for i, part := range strings.Split(string(data), "```") {
			if text, ok := strings.CutPrefix(part, "yaml\n"); ok && i%2 == 1 {
				found = append(found, text)
			}
		}
		return found
	}
	examples := blocks("../docs/configuration.md")
	if len(examples) != 1 {
		t.Fatalf("%d examples of files, want 1", len(examples))
	}
	c := mustParse(t, examples[0])
	if len(c.Warnings) > 0 {
		t.Errorf("the example has warnings: %v", c.Warnings)
	}
	triggers := blocks("../docs/metadata.md")
	for _, text := range triggers {
		var example struct {
			Triggers []struct{ Metadata map[string]string }
			Metadata map[string]string
		}
		if err := yaml.Unmarshal([]byte(text), &example); err != nil {
			t.Fatal(err)
		}
		if len(example.Triggers) > 0 {
			example.Metadata = example.Triggers[0].Metadata
		}
		if _, err := c.ServiceFromMetadata("ai-prod", "so", example.Metadata); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if len(triggers) != 2 {
		t.Errorf("%d examples of triggers, want 2", len(triggers))
	}
}

// TestTagsAreComplete: a key without a meaning cannot be explained to anybody.
func TestTagsAreComplete(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for _, f := range orderedFields(typ) {
			if f.doc == "" || strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s.%s: the meaning is %q", typ.Name(), f.key, f.doc)
			}
			walk(f.typ)
		}
	}
	walk(reflect.TypeFor[file]())
}
