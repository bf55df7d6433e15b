package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := replay(); err != nil {
		fmt.Fprintln(os.Stderr, "spot benchmark:", err)
		os.Exit(1)
	}
}

// headrooms are the shares of the need that the scaler keeps on top; they make the curve of each policy.
var headrooms = []float64{-0.1, 0.05, 0.2, 0.4, 0.7, 1.2, 1.9}

var policies = []policy{
	{name: "all on-demand", onDemand: true},
	{name: "all spot", spot: true},
	{name: "cheapest first + backoff", spot: true, onDemand: true},
	{name: "U: memory 3 h + escalation", spot: true, onDemand: true, memory: 3 * time.Hour},
	{name: "memory 10 min alone", spot: true, onDemand: true, memory: shortMemory},
	{name: "on-demand deleted first alone (memory 3 h)", spot: true, onDemand: true, memory: 3 * time.Hour, deletionCost: true},
	{name: "1: on-demand deleted first + memory 10 min", spot: true, onDemand: true, memory: shortMemory, deletionCost: true},
	{name: "1 + losses", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true},
	{name: "1 + losses + swap", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, swap: true},
	{name: "1 + replacement at notice", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, replace: true},
	{name: "1 + losses + notice", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, replace: true},
	{name: "1 + suspect nodes", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, suspect: true},
	{name: "1 + losses + suspect", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, suspect: true},
	{name: "all rules", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, replace: true, suspect: true},
	{name: "all rules, base 50 %", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, replace: true, suspect: true, base: 0.5},
	{name: "1 without escalation", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, patient: true},
	{name: "1 + losses without escalation", spot: true, onDemand: true, memory: shortMemory, deletionCost: true, losses: true, patient: true},
	{name: "SpotHedge, one extra", spot: true, onDemand: true, hedge: 1},
}

var settings = []conditions{
	{name: "good", spots: []string{"k80_1"}, kill: killAll, detect: time.Minute},
	{name: "mid", spots: []string{"v100_1"}, kill: killAll, detect: time.Minute},
	{name: "two", spots: []string{"v100_1", "k80_8"}, kill: killAll, detect: time.Minute},
	{name: "scarce", spots: []string{"v100_8"}, kill: killAll, detect: time.Minute},
	{name: "mild", spots: []string{"v100_1"}, kill: killMild, detect: time.Minute},
	{name: "partial", spots: []string{"g4dn_count"}, kill: killToCount, detect: time.Minute},
	{name: "partial, A100", spots: []string{"a100_count"}, kill: killToCount, detect: time.Minute},
	{name: "good, notice", spots: []string{"k80_1"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "mid, notice", spots: []string{"v100_1"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "two, notice", spots: []string{"v100_1", "k80_8"}, kill: killAll, notice: 2 * time.Minute, detect: time.Minute},
	{name: "good, 900 s", spots: []string{"k80_1"}, kill: killAll, detect: 15 * time.Minute},
	{name: "mid, 900 s", spots: []string{"v100_1"}, kill: killAll, detect: 15 * time.Minute},
	{name: "mild, 900 s", spots: []string{"v100_1"}, kill: killMild, detect: 15 * time.Minute},
	{name: "mid, notice, 900 s", spots: []string{"v100_1"}, kill: killAll, notice: 2 * time.Minute, detect: 15 * time.Minute},
	{name: "partial, 900 s", spots: []string{"g4dn_count"}, kill: killToCount, detect: 15 * time.Minute},
}

// differs tells whether the policy can differ from others under these conditions: without notice nothing is replaced
// early, and a failure that is found within a minute is found before its node is late. The policies that only put the
// others into proportion are played under three conditions.
func (c conditions) differs(p policy) bool {
	plain := c.notice == 0 && c.detect == time.Minute
	switch {
	case p.patient && len(c.spots) < 2: // with one spot group the memory moves on by itself
		return false
	case p.swap:
		return plain
	case p.base > 0:
		return plain && c.name != "two" && c.name != "scarce"
	case p.replace && p.suspect:
		return c.notice > 0 && c.detect > time.Minute
	case p.replace:
		return c.notice > 0
	case p.suspect:
		return c.detect > time.Minute
	}
	return p.isRule() || plain && (p.isBackoff() || slices.Contains([]string{"good", "mid", "mild"}, c.name))
}

// isRule tells the policies that are played under all conditions: on-demand nodes alone, U and rule 1.
func (p policy) isRule() bool {
	return !p.spot || p.memory > 0 && p.deletionCost == (p.memory == shortMemory)
}

// isBackoff is the Cluster Autoscaler as it comes.
func (p policy) isBackoff() bool { return p.spot && p.onDemand && p.memory == 0 && p.hedge == 0 }

func replay() error {
	dir := flag.String("traces", "../shared/traces", "directory of the recordings")
	names := flag.String("policies", "", "only policies whose name contains this, with on-demand and U")
	only := flag.String("series", "", "only series whose name contains this")
	condition := flag.String("conditions", "", "only these conditions, separated by semicolons")
	flag.Parse()
	services, err := loadServices(*dir)
	if err != nil {
		return err
	}
	rooms, err := loadRooms(*dir)
	if err != nil {
		return err
	}
	kept := services[:0]
	for _, s := range services {
		if strings.Contains(s.name, *only) {
			kept = append(kept, s)
		}
	}
	firm, err := measure(settings[0], policies[:1], kept, rooms)
	if err != nil {
		return err
	}
	// A series that even on-demand nodes alone cannot serve has nothing to compare with.
	scored, base := kept[:0:0], firm[0][:0:0]
	for i := range kept {
		if !math.IsNaN(firm[0][i].at(record.shortShare, 0.02)) {
			scored, base = append(scored, kept[i]), append(base, firm[0][i])
		}
	}
	fmt.Fprintf(os.Stdout, "%d series, %d left out because on-demand nodes alone stay short for more than 2 %% of the time\n\n", len(scored), len(kept)-len(scored))
	for _, c := range settings {
		if *condition == "" || slices.Contains(strings.Split(*condition, ";"), c.name) {
			results, err := measure(c, chosen(*names), scored, rooms)
			if err != nil {
				return err
			}
			results[allOnDemand] = base // there is no spot in it that a condition could change
			printCondition(os.Stdout, c, results)
		}
	}
	return nil
}

// chosen leaves out the policies that are not asked for; those that the others are compared with stay.
func chosen(name string) []policy {
	out := slices.Clone(policies)
	for i := range out {
		if i != allOnDemand && i != ruleU && !strings.Contains(out[i].name, name) {
			out[i] = policy{}
		}
	}
	return out
}

// measure plays every policy on every series with every headroom.
func measure(c conditions, policies []policy, services []service, rooms map[string][]int) ([][]curve, error) {
	results := make([][]curve, len(policies))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for p := range policies {
		if policies[p].name == "" || !c.differs(policies[p]) || (!policies[p].spot && len(policies) > 1) {
			continue
		}
		results[p] = make([]curve, len(services))
		for s := range services {
			group.Go(func() error {
				here := shifted(rooms, services[s].seed)
				points := make(curve, 0, len(headrooms))
				for _, h := range headrooms {
					points = append(points, run(policies[p], c, services[s].demand, here, services[s].seed, h))
					if points.enough() {
						break
					}
				}
				results[p][s] = points
				return nil
			})
		}
	}
	return results, group.Wait()
}
