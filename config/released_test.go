package config

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var release = flag.Bool("release", false, "record keys and golden configurations as released: what later changes must stay compatible with")

const released = "testdata/released/v1alpha1"

// TestReleasedKeys: what a released version accepts, every later one accepts with the same meaning. A key may come, or
// accept more; none may go, get another name, form or default, or accept less.
func TestReleasedKeys(t *testing.T) {
	path := filepath.Join(released, "keys.txt")
	now := map[string]releasedKey{}
	var order []string
	add := func(name string, k releasedKey) {
		now[name] = k
		order = append(order, name)
	}
	everyKey(reflect.TypeFor[file](), "", add)
	for _, k := range specialKeys {
		add("metadata: "+k.name, releasedKey{form: "text"})
	}
	for _, name := range slices.Sorted(maps.Keys(flatKeyByName())) {
		k := flatKeyByName()[name]
		one := keyOf(k.field)
		one.form += " = " + k.path
		add("metadata: "+name, one)
	}
	if *release {
		var text strings.Builder
		for _, name := range order {
			fmt.Fprintf(&text, "%s\t%s\n", name, now[name])
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(old)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		known[name] = true
		was, err := parseKey(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		is, ok := now[name]
		if !ok {
			t.Errorf("the released key %s is gone: configurations that have it no longer load", name)
			continue
		}
		if problem := is.breaks(was); problem != "" {
			t.Errorf("the released key %s %s", name, problem)
		}
	}
	if len(known) < 100 {
		t.Errorf("%d released keys, want all of them", len(known))
	}
	for _, name := range order {
		parent := ""
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			parent = name[:i]
		}
		if !known[name] && now[name].required && (parent == "" || known[parent]) {
			t.Errorf("the new key %s is required: configurations without it no longer load", name)
		}
	}
}

// releasedKey is what may not change about a key.
type releasedKey struct {
	form, def string
	enum      []string
	min, max  string
	required  bool
}

func (k releasedKey) String() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%t", k.form, k.def, strings.Join(k.enum, "|"), k.min, k.max, k.required)
}

func parseKey(text string) (releasedKey, error) {
	f := strings.Split(text, "\t")
	if len(f) != 6 {
		return releasedKey{}, fmt.Errorf("%d columns, want 6", len(f))
	}
	k := releasedKey{form: f[0], def: f[1], min: f[3], max: f[4], required: f[5] == "true"}
	if f[2] != "" {
		k.enum = strings.Split(f[2], "|")
	}
	return k, nil
}

func keyOf(f field) releasedKey {
	return releasedKey{kindName(f.typ), f.def, f.enum, f.min, f.max, f.required}
}

// breaks tells how a key accepts less, or means something else, than it did.
func (k releasedKey) breaks(was releasedKey) string {
	switch {
	case k.form != was.form:
		return "was " + was.form + " and is " + k.form
	case k.def != was.def:
		return "had the default " + was.def + " and has " + k.def
	case k.required && !was.required:
		return "was optional and is required"
	case len(was.enum) == 0 && len(k.enum) > 0:
		return "accepted every word"
	case !narrower(was.min, k.min, true) || !narrower(was.max, k.max, false):
		return fmt.Sprintf("allowed %s to %s and allows %s to %s", was.min, was.max, k.min, k.max)
	}
	for _, word := range was.enum {
		if len(k.enum) > 0 && !slices.Contains(k.enum, word) {
			return "no longer accepts " + word
		}
	}
	return ""
}

// narrower tells whether a released limit lies within the present one, which an empty one does not set.
func narrower(was, is string, least bool) bool {
	if is == was || is == "" {
		return true
	}
	if was == "" {
		return false
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[duration](), reflect.TypeFor[byteSize](), reflect.TypeFor[share](), reflect.TypeFor[float64]()} {
		a, okA := limitAs(was, typ)
		b, okB := limitAs(is, typ)
		if okA && okB {
			return least && b <= a || !least && b >= a
		}
	}
	return false
}

func limitAs(text string, typ reflect.Type) (value float64, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	return limit(text, typ), true
}

// everyKey walks over all keys of the file.
func everyKey(typ reflect.Type, path string, add func(string, releasedKey)) {
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
		add(here, keyOf(f))
		if inner.Kind() == reflect.Struct && len(orderedFields(inner)) > 0 {
			everyKey(inner, here+".", add)
		}
	}
}

// TestReleasedConfigurations compiles the configurations of the released format. Each must load, and every value of the
// result must be what it was; there may be values that were not there.
func TestReleasedConfigurations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(released, "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d configurations: %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := Load(path)
			if err != nil {
				t.Fatalf("a configuration of the released format no longer loads: %v", err)
			}
			now := map[string]string{}
			flatten(now, "", reflect.ValueOf(c).Elem())
			goldenPath := strings.TrimSuffix(path, ".yaml") + ".compiled.txt"
			if *release {
				var text strings.Builder
				for _, name := range slices.Sorted(maps.Keys(now)) {
					fmt.Fprintf(&text, "%s = %s\n", name, now[name])
				}
				if err := os.WriteFile(goldenPath, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			old, err := os.ReadFile(goldenPath)
			if err != nil {
				t.Fatal(err)
			}
			lines := 0
			for line := range strings.Lines(string(old)) {
				lines++
				name, was, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
				if is, ok := now[name]; !ok || is != was {
					t.Errorf("%s was %s and is %s (there: %t)", name, was, is, ok)
				}
			}
			if lines < 50 {
				t.Errorf("%d values, want all of them", lines)
			}
		})
	}
}

// notCompared are parts of a compiled configuration that do not come from the file alone: hashes, which tell versions of
// the program apart too, the built-in facts of instance types, and where the file lies.
var notCompared = regexp.MustCompile(`(^|\.)(Hash|InstanceTypes|Name|Files|Warnings|source|byName)(\[|\.|$)`)

// flatten writes every value of a compiled configuration under its path.
func flatten(into map[string]string, path string, v reflect.Value) {
	if notCompared.MatchString(path) && !strings.Contains(path, "].Name") && !strings.HasSuffix(path, "Policy.Name") {
		return
	}
	if v.IsValid() && v.CanInterface() {
		switch value := v.Interface().(type) {
		case *regexp.Regexp:
			into[path] = fmt.Sprintf("%q", value)
			return
		case *time.Location:
			into[path] = value.String()
			return
		case time.Time:
			into[path] = value.UTC().Format(time.RFC3339)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			into[path] = "none"
			return
		}
		flatten(into, path, v.Elem())
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				flatten(into, strings.TrimPrefix(path+"."+field.Name, "."), value)
			}
		}
	case reflect.Slice:
		into[path+".len"] = fmt.Sprint(v.Len())
		for i := range v.Len() {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		into[path+".len"] = fmt.Sprint(v.Len())
		for _, key := range v.MapKeys() {
			flatten(into, fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key))
		}
	case reflect.String:
		into[path] = fmt.Sprintf("%q", v.String())
	case reflect.Func:
	default:
		into[path] = fmt.Sprint(v)
	}
}

// TestReleasedKeysAreCompared makes each kind of break once.
func TestReleasedKeysAreCompared(t *testing.T) {
	was := releasedKey{form: "duration", def: "10s", enum: []string{"a", "b"}, min: "1s", max: "1m"}
	change := func(edit func(*releasedKey)) releasedKey {
		k := was
		edit(&k)
		return k
	}
	for name, test := range map[string]struct {
		is   releasedKey
		want string
	}{
		"the same":        {was, ""},
		"another form":    {change(func(k *releasedKey) { k.form = "number" }), "was duration"},
		"another default": {change(func(k *releasedKey) { k.def = "20s" }), "default"},
		"required":        {change(func(k *releasedKey) { k.required = true }), "required"},
		"a word more":     {change(func(k *releasedKey) { k.enum = []string{"a", "c", "b"} }), ""},
		"a word less":     {change(func(k *releasedKey) { k.enum = []string{"a"} }), "no longer accepts b"},
		"any word":        {change(func(k *releasedKey) { k.enum = nil }), ""},
		"a wider range":   {change(func(k *releasedKey) { k.min, k.max = "500ms", "1h" }), ""},
		"no range":        {change(func(k *releasedKey) { k.min, k.max = "", "" }), ""},
		"a narrower one":  {change(func(k *releasedKey) { k.max = "30s" }), "allowed"},
	} {
		if got := test.is.breaks(was); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if free := (releasedKey{form: "text"}); (releasedKey{form: "text", enum: []string{"a"}}).breaks(free) == "" || (releasedKey{form: "text", min: "1"}).breaks(free) == "" {
		t.Error("a first limit is no break")
	}
}

// TestOtherVersions refuses a configuration of a version that this program does not know, and says which one it does.
func TestOtherVersions(t *testing.T) {
	for _, version := range []string{"warmpool.dev/v1beta1", "warmpool.dev/v2", "v1"} {
		_, err := Parse("other.yaml", []byte("apiVersion: "+version+"\nkind: Config\n"))
		if err == nil || !strings.Contains(err.Error(), "apiVersion") || !strings.Contains(err.Error(), apiVersion) {
			t.Errorf("%s: %v", version, err)
		}
	}
}
