package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warmpool/warmpool/bench/policy"
	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
)

// TrafficOptions are the settings of a comparison on recorded traffic.
type TrafficOptions struct {
	// Policies are compared in this order; empty means all.
	Policies []string
	Seed     uint64
	// Seeds is how many seeds from Seed on are averaged, 1 by default.
	Seeds int
	// Startup is the time from order to ready replica, 5 min by default.
	Startup time.Duration
	// Need is the mean need in replicas that the traffic is scaled to, 8 by default.
	Need float64
	// Sweep runs every value of each policy's knob and compares at equal lateness.
	Sweep bool
	// Coarse sweeps every other value only.
	Coarse bool
	// HourlyCost is the price of a replica.
	HourlyCost float64
	Progress   Progress
}

func (o TrafficOptions) withDefaults() TrafficOptions {
	if len(o.Policies) == 0 {
		o.Policies = policy.Names()
	}
	if o.Seeds <= 0 {
		o.Seeds = 1
	}
	if o.Startup <= 0 {
		o.Startup = 5 * time.Minute
	}
	if o.Need <= 0 {
		o.Need = 8
	}
	if o.HourlyCost <= 0 {
		o.HourlyCost = ReplicaHourlyCost
	}
	return o
}

// ReplicaHourlyCost is the on-demand price of a g5.xlarge (one A10G) in us-east-1, in US dollars.
const ReplicaHourlyCost = 1.006

// Traffic is the result of a comparison on recorded traffic.
type Traffic struct {
	Trace          string  `json:"trace"`
	Synthetic      bool    `json:"synthetic"`
	Seed           uint64  `json:"seed"`
	Seeds          int     `json:"seeds"`
	StartupSeconds float64 `json:"startupSeconds"`
	MeanNeed       float64 `json:"meanNeed"`
	// ScoredFrom and ScoredTo bound what is counted; the time before is history and run-in.
	ScoredFrom time.Time      `json:"scoredFrom"`
	ScoredTo   time.Time      `json:"scoredTo"`
	Policies   []PolicyResult `json:"policies"`
	Frontiers  []Frontier     `json:"frontiers,omitempty"`
	timelines  map[string][]sim.Point
}

// PolicyResult is one policy with its customary setting, averaged over the seeds.
type PolicyResult struct {
	Policy string `json:"policy"`
	// Knob is the setting that was used.
	Knob          float64     `json:"knob"`
	Requests      int64       `json:"requests"`
	SLOAttainment float64     `json:"sloAttainment"`
	Wait          WaitSeconds `json:"waitSeconds"`
	GPUHours      float64     `json:"gpuHours"`
	Cost          float64     `json:"cost"`
	Changes       float64     `json:"replicaChanges"`
	ShortMinutes  float64     `json:"underProvisionedMinutes"`
	// Spread holds the lowest and the highest value over the seeds.
	Spread Spread `json:"spread"`
}

// WaitSeconds are quantiles of the wait for a slot.
type WaitSeconds struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Spread is the range over the seeds.
type Spread struct {
	SLOAttainment [2]float64 `json:"sloAttainment"`
	GPUHours      [2]float64 `json:"gpuHours"`
}

// job is one closed loop.
type job struct {
	policy   string
	knob     float64
	seed     int
	standard bool
	result   sim.Result
}

// RunTraffic compares policies on one trace.
func RunTraffic(ctx context.Context, t trace.Traffic, o TrafficOptions) (Traffic, error) {
	o = o.withDefaults()
	loads := make([]*sim.Load, o.Seeds)
	for i := range loads {
		l, err := newLoad(t, o, o.Seed+uint64(i))
		if err != nil {
			return Traffic{}, err
		}
		loads[i] = l
	}
	jobs, err := plan(o)
	if err != nil {
		return Traffic{}, err
	}
	run := scoring(loads[0], o)
	err = each(ctx, len(jobs), o.Progress, func(i int) error {
		j := &jobs[i]
		load := loads[j.seed]
		p, err := policy.New(j.policy, policy.Env{Load: load, Startup: o.Startup, Min: run.Min, Max: run.Max}, j.knob)
		if err != nil {
			return err
		}
		mine := run
		if j.standard && j.seed == 0 {
			mine.Sample = sampleEvery(load.End().Sub(run.ScoreFrom))
		}
		j.result = sim.Run(load, p, mine)
		return nil
	})
	if err != nil {
		return Traffic{}, err
	}
	out := Traffic{
		Trace: t.Name(), Synthetic: t.Series != nil && t.Series.Synthetic, Seed: o.Seed, Seeds: o.Seeds,
		StartupSeconds: o.Startup.Seconds(), MeanNeed: o.Need, ScoredFrom: run.ScoreFrom, ScoredTo: loads[0].End(),
	}
	out.collect(jobs, o)
	return out, nil
}

func newLoad(t trace.Traffic, o TrafficOptions, seed uint64) (*sim.Load, error) {
	var l *sim.Load
	var err error
	switch {
	case t.Series != nil:
		l, err = sim.NewLoad(t.Series, o.Need, seed)
	case t.Requests != nil:
		l, err = sim.NewRecordedLoad(t.Requests, o.Need)
	default:
		err = errors.New("no traffic")
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if span := l.End().Sub(l.Start); span < 6*o.Startup {
		return nil, fmt.Errorf("%s spans %s: less than six start-up times of %s show nothing", t.Name(), span.Round(time.Second), o.Startup)
	}
	return l, nil
}

// scoring splits the trace: the second half counts, after two days of run-in; of a trace under four days, all but the
// first fifth.
func scoring(l *sim.Load, o TrafficOptions) sim.RunOptions {
	span := l.End().Sub(l.Start)
	r := sim.RunOptions{Startup: o.Startup, Min: 1, Max: int(8*o.Need + 0.5), HourlyCost: o.HourlyCost}
	if span >= 4*24*time.Hour {
		r.ScoreFrom, r.RunIn = l.Start.Add(span/2).Truncate(sim.Slot), 48*time.Hour
		return r
	}
	r.ScoreFrom = l.Start.Add(span / 5).Truncate(time.Second)
	r.RunIn = r.ScoreFrom.Sub(l.Start)
	return r
}

// sampleEvery keeps plots at a thousand points or fewer.
func sampleEvery(span time.Duration) time.Duration {
	for _, step := range []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute} {
		if span/step <= 1000 {
			return step
		}
	}
	return time.Hour
}

// plan lists the runs: per policy and seed the customary setting, and with a sweep every other value.
func plan(o TrafficOptions) ([]job, error) {
	var jobs []job
	for _, name := range o.Policies {
		standard, err := policy.Standard(name)
		if err != nil {
			return nil, err
		}
		values := []float64{standard}
		if o.Sweep {
			swept, _, err := policy.Sweep(name)
			if err != nil {
				return nil, err
			}
			for i, v := range swept {
				if v != standard && (!o.Coarse || i%2 == 1) {
					values = append(values, v)
				}
			}
		}
		for _, v := range values {
			for seed := range o.Seeds {
				jobs = append(jobs, job{policy: name, knob: v, seed: seed, standard: v == standard})
			}
		}
	}
	return jobs, nil
}

// collect averages over the seeds, in the order of the policies.
func (t *Traffic) collect(jobs []job, o TrafficOptions) {
	t.timelines = map[string][]sim.Point{}
	points := map[string][]FrontierPoint{}
	for i := 0; i < len(jobs); i += o.Seeds {
		group := jobs[i : i+o.Seeds]
		r := average(group)
		if group[0].standard {
			t.Policies = append(t.Policies, r)
			t.timelines[r.Policy] = group[0].result.Timeline
		}
		points[r.Policy] = append(points[r.Policy], FrontierPoint{Knob: r.Knob, Late: 1 - r.SLOAttainment, GPUHours: r.GPUHours})
	}
	if o.Sweep {
		for _, name := range o.Policies {
			t.Frontiers = append(t.Frontiers, newFrontier(name, points[name]))
		}
	}
}

func average(group []job) PolicyResult {
	out := PolicyResult{Policy: group[0].policy, Knob: group[0].knob}
	n := float64(len(group))
	for i := range group {
		r := &group[i].result
		slo := 1.0
		if r.Requests > 0 {
			slo = 1 - float64(r.Late)/float64(r.Requests)
		}
		out.Requests += r.Requests / int64(len(group))
		out.SLOAttainment += slo / n
		out.Wait.P50 += r.P50.Seconds() / n
		out.Wait.P95 += r.P95.Seconds() / n
		out.Wait.P99 += r.P99.Seconds() / n
		out.GPUHours += r.GPUHours / n
		out.Cost += r.Cost / n
		out.Changes += float64(r.Changes) / n
		out.ShortMinutes += float64(r.ShortMinutes) / n
		if i == 0 {
			out.Spread = Spread{SLOAttainment: [2]float64{slo, slo}, GPUHours: [2]float64{r.GPUHours, r.GPUHours}}
		}
		out.Spread.SLOAttainment = widen(out.Spread.SLOAttainment, slo)
		out.Spread.GPUHours = widen(out.Spread.GPUHours, r.GPUHours)
	}
	return out
}

func widen(r [2]float64, v float64) [2]float64 { return [2]float64{min(r[0], v), max(r[1], v)} }
