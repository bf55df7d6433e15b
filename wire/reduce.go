package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// kept says which fields of a message are kept, by number. A nil value keeps the field as it is, any other value
// reduces it in turn.
type kept struct {
	fields map[protowire.Number]*kept
	// check, when set, judges the reduced message.
	check func(message []byte) error
}

func only(fields map[protowire.Number]*kept) *kept { return &kept{fields: fields} }

// Field numbers of k8s.io/api/core/v1 and k8s.io/apimachinery/pkg/apis/meta/v1. They are part of the Kubernetes
// API and never change. The rest of an object (managed fields, volumes, environment, probes, status) is most of
// its bytes, nothing here depends on it, and it is what a hostile sender would inflate.
var (
	quantity   = &kept{fields: map[protowire.Number]*kept{1: nil}, check: checkQuantity}
	quantities = only(map[protowire.Number]*kept{1: nil, 2: quantity})
	resources  = only(map[protowire.Number]*kept{2: quantities})
	container  = only(map[protowire.Number]*kept{1: nil, 8: resources, 24: nil})

	// key, operator, values; then expressions and fields; then required terms, and weights with preferred ones. All is
	// kept, and listed so that every part counts: an empty term takes two bytes on the wire, too.
	requirement     = only(map[protowire.Number]*kept{1: nil, 2: nil, 3: nil})
	nodeTerm        = only(map[protowire.Number]*kept{1: requirement, 2: requirement})
	affinityOfNodes = only(map[protowire.Number]*kept{
		1: only(map[protowire.Number]*kept{1: nodeTerm}),
		2: only(map[protowire.Number]*kept{1: nil, 2: nodeTerm}),
	})

	podFields = only(map[protowire.Number]*kept{
		// name, namespace, uid, labels, annotations, owners
		1: only(map[protowire.Number]*kept{1: nil, 3: nil, 5: nil, 11: nil, 12: nil, 13: nil}),
		2: only(map[protowire.Number]*kept{
			2:  container,
			20: container, // init containers
			7:  nil,       // node selector
			18: only(map[protowire.Number]*kept{1: affinityOfNodes}),
			22: nil,        // tolerations
			24: nil,        // priority class
			25: nil,        // priority
			32: quantities, // overhead
			39: nil,        // resource claims
			40: resources,  // pod-level resources
		}),
	})
	nodeFields = only(map[protowire.Number]*kept{
		1: only(map[protowire.Number]*kept{1: nil, 11: nil}),              // name, labels
		2: only(map[protowire.Number]*kept{5: nil}),                       // taints
		3: only(map[protowire.Number]*kept{1: quantities, 2: quantities}), // capacity, allocatable
	})
)

const (
	// maxKept bounds the fields of a reduced object: an empty container takes two bytes on the wire and almost a
	// kilobyte in memory.
	maxKept = 10_000
	// maxQuantity is the longest quantity, and maxExponent its largest decimal exponent. The API server writes
	// at most 19 digits and a suffix.
	maxQuantity = 64
	maxExponent = 18
)

var errManyFields = fmt.Errorf("more than %d fields", maxKept)

// reduce appends the kept fields of a message to out, and counts them against what one object and the whole request may
// have.
func (d *decoder) reduce(k *kept, out, message []byte) ([]byte, error) {
	most := min(maxKept, d.limits.Fields-d.fields)
	left := most
	out, err := k.appendFields(out, message, &left)
	d.fields += most - max(left, 0)
	if errors.Is(err, errManyFields) && most < maxKept {
		err = beyond("fields in all pods and nodes", d.limits.Fields)
	}
	if err == nil {
		err = d.hold(objectSize + len(out) + fieldSize*(most-left))
	}
	return out, err
}

func (k *kept) appendFields(out, message []byte, budget *int) ([]byte, error) {
	for len(message) > 0 {
		num, typ, tagLen := protowire.ConsumeTag(message)
		if tagLen < 0 {
			return out, fmt.Errorf("field: %w", protowire.ParseError(tagLen))
		}
		n := protowire.ConsumeFieldValue(num, typ, message[tagLen:])
		if n < 0 {
			return out, fmt.Errorf("field %d: %w", num, protowire.ParseError(n))
		}
		field := message[:tagLen+n]
		message = message[tagLen+n:]
		sub, ok := k.fields[num]
		if !ok {
			continue
		}
		if *budget--; *budget < 0 {
			return out, errManyFields
		}
		if sub == nil || typ != protowire.BytesType {
			out = append(out, field...)
			continue
		}
		value, _ := protowire.ConsumeBytes(field[tagLen:])
		var err error
		if out, err = sub.appendMessage(append(out, field[:tagLen]...), value, budget); err != nil {
			return out, fmt.Errorf("field %d: %w", num, err)
		}
	}
	return out, nil
}

// appendMessage appends a reduced message with its length in front.
func (k *kept) appendMessage(out, message []byte, budget *int) ([]byte, error) {
	start := len(out)
	out, err := k.appendFields(out, message, budget)
	if err != nil {
		return out, err
	}
	size := len(out) - start
	if k.check != nil {
		if err := k.check(out[start:]); err != nil {
			return out, err
		}
	}
	var head [10]byte
	length := protowire.AppendVarint(head[:0], uint64(size)) //nolint:gosec // a length
	out = append(out, length...)
	copy(out[start+len(length):], out[start:start+size])
	copy(out[start:], length)
	return out, nil
}

var errQuantity = errors.New("not a quantity that the API server would write")

// checkQuantity refuses quantities out of all proportion: parsing one takes time and memory that grow with the value
// of its exponent, not with its length. The message is a Quantity.
func checkQuantity(message []byte) error {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		size := protowire.ConsumeFieldValue(num, typ, message[n:])
		text, _ := protowire.ConsumeString(message[n:])
		message = message[n+size:]
		if len(text) > maxQuantity {
			return fmt.Errorf("%w: %d characters", errQuantity, len(text))
		}
		at := strings.IndexAny(text, "eE")
		if at < 0 || at == len(text)-1 { // a single E is the suffix exa
			continue
		}
		exponent, err := strconv.Atoi(text[at+1:])
		if err == nil && (exponent > maxExponent || exponent < -maxExponent) {
			return fmt.Errorf("%w: %q", errQuantity, text)
		}
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%w: %q", errQuantity, text)
		}
	}
	return nil
}
