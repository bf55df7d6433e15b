package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

// cpuMachines complete the catalogues, which list GPU machines only: on-demand prices of us-east-1 in US dollars.
var cpuMachines = []trace.Machine{
	{Type: "m5.4xlarge", MilliCPU: 16000, MemoryMi: 65536, AllocatableMilliCPU: 15890, AllocatableMemoryMi: 59000, HourlyCost: 0.768},
	{Type: "m5.8xlarge", MilliCPU: 32000, MemoryMi: 131072, AllocatableMilliCPU: 31850, AllocatableMemoryMi: 120000, HourlyCost: 1.536},
	{Type: "c5.4xlarge", MilliCPU: 16000, MemoryMi: 32768, AllocatableMilliCPU: 15890, AllocatableMemoryMi: 28500, HourlyCost: 0.68},
}

// groupSets are the node groups of the placement protocol, as machine types of a catalogue; "machine+2xcard" is a machine
// with attached cards. Where a set has no machine without cards, the CPU machines come on top.
var groupSets = map[string][]string{
	"one-model": {"g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge", "g4dn.8xlarge", "g4dn.12xlarge", "g4dn.metal"},
	"small":     {"g4dn.xlarge", "g4dn.4xlarge", "g4dn.12xlarge", "g5.2xlarge", "g5.8xlarge", "g5.48xlarge", "g6.2xlarge", "g6.8xlarge", "g6.48xlarge"},
	"large":     {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p4d.24xlarge", "p5.48xlarge"},
	"mixed":     {"g4dn.2xlarge", "g4dn.8xlarge", "g4dn.12xlarge", "g5.4xlarge", "g5.12xlarge", "g5.48xlarge", "g6.4xlarge", "p3.2xlarge", "p3.16xlarge", "p4d.24xlarge", "p5.48xlarge"},
	"gcp": {
		"g2-standard-8", "g2-standard-24", "g2-standard-96", "n1-standard-8+1xnvidia-tesla-t4", "n1-standard-32+4xnvidia-tesla-t4",
		"n1-standard-8+1xnvidia-tesla-v100", "n1-standard-64+8xnvidia-tesla-v100", "a2-highgpu-1g", "a2-highgpu-4g", "a2-highgpu-8g",
		"n1-standard-16", "n1-standard-32", "n1-highcpu-16",
	},
}

// GroupSets lists the names of the sets.
func GroupSets() []string {
	names := make([]string, 0, len(groupSets))
	for name := range groupSets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Groups makes the node groups of a set from a catalogue.
func Groups(set string, catalogue []trace.Machine) ([]sim.GroupSpec, error) {
	types, ok := groupSets[set]
	if !ok {
		return nil, fmt.Errorf("unknown set of node groups %q: choose among %s", set, strings.Join(GroupSets(), ", "))
	}
	var out []sim.GroupSpec
	plain := false
	for _, name := range types {
		m, err := machine(name, catalogue)
		if err != nil {
			return nil, fmt.Errorf("the set %s: %w", set, err)
		}
		plain = plain || m.GPUs == 0
		out = append(out, groupOf(m))
	}
	if plain {
		return out, nil
	}
	for _, m := range cpuMachines {
		out = append(out, groupOf(m))
	}
	return out, nil
}

// machine finds a machine of a catalogue, and attaches cards to it where the name says so.
func machine(name string, catalogue []trace.Machine) (trace.Machine, error) {
	base, cards, attached := strings.Cut(name, "+")
	i := slices.IndexFunc(catalogue, func(m trace.Machine) bool { return m.Type == base })
	if i < 0 {
		return trace.Machine{}, fmt.Errorf("the machine %s is not in the catalogue", base)
	}
	m := catalogue[i]
	if math.IsNaN(m.HourlyCost) {
		return m, fmt.Errorf("the machine %s has no price in the catalogue", base)
	}
	if !attached {
		return m, nil
	}
	count, model, _ := strings.Cut(cards, "x")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return m, fmt.Errorf("the machine %s: %w", name, err)
	}
	card, err := machine(model, catalogue)
	if err != nil {
		return m, err
	}
	m.Type, m.GPUs, m.GPUModel = base+"-"+count+"x"+strings.TrimPrefix(model, "nvidia-tesla-"), n, model
	m.HourlyCost += float64(n) * card.HourlyCost
	return m, nil
}

// AcceleratorLabel names the GPU model of a node.
const AcceleratorLabel = "k8s.amazonaws.com/accelerator"

func groupOf(m trace.Machine) sim.GroupSpec {
	resources := func(cpu, memoryMi int64) expander.Resources {
		r := expander.Resources{MilliCPU: cpu, Memory: memoryMi << 20, Extended: map[string]int64{}}
		if m.GPUs > 0 {
			r.Extended[sim.GPU] = m.GPUs
		}
		return r
	}
	g := expander.Group{
		ID: strings.ReplaceAll(m.Type, ".", "-"), Labels: map[string]string{"node.kubernetes.io/instance-type": m.Type},
		Capacity: resources(m.MilliCPU, m.MemoryMi), Allocatable: resources(m.AllocatableMilliCPU, m.AllocatableMemoryMi),
	}
	if m.GPUs > 0 {
		g.Labels[AcceleratorLabel] = strings.ToLower(m.GPUModel)
	}
	return sim.GroupSpec{Group: g, HourlyCost: m.HourlyCost, Max: sim.MaxGroupNodes}
}

// Twins adds a spot twin to every GPU group, at the protocol's share of the price. Groups of one card get the stock of
// one-card nodes and the others that of the largest nodes, in turn over the recorded tables; stockFailure is how late a
// missing node is found, 0 for the protocol's minute.
func Twins(groups []sim.GroupSpec, stock []*trace.Availability, stockFailure time.Duration) ([]sim.GroupSpec, error) {
	var one, many []*trace.Availability
	for _, a := range stock {
		if a.GPUsPerNode > 1 {
			many = append(many, a)
		} else {
			one = append(one, a)
		}
	}
	if len(one) == 0 || len(many) == 0 {
		return nil, errors.New("spot availability needs a table of nodes with one GPU and one of nodes with several")
	}
	out := slices.Clone(groups)
	used := map[bool]int{}
	for _, g := range groups {
		cards := g.Capacity.Extended[sim.GPU]
		if cards == 0 {
			continue
		}
		from := one
		if cards > 1 {
			from = many
		}
		table := *from[used[cards > 1]%len(from)]
		used[cards > 1]++
		table.Start = time.Unix(0, 0).UTC()
		twin := g
		twin.ID += spotSuffix
		twin.Labels = maps.Clone(g.Labels)
		twin.Labels["eks.amazonaws.com/capacityType"] = "SPOT"
		twin.Spot, twin.Stock, twin.StockFailure, twin.HourlyCost = true, &table, stockFailure, g.HourlyCost*sim.SpotPriceShare
		out = append(out, twin)
	}
	return out, nil
}

const spotSuffix = "-spot"
