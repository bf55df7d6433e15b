package expander

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
)

// breakTie answers exactly one of equal options: the group with the fewest nodes now, where an unknown number equals
// any, then a hash of the request's pods over the sorted ids. So equal zones are all used over time, and the same
// request gets the same answer.
func (p *problem) breakTie(options []int) (chosen int, how string) {
	if len(options) == 1 {
		return options[0], ""
	}
	fewest := -1
	for _, o := range options {
		if nodes := p.facts(o).nodes; nodes >= 0 && (fewest < 0 || nodes < fewest) {
			fewest = nodes
		}
	}
	var left []int
	for _, o := range options {
		if nodes := p.facts(o).nodes; nodes < 0 || nodes == fewest {
			left = append(left, o)
		}
	}
	if len(left) == 1 {
		return left[0], "tie:current-nodes"
	}
	left = p.byID(left)
	return left[p.podHash()%uint64(len(left))], "tie:hash"
}

// podHash is a hash of the UIDs of the request, whatever their order.
func (p *problem) podHash() uint64 {
	uids := make([]string, len(p.req.Pods))
	for i := range uids {
		uids[i] = p.uid(i)
	}
	slices.Sort(uids)
	hash := fnv.New64a()
	for _, uid := range uids {
		hash.Write([]byte(uid))
		hash.Write([]byte{0})
	}
	return mix(hash.Sum64())
}

// mix spreads the entropy over the low bits, which the remainder looks at (the finaliser of SplitMix64: Steele, Lea
// and Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// choiceID identifies a choice by what makes it one. Two instances never make the same one.
func choiceID(at time.Time, workload, group string) uint64 {
	hash := fnv.New64a()
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())))
	hash.Write([]byte(workload))
	hash.Write([]byte{0})
	hash.Write([]byte(group))
	return mix(hash.Sum64())
}
