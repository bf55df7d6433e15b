package predictor

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// codec writes fields to a buffer or reads them from one, so that one walk over
// a structure serves both and the two cannot disagree.
type codec struct {
	buf     []byte // written so far, or still to be read
	writing bool
	err     error
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrState, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes to read, nil after an error.
func (c *codec) take(n int) []byte {
	if c.err == nil && n > len(c.buf) {
		c.fail("it ends too early")
	}
	if c.err != nil {
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *codec) int(v *int64) {
	if c.writing {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	if c.err != nil {
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail("it ends too early")
		return
	}
	*v, c.buf = x, c.buf[n:]
}

// same writes a number and demands it back.
func (c *codec) same(what string, want int64) {
	got := want
	c.int(&got)
	if got != want {
		c.fail("%s was %d and is %d now", what, got, want)
	}
}

func (c *codec) flag(v *bool) {
	x := int64(0)
	if *v {
		x = 1
	}
	c.int(&x)
	*v = x == 1
}

func (c *codec) float(v *float64) {
	if c.writing {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(*v))
	} else if b := c.take(8); b != nil {
		*v = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

func (c *codec) singles(v []float32) {
	for i := range v {
		if c.writing {
			c.buf = binary.LittleEndian.AppendUint32(c.buf, math.Float32bits(v[i]))
		} else if b := c.take(4); b != nil {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
		}
	}
}

func (c *codec) words(v []uint64) {
	for i := range v {
		if c.writing {
			c.buf = binary.LittleEndian.AppendUint64(c.buf, v[i])
		} else if b := c.take(8); b != nil {
			v[i] = binary.LittleEndian.Uint64(b)
		}
	}
}

func (c *codec) ints(v []int64) {
	for i := range v {
		c.int(&v[i])
	}
}

func (c *codec) shorts(v []int32) {
	for i := range v {
		x := int64(v[i])
		c.int(&x)
		v[i] = int32(x)
	}
}

// codes transfers a ring of codes; count and n, where they are not nil, are
// rebuilt from it.
func (c *codec) codes(v []code, count *[codes]uint16, n *int) {
	for i := range v {
		if c.writing {
			c.buf = append(c.buf, byte(v[i]))
		} else if b := c.take(1); b != nil {
			v[i] = code(b[0])
		}
	}
	if c.writing || count == nil {
		return
	}
	for _, x := range v {
		if x != 0 {
			count[x]++
			*n++
		}
	}
}

func (c *codec) text(v *string) {
	n := int64(len(*v))
	c.int(&n)
	if c.writing {
		c.buf = append(c.buf, *v...)
		return
	}
	if n < 0 || n > 64 {
		c.fail("a text of %d bytes", n)
		return
	}
	*v = string(c.take(int(n)))
}

func (c *codec) time(v *time.Time) {
	x := int64(0)
	if !v.IsZero() {
		x = v.Unix()
	}
	c.int(&x)
	*v = time.Time{}
	if x != 0 {
		*v = time.Unix(x, 0).UTC()
	}
}
