package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

// Variant is what a comparison changes about the recorded pods, the autoscaler, or what the expanders know.
type Variant struct {
	// Times is a list with times: pods without any take those of the pod of the same name, and pods that it does not
	// have those of random ones.
	Times []trace.GPUPod
	// Hourly lets pods arrive in batches at full hours.
	Hourly bool
	// Typed is the share of GPU pods that are tied to one GPU model, drawn among those that have room for them.
	Typed float64
	// Bare takes the CPU and memory requests off GPU pods.
	Bare bool
	// PriceError is by how much, up or down, each price that expanders are told may be wrong. The bill is right.
	PriceError float64
	// Drain lets the autoscaler move pods off nodes that are hardly used.
	Drain bool
}

// String says what is changed, each part after a semicolon.
func (v Variant) String() string {
	var b strings.Builder
	for _, part := range []struct {
		on   bool
		text string
	}{
		{v.Hourly, "hourly batches"},
		{v.Typed > 0, fmt.Sprintf("%.0f %% of the GPU pods tied to a model", 100*v.Typed)},
		{v.Bare, "GPU pods without CPU and memory requests"},
		{v.PriceError > 0, fmt.Sprintf("prices wrong by up to %.0f %%", 100*v.PriceError)},
		{v.Drain, "pods may be moved"},
	} {
		if part.on {
			b.WriteString("; " + part.text)
		}
	}
	return b.String()
}

// believed are the groups with the prices that an expander is told.
func (v Variant) believed(groups []sim.GroupSpec, seed uint64) []sim.GroupSpec {
	if v.PriceError == 0 {
		return groups
	}
	rng := rand.New(rand.NewPCG(seed, 0x7072696365))
	out := slices.Clone(groups)
	for i := range out {
		out[i].HourlyCost *= 1 + v.PriceError*(2*rng.Float64()-1)
	}
	return out
}

// placementStart is when the lists begin; they only know seconds.
var placementStart = time.Unix(0, 0).UTC()

// sample takes nine pods in ten when there are several replicates.
func sample(pods []trace.GPUPod, o PlacementOptions, replicate int) []trace.GPUPod {
	if o.Replicates == 1 {
		return pods
	}
	rng := rand.New(rand.NewPCG(o.Seed, uint64(replicate)+1))
	var out []trace.GPUPod
	for _, p := range pods {
		if rng.Float64() < 0.9 {
			out = append(out, p)
		}
	}
	return out
}

// Lists without times get Poisson arrivals and exponential run times (judgement) unless they borrow recorded ones.
const (
	drawnGap = 5 * time.Minute
	drawnRun = 6 * time.Hour
)

// clock gives pods their times.
type clock struct {
	rng    *rand.Rand
	byName map[string]trace.GPUPod
	times  []trace.GPUPod
	drawn  time.Duration
}

func newClock(times []trace.GPUPod, rng *rand.Rand) *clock {
	c := &clock{rng: rng, byName: make(map[string]trace.GPUPod, len(times)), times: times}
	for _, p := range times {
		c.byName[p.Name] = p
	}
	return c
}

// of is when a pod is created and how long it runs.
func (c *clock) of(p trace.GPUPod) (created, run time.Duration) {
	if p.Timed {
		return p.Created, p.Deleted - p.Created
	}
	if len(c.times) > 0 {
		twin, ok := c.byName[p.Name]
		if !ok {
			twin = c.times[c.rng.IntN(len(c.times))]
		}
		return twin.Created, twin.Deleted - twin.Created
	}
	c.drawn += time.Duration(c.rng.ExpFloat64() * float64(drawnGap))
	return c.drawn, time.Duration(c.rng.ExpFloat64() * float64(drawnRun))
}

// podSpecs turns recorded pods into pods of the virtual cluster. A share of a GPU counts as a whole card.
func podSpecs(pods []trace.GPUPod, groups []sim.GroupSpec, o PlacementOptions, replicate uint64) []sim.PodSpec {
	times := newClock(o.Times, rand.New(rand.NewPCG(o.Seed, 1000+replicate)))
	types := rand.New(rand.NewPCG(o.Seed, 2000+replicate))
	longest := 24 * time.Hour
	if o.Pressure > 1 {
		longest = 12 * time.Hour
	}
	out := make([]sim.PodSpec, 0, len(pods))
	for _, p := range pods {
		created, run := times.of(p)
		created = time.Duration(float64(created) / o.Pressure).Truncate(time.Second)
		if o.Hourly {
			created = (created + time.Hour - 1).Truncate(time.Hour)
		}
		s := sim.PodSpec{
			Pod:     expander.Pod{UID: p.Name, Name: p.Name, Namespace: "recorded", Requests: o.requests(p)},
			Created: placementStart.Add(created),
			Run:     min(max(run, time.Second), longest),
		}
		if p.GPUs > 0 && o.Typed > 0 && types.Float64() < o.Typed {
			s.NodeSelector = tie(s, groups, types)
		}
		out = append(out, s)
	}
	return out
}

func (v Variant) requests(p trace.GPUPod) expander.Resources {
	r := expander.Resources{MilliCPU: p.MilliCPU, Memory: p.MemoryMi << 20, Extended: map[string]int64{}}
	if p.GPUs > 0 {
		r.Extended[sim.GPU] = p.GPUs
		if v.Bare {
			r.MilliCPU, r.Memory = 0, 0
		}
	}
	return r
}

// tie selects one of the GPU models with room for a pod; nil if there is none.
func tie(p sim.PodSpec, groups []sim.GroupSpec, rng *rand.Rand) map[string]string {
	var models []string
	for i := range groups {
		model := groups[i].Labels[policy.AcceleratorLabel]
		if model != "" && !slices.Contains(models, model) && len(sim.Placeable([]sim.PodSpec{p}, groups[i:i+1])) > 0 {
			models = append(models, model)
		}
	}
	if len(models) == 0 {
		return nil
	}
	return map[string]string{policy.AcceleratorLabel: models[rng.IntN(len(models))]}
}
