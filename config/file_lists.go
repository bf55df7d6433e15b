package config

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// trust is false, true or a list of names.
type trust []string

func (t *trust) decodeNode(d *decoder, n *yaml.Node, path string) {
	switch {
	case n.Kind == yaml.SequenceNode:
		var names []string
		d.decodeList(n, reflect.ValueOf(&names).Elem(), path)
		*t = names
	case n.Kind == yaml.ScalarNode && n.Value == "true":
		*t = trust{"*"}
	case n.Kind == yaml.ScalarNode && n.Value == "false":
		*t = nil
	default:
		d.errorf(path, "must be false, true or a list of pools and groups")
	}
}

func (trust) kind() string { return "true, false or list" }

// oneOrMoreWords is a word or a list of words.
type oneOrMoreWords []string

func (w *oneOrMoreWords) decodeNode(d *decoder, n *yaml.Node, path string) {
	var words []string
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		words = []string{n.Value}
	} else {
		d.decodeKind(n, reflect.ValueOf(&words).Elem(), path)
	}
	*w = words
}

func (oneOrMoreWords) kind() string { return "word or list" }

// oneOrMoreTaints is a taint or a list of taints.
type oneOrMoreTaints []taintFile

func (o *oneOrMoreTaints) decodeNode(d *decoder, n *yaml.Node, path string) {
	var taints []taintFile
	if n.Kind == yaml.MappingNode {
		taints = make([]taintFile, 1)
		d.setDefaults(reflect.ValueOf(&taints[0]).Elem())
		d.decode(n, reflect.ValueOf(&taints[0]).Elem(), path)
	} else {
		d.decodeKind(n, reflect.ValueOf(&taints).Elem(), path)
	}
	*o = taints
}

func (oneOrMoreTaints) kind() string { return "taint or list" }

// holidayFile is a date, or a date with its name.
type holidayFile struct {
	Date date   `key:"date" required:"true" doc:"day in the service's time zone, such as 2027-12-25"`
	Name string `key:"name" default:"\"\"" doc:"for the record"`
}

func (h *holidayFile) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		d.text(&h.Date, n.Value, path)
		return
	}
	d.decodeStruct(n, reflect.ValueOf(h).Elem(), path)
}

func (holidayFile) kind() string { return "date or {date, name}" }
