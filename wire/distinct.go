package wire

import (
	"bytes"
	"hash/maphash"
)

// distinct numbers byte strings, equal ones with the same number, and keeps one copy of each.
type distinct struct {
	hash func([]byte) uint64
	// first finds the newest string of a hash; next links to an older one with the same hash, or -1.
	first map[uint64]int32
	next  []int32
	items [][]byte
	block []byte
	// last is the number given out last. Options list the same pods in the same order, so the one after it is the
	// best guess, and a comparison is cheaper than a hash.
	last int32
}

// Blocks grow with the number of strings between these sizes.
const (
	smallBlock = 8 << 10
	largeBlock = 256 << 10
)

func newDistinct() *distinct {
	seed := maphash.MakeSeed()
	return &distinct{
		hash:  func(b []byte) uint64 { return maphash.Bytes(seed, b) },
		first: map[uint64]int32{},
		last:  -1,
	}
}

// number returns the number of b, counted from 0 in order of first appearance.
func (d *distinct) number(b []byte) int32 {
	if guess := d.last + 1; int(guess) < len(d.items) && bytes.Equal(d.items[guess], b) {
		d.last = guess
		return guess
	}
	h := d.hash(b)
	head, known := d.first[h]
	if !known {
		head = -1
	}
	for i := head; i >= 0; i = d.next[i] {
		if bytes.Equal(d.items[i], b) {
			d.last = i
			return i
		}
	}
	d.last = int32(len(d.items)) //nolint:gosec // bounded by Limits.Pods
	d.items = append(d.items, d.keep(b))
	d.next = append(d.next, head)
	d.first[h] = d.last
	return d.last
}

// keep copies b into a block, so that many small strings cost few allocations.
func (d *distinct) keep(b []byte) []byte {
	if len(b) > largeBlock/4 {
		return bytes.Clone(b)
	}
	if len(b) > cap(d.block)-len(d.block) {
		size := min(max(2*cap(d.block), smallBlock), largeBlock)
		d.block = make([]byte, 0, max(size, len(b)))
	}
	start := len(d.block)
	d.block = append(d.block, b...)
	return d.block[start:len(d.block):len(d.block)]
}
