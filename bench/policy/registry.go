package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/sim"
)

// Env is what a policy's operator would know when writing its configuration.
type Env struct {
	// Load is only looked at by the oracle, and for the mean service time.
	Load *sim.Load
	// Startup is the time from order to ready replica.
	Startup time.Duration
	// Min and Max bound the replicas.
	Min, Max int
}

// rate is what one replica carries at the planned load, in requests per second.
func (e Env) rate() float64 { return e.Load.ReplicaRate() }

// entry describes a policy.
type entry struct {
	name string
	// knob names the number that is swept, unit and all.
	knob string
	// standard is the value that documentation or custom suggests; values are in order from careful to frugal.
	standard float64
	values   []float64
	make     func(Env, float64) (sim.Policy, error)
}

// entries lists the policies in the order of reports.
var entries = []entry{
	{"hpa-queue", "waiting requests per replica", 5, []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}, pure(newHPAQueue)},
	{"hpa-queue-min", "minimum of the replicas, relative to the mean need", 1, []float64{3, 2.5, 2, 1.75, 1.5, 1.25, 1, 0.75, 0.5}, pure(newHPAQueueMinimum)},
	{"hpa-gpu", "share of busy slots", 0.8, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}, pure(newHPAUtilization)},
	{"threshold", "share of busy slots that scales up", 0.8, []float64{0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}, pure(newThreshold)},
	{"keda-cron", "requests per second and replica, relative to plan", 1, []float64{0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25}, pure(newKEDACron)},
	{"knative", "target share of busy slots", 0.7, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}, pure(newKnative)},
	{"holt-winters", "headroom on forecast and rate", 0, []float64{1.5, 1, 0.6, 0.4, 0.25, 0.1, 0, -0.1, -0.2}, pure(newHoltWinters)},
	{"linear", "headroom on forecast and rate", 0, []float64{1.5, 1, 0.6, 0.4, 0.25, 0.1, 0, -0.1, -0.2}, pure(newLinear)},
	{"week-maximum", "headroom on forecast and rate", 0, []float64{1, 0.6, 0.4, 0.25, 0.1, 0, -0.1, -0.2, -0.3}, pure(newWeekMaximum)},
	{"warmpool-reactive", "planned share of a replica", 0.85, []float64{0.35, 0.55, 0.65, 0.75, 0.85, 0.9, 0.95, 0.98, 1}, newWarmpoolReactive},
	{"warmpool-default", "maxShort", 0.01, []float64{0.01}, newWarmpoolDefault},
	{"warmpool", "maxShort", 0.01, []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2}, newWarmpool},
	{"oracle", "headroom", 0, []float64{0}, newOracle},
}

func pure(f func(Env, float64) sim.Policy) func(Env, float64) (sim.Policy, error) {
	return func(e Env, knob float64) (sim.Policy, error) { return f(e, knob), nil }
}

func newOracle(e Env, headroom float64) (sim.Policy, error) {
	return sim.NewOracle(e.Load, e.Startup, headroom), nil
}

// Names lists all policies.
func Names() []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names
}

// New makes a policy with a value of its knob.
func New(name string, e Env, knob float64) (sim.Policy, error) {
	d, err := find(name)
	if err != nil {
		return nil, err
	}
	return d.make(e, knob)
}

// Standard is the value of a policy's knob that documentation or custom suggests.
func Standard(name string) (float64, error) {
	d, err := find(name)
	return d.standard, err
}

// Sweep lists the values of a policy's knob, from careful to frugal, and says what it is.
func Sweep(name string) (values []float64, knob string, err error) {
	d, err := find(name)
	return slices.Clone(d.values), d.knob, err
}

func find(name string) (entry, error) {
	for _, e := range entries {
		if e.name == name {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("unknown policy %q: choose among %s", name, strings.Join(Names(), ", "))
}
