package wire

import (
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Source yields a message in pieces, in order.
type Source interface {
	// Next returns the next piece, which stays valid until the next call, or io.EOF after the last one.
	Next() ([]byte, error)
}

// Bytes is a [Source] of a message in memory, cut anywhere.
func Bytes(pieces ...[]byte) Source {
	s := byteSource(pieces)
	return &s
}

type byteSource [][]byte

func (s *byteSource) Next() ([]byte, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	piece := (*s)[0]
	*s = (*s)[1:]
	return piece, nil
}

// cursor reads protobuf primitives across the pieces of a source.
type cursor struct {
	source Source
	// piece is the unread rest of the current piece, and pos the position of its first byte in the message.
	piece []byte
	pos   int64
	// joined holds a value that lies on several pieces.
	joined []byte
}

var errEnds = errors.New("the message ends too early")

// fill makes sure that there is an unread byte. It returns io.EOF at the end of the message.
func (c *cursor) fill() error {
	for len(c.piece) == 0 {
		piece, err := c.source.Next()
		if err != nil {
			return err //nolint:wrapcheck // the source's own error, io.EOF included
		}
		c.piece = piece
	}
	return nil
}

// within is fill inside a value, where the end of the message is a fault.
func (c *cursor) within() error {
	err := c.fill()
	if errors.Is(err, io.EOF) {
		return invalidf("%w", errEnds)
	}
	return err
}

func (c *cursor) advance(n int) {
	c.piece = c.piece[n:]
	c.pos += int64(n)
}

// varint reads one varint that has to end before end.
func (c *cursor) varint(end int64) (uint64, error) {
	v, n := protowire.ConsumeVarint(c.piece)
	if n > 0 {
		c.advance(n)
	} else {
		var err error
		if v, err = c.slowVarint(); err != nil {
			return 0, err
		}
	}
	if c.pos > end {
		return 0, invalidf("a number reaches over the end of its message")
	}
	return v, nil
}

// slowVarint reads a varint that lies on two pieces, or is malformed.
func (c *cursor) slowVarint() (uint64, error) {
	var b []byte
	for len(b) < 10 {
		if err := c.within(); err != nil {
			return 0, err
		}
		last := c.piece[0]
		b = append(b, last)
		c.advance(1)
		if last < 0x80 {
			break
		}
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, invalidf("number: %w", protowire.ParseError(n))
	}
	return v, nil
}

// tag reads a field number and wire type.
func (c *cursor) tag(end int64) (protowire.Number, protowire.Type, error) {
	v, err := c.varint(end)
	if err != nil {
		return 0, 0, err
	}
	num, typ := protowire.DecodeTag(v)
	if num < protowire.MinValidNumber {
		return 0, 0, invalidf("field number %d does not exist", v>>3)
	}
	return num, typ, nil
}

// length reads the length of a value that has to lie before end.
func (c *cursor) length(end int64) (int64, error) {
	n, err := c.varint(end)
	if err != nil {
		return 0, err
	}
	if n > uint64(end-c.pos) {
		return 0, invalidf("a value of %d bytes reaches over the end of its message", n)
	}
	return int64(n), nil
}

// take returns the next n bytes, valid until the next call of a method.
func (c *cursor) take(n int64) ([]byte, error) {
	if n <= int64(len(c.piece)) {
		b := c.piece[:n:n]
		c.advance(int(n))
		return b, nil
	}
	c.joined = c.joined[:0]
	for n > 0 {
		if err := c.within(); err != nil {
			return nil, err
		}
		part := c.piece[:min(n, int64(len(c.piece)))]
		c.joined = append(c.joined, part...)
		c.advance(len(part))
		n -= int64(len(part))
	}
	return c.joined, nil
}

// drop passes over n bytes.
func (c *cursor) drop(n int64) error {
	for n > 0 {
		if err := c.within(); err != nil {
			return err
		}
		part := min(n, int64(len(c.piece)))
		c.advance(int(part))
		n -= part
	}
	return nil
}

// skip passes over the value of a field that is not ours. Groups nest as deeply as protobuf allows; their numbers
// are kept on a list, not on the stack.
func (c *cursor) skip(num protowire.Number, typ protowire.Type, end int64) error {
	var open []protowire.Number
	for {
		n, err := int64(0), error(nil)
		switch typ {
		case protowire.VarintType:
			_, err = c.varint(end)
		case protowire.Fixed32Type:
			n = 4
		case protowire.Fixed64Type:
			n = 8
		case protowire.BytesType:
			n, err = c.length(end)
		case protowire.StartGroupType:
			open = append(open, num)
		case protowire.EndGroupType:
			if len(open) == 0 || open[len(open)-1] != num {
				return invalidf("end of group %d without a start", num)
			}
			open = open[:len(open)-1]
		default:
			return invalidf("field %d has the unknown wire type %d", num, typ)
		}
		if err != nil {
			return err
		}
		if n > end-c.pos || len(open) > protowire.DefaultRecursionLimit {
			return invalidf("field %d reaches over the end of its message or is nested too deeply", num)
		}
		if err := c.drop(n); err != nil {
			return err
		}
		if len(open) == 0 {
			return nil
		}
		if num, typ, err = c.tag(end); err != nil {
			return err
		}
	}
}
