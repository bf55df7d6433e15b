package wire

import (
	"errors"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/warmpool/warmpool/expander"
)

// Field numbers of the protocol; see the schema of package grpcplugin.
const (
	requestOptions   = 1
	requestNodeTyped = 2
	requestNodeBytes = 3

	optionID       = 1
	optionCount    = 2
	optionPodTyped = 4
	optionPodBytes = 5

	entryKey   = 1
	entryValue = 2
)

// Decode reads one BestOptions request.
//
// Options keep their order, pods are numbered in order of first use, groups are sorted by id. The request shares
// no memory with the source.
func Decode(source Source, limits Limits) (expander.Request, Stats, error) {
	d := &decoder{
		cursor: cursor{source: source},
		limits: limits.withDefaults(),
		pods:   newDistinct(),
		ids:    map[string]int{},
	}
	req, stats, err := d.read()
	if err != nil {
		d.drop(d.held)
		return expander.Request{}, Stats{}, err
	}
	return req, stats, nil
}

func (d *decoder) read() (expander.Request, Stats, error) {
	if err := d.request(); err != nil {
		return expander.Request{}, Stats{}, err
	}
	collected := d.held
	req, stats, err := d.result()
	if err != nil {
		return expander.Request{}, Stats{}, err
	}
	d.drop(collected) // the serialised objects are garbage now
	stats.Held = d.held
	return req, stats, nil
}

// decoder collects the distinct objects of a request, still as bytes.
type decoder struct {
	cursor
	limits  Limits
	pods    *distinct
	options []option
	// ids finds the option that has a node group id.
	ids     map[string]int
	entries int
	// fields counts the kept fields of the objects that were reduced.
	fields int
	// held is what was taken from the budget.
	held int64
	// nodeTyped and nodeBytes hold serialised nodes by node group id.
	nodeTyped, nodeBytes map[string][]byte
}

// option is one option with numbers of distinct pods for both generations of the field.
type option struct {
	id           string
	count        int32
	typed, bytes []int32
}

func (o *option) used() []int32 {
	if len(o.bytes) > 0 {
		return o.bytes
	}
	return o.typed
}

// request reads the whole message.
func (d *decoder) request() error {
	for {
		if err := d.fill(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		num, typ, err := d.tag(math.MaxInt64)
		if err != nil {
			return err
		}
		switch {
		case num == requestOptions && typ == protowire.BytesType:
			err = d.message(d.option)
		case num == requestNodeTyped && typ == protowire.BytesType:
			err = inField(d.message(func(end int64) error { return d.node(end, &d.nodeTyped) }), "node map")
		case num == requestNodeBytes && typ == protowire.BytesType:
			err = inField(d.message(func(end int64) error { return d.node(end, &d.nodeBytes) }), "node map")
		default:
			err = d.skip(num, typ, math.MaxInt64)
		}
		if err != nil {
			return err
		}
	}
}

// message reads the length of a top-level message and then its fields with read.
func (d *decoder) message(read func(end int64) error) error {
	n, err := d.length(math.MaxInt64)
	if err != nil {
		return err
	}
	return read(d.pos + n)
}

func (d *decoder) option(end int64) error {
	index := len(d.options)
	if index >= d.limits.Options {
		return beyond("options", d.limits.Options)
	}
	if err := d.hold(optionSize); err != nil {
		return err
	}
	o := option{}
	if index > 0 { // options mostly list the same pods
		o.typed = make([]int32, 0, len(d.options[index-1].typed))
		o.bytes = make([]int32, 0, len(d.options[index-1].bytes))
	}
	for d.pos < end {
		if err := d.optionField(&o, end); err != nil {
			return inOption(err, index, o.id)
		}
	}
	if err := d.check(&o); err != nil {
		return inOption(err, index, o.id)
	}
	d.ids[o.id] = index
	d.options = append(d.options, o)
	return nil
}

func (d *decoder) optionField(o *option, end int64) error {
	num, typ, err := d.tag(end)
	if err != nil {
		return err
	}
	switch {
	case num == optionID && typ == protowire.BytesType:
		o.id, err = d.id(end)
		return inField(err, "node group id")
	case num == optionCount && typ == protowire.VarintType:
		var v uint64
		v, err = d.varint(end)
		o.count = int32(v) //nolint:gosec // protobuf's own rule for an int32 field
		return inField(err, "node count")
	case num == optionPodTyped && typ == protowire.BytesType:
		o.typed, err = d.pod(o.typed, end)
		return inField(err, "pod")
	case num == optionPodBytes && typ == protowire.BytesType:
		o.bytes, err = d.pod(o.bytes, end)
		return inField(err, "pod")
	default:
		return d.skip(num, typ, end)
	}
}

// check refuses what could not be answered or would be counted wrongly.
func (d *decoder) check(o *option) error {
	if o.id == "" {
		return inField(invalidf("is empty"), "node group id")
	}
	if first, twice := d.ids[o.id]; twice {
		return inField(invalidf("is the id of option %d too", first), "node group id")
	}
	if o.count < 0 {
		return inField(invalidf("%d is negative", o.count), "node count")
	}
	return nil
}

// pod reads one serialised pod and appends its number.
func (d *decoder) pod(list []int32, end int64) ([]int32, error) {
	b, err := d.object(end)
	if err != nil {
		return list, err
	}
	if d.entries++; d.entries > d.limits.PodEntries {
		return list, beyond("pods over all options", d.limits.PodEntries)
	}
	if err := d.hold(entrySize); err != nil {
		return list, err
	}
	before := len(d.pods.items)
	n := d.pods.number(b)
	if len(d.pods.items) > d.limits.Pods {
		return list, beyond("distinct pods", d.limits.Pods)
	}
	if len(d.pods.items) > before {
		err = d.hold(len(b) + entrySize)
	}
	return append(list, n), err
}

// node reads one entry of a node map.
func (d *decoder) node(end int64, nodes *map[string][]byte) error {
	id, value := "", []byte(nil)
	for d.pos < end {
		num, typ, err := d.tag(end)
		if err != nil {
			return err
		}
		switch {
		case num == entryKey && typ == protowire.BytesType:
			id, err = d.id(end)
		case num == entryValue && typ == protowire.BytesType:
			if value, err = d.object(end); err == nil {
				value = slices.Clone(value)
				err = d.hold(len(value) + optionSize)
			}
		default:
			err = d.skip(num, typ, end)
		}
		if err != nil {
			return inOption(err, -1, id)
		}
	}
	if *nodes == nil {
		*nodes = map[string][]byte{}
	}
	(*nodes)[id] = value
	if len(*nodes) > d.limits.Groups {
		return beyond("node templates", d.limits.Groups)
	}
	return nil
}

// id reads a node group id.
func (d *decoder) id(end int64) (string, error) {
	n, err := d.length(end)
	if err != nil {
		return "", err
	}
	if n > int64(d.limits.IDBytes) {
		return "", beyond("bytes in a node group id", d.limits.IDBytes)
	}
	b, err := d.take(n)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", invalidf("%q is not valid UTF-8", b)
	}
	return string(b), nil
}

// object reads a serialised pod or node, valid until the next read.
func (d *decoder) object(end int64) ([]byte, error) {
	n, err := d.length(end)
	if err != nil {
		return nil, err
	}
	if n > int64(d.limits.ObjectBytes) {
		return nil, beyond("bytes in one object", d.limits.ObjectBytes)
	}
	return d.take(n)
}
