package link

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// PoolState is what is known of one node group that a workload may grow.
type PoolState struct {
	Pool     string
	Capacity Capacity
	// Nodes and Max are its present and largest size; negative is unknown.
	Nodes, Max int
	// HeldUntil is until when nobody will ask it for nodes, for HeldBy; zero is not held.
	HeldUntil time.Time
	HeldBy    string
	// Free is how many accelerators of its nodes nobody holds; negative is unknown. They may serve without a new node.
	Free int
	// Replicas is how many replicas fit on one node; 0 is unknown and taken for 1.
	Replicas int
}

// Supply is what can be had.
type Supply struct {
	// None is set when no pool can deliver, Until is when the first of them may again; zero when only a size or a quota
	// that somebody has to raise is in the way.
	None  bool      `json:"none,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Useful is how many replicas can have a node at all: those that have one, what is free on the nodes, and the room of the pools. Negative is
	// unknown.
	Useful int `json:"useful"`
	// Bounds says of each pool that cannot deliver which limit it is.
	Bounds []string `json:"bounds,omitempty"`
	// Room says of each pool that can how far: what bounds a target that is larger than Useful.
	Room []string `json:"-"`
}

// Assess says what the pools of a workload can still deliver for a target of which placed replicas have a node. A pool
// of which nothing is known may deliver, and so may one with something free.
func Assess(pools []PoolState, placed int, now time.Time) Supply {
	s := Supply{Useful: placed, None: len(pools) > 0}
	for _, p := range pools {
		held := p.HeldUntil.After(now)
		full := p.Max >= 0 && p.Nodes >= p.Max
		switch {
		case full:
			s.Bounds = append(s.Bounds, fmt.Sprintf("%s is at its maximum of %s", p.Pool, counted(p.Max, "node")))
		case held:
			s.Bounds = append(s.Bounds, fmt.Sprintf("%s is left alone until %s: %s", p.Pool, clock(p.HeldUntil), p.HeldBy))
			if s.Until.IsZero() || p.HeldUntil.Before(s.Until) {
				s.Until = p.HeldUntil
			}
		default:
			s.None = false
			if p.Max >= 0 {
				s.Room = append(s.Room, fmt.Sprintf("%s can grow to its maximum of %s", p.Pool, counted(p.Max, "node")))
			}
		}
		if p.Free != 0 {
			s.None = false
		}
		s.room(&p)
	}
	if len(pools) == 0 {
		s.Useful = -1
	}
	if !s.None {
		s.Until = time.Time{}
	}
	return s
}

// room adds what the pool has left; a pool without a known limit has room for all.
func (s *Supply) room(p *PoolState) {
	if s.Useful < 0 || p.Max < 0 || p.Nodes < 0 || p.Free < 0 {
		s.Useful = -1
		return
	}
	s.Useful += max(0, p.Max-p.Nodes)*max(1, p.Replicas) + p.Free
}

// Text says what bounds a target, for people; empty when nothing does.
func (s Supply) Text(target int) string {
	var parts []string
	switch {
	case s.None && !s.Until.IsZero():
		parts = append(parts, "no capacity until about "+clock(s.Until))
	case s.None:
		parts = append(parts, "no capacity until a limit is raised")
	}
	bounds := s.Bounds
	if s.Useful >= 0 && target > s.Useful {
		parts = append(parts, fmt.Sprintf("%d of %s can have a node", s.Useful, counted(target, "replica")))
		bounds = slices.Concat(bounds, s.Room)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append(parts, bounds...), "; ")
}

func clock(t time.Time) string { return t.UTC().Format("15:04 MST") }

// retryShare bounds the one surge that tries for capacity while there is none, as a share of the replicas there are.
const retryShare = 0.1

// CeilingState is what [Ceiling] remembers; the zero value is a time with supply.
type CeilingState struct {
	// Since is when the supply ended, and Base how many replicas were there or asked for then.
	Since time.Time `json:"since,omitzero"`
	Base  int       `json:"base,omitempty"`
}

// Ceiling is the largest useful target while no pool can deliver: what was there when the supply ended, and one surge
// of a tenth, at least one replica, that tries again. Pods beyond that would only wait. It is 0, no ceiling, as soon as
// anything may deliver. present and last are the replicas that exist and that were asked for.
func Ceiling(s Supply, present, last int, state CeilingState, now time.Time) (ceiling int, next CeilingState) {
	if !s.None {
		return 0, CeilingState{}
	}
	if next = state; next.Since.IsZero() {
		next = CeilingState{Since: now, Base: max(present, last, 0)}
	}
	return next.Base + max(1, int(math.Ceil(retryShare*float64(next.Base)-1e-9))), next
}
