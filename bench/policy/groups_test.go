package policy

import (
	"math"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

func catalogue() []trace.Machine {
	var out []trace.Machine
	for i, name := range groupSets["one-model"] {
		out = append(out, trace.Machine{
			Type: name, MilliCPU: 8000, MemoryMi: 32768, AllocatableMilliCPU: 7900, AllocatableMemoryMi: 31000, GPUs: int64(1 + i%2*3), GPUModel: "L4", HourlyCost: float64(1 + i),
		})
	}
	return out
}

func TestTwins(t *testing.T) {
	groups, err := Groups("one-model", catalogue())
	if err != nil {
		t.Fatal(err)
	}
	stock := []*trace.Availability{
		{Name: "one", GPUsPerNode: 1, Step: time.Hour, Available: []bool{true}}, {Name: "many", GPUsPerNode: 8, Step: time.Hour, Available: []bool{false}},
	}
	all, err := Twins(groups, stock, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(groups)+6 {
		t.Fatalf("%d groups from %d, want six twins", len(all), len(groups))
	}
	for i, twin := range all[len(groups):] {
		g := groups[i]
		if twin.ID != g.ID+"-spot" || math.Abs(twin.HourlyCost-0.35*g.HourlyCost) > 1e-9 || !twin.Spot || twin.StockFailure != 15*time.Minute {
			t.Errorf("twin %+v of %+v", twin, g)
		}
		if many := g.Capacity.Extended[sim.GPU] > 1; many == twin.Stock.Available[0] {
			t.Errorf("%s has the stock of %s", twin.ID, twin.Stock.Name)
		}
		if g.Labels["eks.amazonaws.com/capacityType"] != "" {
			t.Error("the on-demand group was labelled too")
		}
	}
	if _, err := Twins(groups, stock[:1], 0); err == nil {
		t.Error("one table was accepted for all sizes")
	}
}

func TestGroupsNameWhatIsMissing(t *testing.T) {
	machines := catalogue()
	machines[0].HourlyCost = math.NaN()
	for _, c := range []struct {
		set      string
		machines []trace.Machine
		want     string
	}{
		{"magic", machines, `unknown set of node groups "magic": choose among gcp, large, mixed, one-model, small`},
		{"one-model", machines, "the set one-model: the machine g4dn.xlarge has no price in the catalogue"},
		{"one-model", machines[1:], "the set one-model: the machine g4dn.xlarge is not in the catalogue"},
	} {
		if _, err := Groups(c.set, c.machines); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.set, err, c.want)
		}
	}
}

// TestExpandersChoose asks each expander for one GPU pod on a cheap and a dear group.
func TestExpandersChoose(t *testing.T) {
	groups, err := Groups("one-model", catalogue())
	if err != nil {
		t.Fatal(err)
	}
	pod := expander.Pod{UID: "p", Requests: expander.Resources{MilliCPU: 4000, Memory: 8 << 30, Extended: map[string]int64{sim.GPU: 1}}}
	req := expander.Request{Pods: []expander.Pod{pod}}
	for _, g := range groups[:4] {
		req.Groups = append(req.Groups, g.Group)
		req.Options = append(req.Options, expander.Option{GroupID: g.ID, NodeCount: 1, Pods: []int{0}})
	}
	for _, name := range ExpanderNames() {
		choose, err := NewExpander(name, groups)
		if err != nil {
			t.Fatal(err)
		}
		kept := choose(req, expander.View{}, time.Unix(0, 0))
		priced := name == "price" || name == "priority" || name == "dollars-per-pod" || name == "warmpool"
		if priced && (len(kept) != 1 || kept[0] != "g4dn-xlarge") || !priced && len(kept) != 4 && name != "warmpool-unpriced" {
			t.Errorf("%s keeps %v", name, kept)
		}
	}
}
