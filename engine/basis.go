package engine

import (
	"maps"
	"slices"

	"github.com/warmpool/warmpool/scaler"
)

// Evaluation is everything that one replica target depended on. Given to [scaler.Evaluate] it gives the same decision;
// with another policy it answers "what if".
type Evaluation struct {
	// Policy was in force, with the override and the freeze of that moment.
	Policy scaler.Policy `json:"policy"`
	// State is what was remembered before, and Inputs what was read.
	State  scaler.State  `json:"state"`
	Inputs scaler.Inputs `json:"inputs"`
}

// keep returns a copy that nothing changes later: the readings belong to the evaluation. Values that no rule looks at,
// because they are no numbers, are left out.
func (v *Evaluation) keep() *Evaluation {
	out := *v
	out.Inputs.Errors = maps.Clone(v.Inputs.Errors)
	out.Inputs.Signals = make(map[scaler.Signal][]scaler.Sample, len(v.Inputs.Signals))
	for signal, samples := range v.Inputs.Signals {
		out.Inputs.Signals[signal] = slices.DeleteFunc(slices.Clone(samples), func(s scaler.Sample) bool { return !signal.Valid(s.Value) })
	}
	return &out
}

// size is about the bytes that only this evaluation holds.
func (v *Evaluation) size() int {
	const sampleSize = 32
	s, in := &v.State, &v.Inputs
	size := 16*partSize + partSize*(len(v.Policy.Sources)+len(s.Prewarms)+len(s.Observed.Levels)) +
		sampleSize*(len(s.Computed)+len(s.UtilizationUps)+len(s.Busy)) + 8*(len(in.Pods.Starting)+len(in.Pods.StartTimes))
	for _, samples := range s.Last {
		size += partSize + sampleSize*len(samples)
	}
	for _, samples := range in.Signals {
		size += partSize + sampleSize*len(samples)
	}
	for _, text := range in.Errors {
		size += partSize + len(text)
	}
	if f := in.Forecast; f != nil {
		size += 2*partSize + len(f.Text) + sampleSize*len(f.Upcoming)
	}
	return size
}
