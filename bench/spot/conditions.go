package main

import (
	"slices"
	"time"
)

// conditions of one replay.
type conditions struct {
	name string
	// spots name the recorded availability of each spot group.
	spots []string
	kill  killing
	// times is how many groups of the recorded size there are, for recordings of a number of nodes; 0 is one.
	times int
	// notice is how long before its end a node is announced, detect how long a failed scale-up stays unnoticed.
	notice, detect time.Duration
}

// killing is what happens to running nodes when the recording says that none can be had.
type killing string

const (
	killAll killing = "all"
	// killMild takes 30 % at once and 10 % of the rest every ten minutes.
	killMild killing = "mild"
	// killToCount takes what exceeds the recorded number of running nodes.
	killToCount killing = "count"
)

// settings are the conditions that are played. Availability is of one recorded zone: 95 % (k80_1), 69 % (v100_1), 55 %
// (k80_8) and 33 % (v100_8) of the time; g4dn is a group of at most 24 nodes and 12.6 on average.
var settings = []conditions{
	{name: "good", spots: []string{"k80_1"}, kill: killAll, detect: time.Minute},
	{name: "mid", spots: []string{"v100_1"}, kill: killAll, detect: time.Minute},
	{name: "two", spots: []string{"v100_1", "k80_8"}, kill: killAll, detect: time.Minute},
	{name: "scarce", spots: []string{"v100_8"}, kill: killAll, detect: time.Minute},
	{name: "mild", spots: []string{"v100_1"}, kill: killMild, detect: time.Minute},
	{name: "partial", spots: []string{"g4dn"}, kill: killToCount, times: 4, detect: time.Minute},
	{name: "partial, half", spots: []string{"g4dn"}, kill: killToCount, times: 2, detect: time.Minute},
	{name: "partial, quarter", spots: []string{"g4dn"}, kill: killToCount, detect: time.Minute},
	{name: "partial, A100", spots: []string{"a100"}, kill: killToCount, detect: time.Minute},
	{name: "good, notice", spots: []string{"k80_1"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "mid, notice", spots: []string{"v100_1"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "two, notice", spots: []string{"v100_1", "k80_8"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "good, 900 s", spots: []string{"k80_1"}, kill: killAll, detect: 15 * time.Minute},
	{name: "mid, 900 s", spots: []string{"v100_1"}, kill: killAll, detect: 15 * time.Minute},
	{name: "mild, 900 s", spots: []string{"v100_1"}, kill: killMild, detect: 15 * time.Minute},
	{name: "partial, 900 s", spots: []string{"g4dn"}, kill: killToCount, times: 4, detect: 15 * time.Minute},
	{name: "mid, notice, 900 s", spots: []string{"v100_1"}, kill: killAll, notice: 2 * time.Minute, detect: 15 * time.Minute},
}

// isPlain tells conditions without notice in which failures are found soon.
func (c conditions) isPlain() bool { return c.notice == 0 && c.detect == time.Minute }

// plays tells whether a policy is played under the conditions. A rule is not where it can have no effect: nothing is
// replaced early without notice, and with one spot group the memory moves on by itself. What only puts the rules into
// proportion is played under the plain conditions alone, and on-demand nodes alone under the first ones: they meet
// nothing that could change.
func (c conditions) plays(p policy) bool {
	switch {
	case !p.spot:
		return c.name == settings[0].name
	case p.forecast:
		return slices.Contains([]string{"good", "mid", "mild", "partial"}, c.name)
	case p.patient:
		return len(c.spots) > 1
	case p.everywhere:
		return true
	case p.replace && !p.suspect:
		return c.notice > 0
	case p.suspect && !p.replace:
		return c.detect > time.Minute
	}
	return c.isPlain()
}
