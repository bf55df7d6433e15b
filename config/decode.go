package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the size of a document after its aliases are followed, so that nested aliases cannot blow it up.
const maxNodes = 500_000

// nodeValue is a value with more than one way to write it.
type nodeValue interface {
	decodeNode(d *decoder, n *yaml.Node, path string)
	kind() string
}

// decoder fills typed values from YAML nodes and goes on after every mistake.
type decoder struct {
	*report
	nodes int
}

// decode fills v, which must be settable, from n. Values that n does not give are left as they are.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.errorf(path, "the document has more than %d values once its aliases are followed", maxNodes)
		}
		return
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Line > 0 {
		d.lines[path] = n.Line
	}
	if v.Kind() == reflect.Pointer {
		if isNull(n) && v.Type().Elem().Kind() == reflect.Struct {
			delete(d.lines, path) // as in decodeKind
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		d.setDefaults(v.Elem())
		v = v.Elem()
	}
	switch value := v.Addr().Interface().(type) {
	case nodeValue:
		value.decodeNode(d, n, path)
	case textValue:
		if text, ok := d.scalar(n, path, value.kind()); ok {
			d.text(value, text, path)
		}
	default:
		d.decodeKind(n, v, path)
	}
}

func (d *decoder) decodeKind(n *yaml.Node, v reflect.Value, path string) {
	if isNull(n) && (v.Kind() == reflect.Struct || v.Kind() == reflect.Map || v.Kind() == reflect.Slice) {
		delete(d.lines, path) // a section with everything commented out is a section that is not there
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, v, path)
	case reflect.Map:
		d.decodeMap(n, v, path)
	case reflect.Slice:
		d.decodeList(n, v, path)
	default:
		if text, ok := d.scalar(n, path, kindName(v.Type())); ok {
			d.decodeText(text, v, path)
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// scalar gives the text of a scalar node, or reports what stands there instead.
func (d *decoder) scalar(n *yaml.Node, path, want string) (string, bool) {
	switch {
	case isNull(n):
		d.errorf(path, "has no value; give it one (%s) or remove the key", want)
	case n.Kind != yaml.ScalarNode:
		d.errorf(path, "must be one value (%s), not %s", want, nodeName(n))
	default:
		return n.Value, true
	}
	return "", false
}

// text parses one scalar of a type of ours.
func (d *decoder) text(value textValue, text, path string) {
	if err := value.parseText(text); err != nil {
		d.errorf(path, "%s%v", d.got(text), err)
	}
}

// got quotes a wrong value, unless the source may hold secrets.
func (r *report) got(text string) string {
	if r.secret {
		return ""
	}
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return strconv.Quote(text) + " "
}

// decodeText parses one scalar of a built-in kind.
func (d *decoder) decodeText(text string, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			d.errorf(path, "%smust be true or false", d.got(text))
			return
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int32, reflect.Int64:
		value, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			d.errorf(path, "%smust be a whole number", d.got(text))
			return
		}
		v.SetInt(value)
	case reflect.Float64:
		value, err := parseNumber(text)
		if err != nil {
			d.errorf(path, "%s%v", d.got(text), err)
			return
		}
		v.SetFloat(value)
	default:
		panic("config: no decoder for " + v.Type().String())
	}
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.errorf(path, "must be a section with keys (%s), not %s", strings.Join(keysOf(v.Type()), ", "), nodeName(n))
		return
	}
	fields := fieldsOf(v.Type())
	d.eachKey(n, path, func(key string, value *yaml.Node, keyPath string) {
		f, ok := fields[key]
		if !ok {
			d.lines[keyPath] = value.Line
			d.errorf(keyPath, "unknown key%s; allowed here: %s", suggest(key, keysOf(v.Type())), strings.Join(keysOf(v.Type()), ", "))
			return
		}
		before := len(d.problems)
		d.decode(value, v.Field(f.index), keyPath)
		if len(d.problems) == before {
			d.checkTags(v.Field(f.index), f, keyPath)
		}
	})
	for _, f := range orderedFields(v.Type()) {
		if keyPath := join(path, f.key); f.required && !d.given(keyPath) && !d.has(keyPath) {
			d.errorf(keyPath, "is required: %s", f.doc)
		}
	}
}

// eachKey visits the keys of a mapping and reports the ones that are there twice.
func (d *decoder) eachKey(n *yaml.Node, path string, visit func(key string, value *yaml.Node, keyPath string)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			d.problems = append(d.problems, Problem{
				Path: path, Line: key.Line,
				Message: "a key must be a plain word; merge keys (<<) and complex keys are not supported, repeat the values",
			})
			continue
		}
		keyPath := join(path, key.Value)
		if line, ok := first[key.Value]; ok {
			d.problems = append(d.problems, Problem{
				Path: keyPath, Line: key.Line,
				Message: fmt.Sprintf("is given twice, first in line %d; remove one", line),
			})
			continue
		}
		first[key.Value] = key.Line
		visit(key.Value, value, keyPath)
		if d.given(keyPath) {
			d.lines[keyPath] = key.Line
		}
	}
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.errorf(path, "must be a map such as {key: value}, not %s", nodeName(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.eachKey(n, path, func(key string, value *yaml.Node, keyPath string) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, element, keyPath)
		v.SetMapIndex(reflect.ValueOf(key), element)
	})
}

func (d *decoder) decodeList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(path, "must be a list such as [a, b], not %s", nodeName(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.setDefaults(v.Index(i))
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func nodeName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section with keys"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "a single value"
	default:
		return "this"
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join appends a key to a path; keys that hold dots or brackets are quoted.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
