package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// field is what the tags of a struct field say. Tags:
//
//	key      the YAML key
//	default  the default as a YAML value
//	doc      the meaning, for the reference and for messages
//	enum     the allowed words, separated by |
//	min max  the limits of a number, duration or quantity, in the syntax of the value
//	required set for keys without which the section makes no sense
//	meta     the flat key in trigger metadata
type field struct {
	index              int
	key                string
	def                string
	hasDefault         bool
	doc                string
	enum               []string
	min, max           string
	required           bool
	meta               string
	typ                reflect.Type
	minValue, maxValue float64
}

var fieldCache sync.Map // reflect.Type to []field

// orderedFields gives the fields of a struct type in the order of its declaration.
func orderedFields(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key, ok := sf.Tag.Lookup("key")
		if !ok {
			continue
		}
		f := field{
			index: i, key: key, doc: sf.Tag.Get("doc"), min: sf.Tag.Get("min"), max: sf.Tag.Get("max"),
			required: sf.Tag.Get("required") != "", meta: sf.Tag.Get("meta"), typ: sf.Type,
		}
		f.def, f.hasDefault = sf.Tag.Lookup("default")
		if enum, ok := sf.Tag.Lookup("enum"); ok {
			f.enum = strings.Split(enum, "|")
		}
		f.minValue, f.maxValue = limit(f.min, sf.Type), limit(f.max, sf.Type)
		fields = append(fields, f)
	}
	fieldCache.Store(t, fields)
	return fields
}

func fieldsOf(t reflect.Type) map[string]field {
	fields := map[string]field{}
	for _, f := range orderedFields(t) {
		fields[f.key] = f
	}
	return fields
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range orderedFields(t) {
		keys = append(keys, f.key)
	}
	return keys
}

var defaultCache sync.Map // reflect.Type to reflect.Value

// setDefaults fills a value from the default tags of its type, all the way down. Slices and maps of a default are shared
// between values: decoding replaces them and nothing changes them in place.
func (d *decoder) setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	cached, ok := defaultCache.Load(v.Type())
	if !ok {
		fresh := reflect.New(v.Type()).Elem()
		for _, f := range orderedFields(v.Type()) {
			d.setDefaults(fresh.Field(f.index))
			if f.hasDefault {
				setDefault(fresh.Field(f.index), f)
			}
		}
		cached, _ = defaultCache.LoadOrStore(v.Type(), fresh)
	}
	v.Set(cached.(reflect.Value))
}

func setDefault(v reflect.Value, f field) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(f.def), &document); err != nil {
		panic(fmt.Sprintf("config: default of %s: %v", f.key, err))
	}
	d := &decoder{report: &report{lines: map[string]int{}}}
	d.decode(document.Content[0], v, f.key)
	if len(d.problems) > 0 {
		panic(fmt.Sprintf("config: default of %s: %v", f.key, d.problems))
	}
}

// checkTags reports a value that is outside of its enum or its limits.
func (d *decoder) checkTags(v reflect.Value, f field, path string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if f.enum != nil && v.Kind() == reflect.String {
		d.checkEnum(v.String(), f.enum, path)
	}
	if f.min == "" && f.max == "" {
		return
	}
	value := numeric(v)
	if (f.min != "" && value < f.minValue) || (f.max != "" && value > f.maxValue) {
		d.errorf(path, "%s%s", d.got(printed(v)), allowedRange(f))
	}
}

func (d *decoder) checkEnum(value string, enum []string, path string) {
	if slices.Contains(enum, value) {
		return
	}
	hint := ""
	if !d.secret && len(enum) > 1 {
		hint = suggest(value, enum)
	}
	shown := make([]string, len(enum))
	for i, allowed := range enum {
		if shown[i] = allowed; allowed == "" {
			shown[i] = `""`
		}
	}
	d.errorf(path, "%smust be %s%s", d.got(value), oneOf(shown), hint)
}

func allowedRange(f field) string {
	switch {
	case f.max == "":
		return "must be at least " + f.min
	case f.min == "":
		return "must be at most " + f.max
	}
	return "must be between " + f.min + " and " + f.max
}

func limit(text string, t reflect.Type) float64 {
	if text == "" {
		return 0
	}
	v := reflect.New(t).Elem()
	if v.Kind() == reflect.Pointer {
		v = reflect.New(t.Elem()).Elem()
	}
	if value, ok := reflect.TypeAssert[textValue](v.Addr()); ok {
		if err := value.parseText(text); err != nil {
			panic("config: limit " + text + ": " + err.Error())
		}
		return numeric(v)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("config: limit " + text + ": " + err.Error())
	}
	return value
}

func numeric(v reflect.Value) float64 {
	switch v.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return float64(v.Int())
	case reflect.Float64:
		return v.Float()
	default:
		panic("config: a limit on " + v.Type().String())
	}
}

func printed(v reflect.Value) string { return fmt.Sprint(v.Interface()) }

// kindName names the form of a value for messages and for the reference.
func kindName(t reflect.Type) string {
	switch value := reflect.New(t).Interface().(type) {
	case nodeValue:
		return value.kind()
	case textValue:
		return value.kind()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "map"
	case reflect.Struct:
		return "section"
	default:
		return "text"
	}
}
