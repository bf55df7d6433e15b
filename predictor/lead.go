package predictor

import (
	"math"
	"slices"
	"time"
)

const (
	leadQuantile = 0.9
	priorStart   = 300 * time.Second
	priorWeight  = 5 // pseudo-starts, until as many real ones are known
)

// StartTime is the 90 % quantile, rank ceil(0.9 n), of end-to-end start times
// on one path. Below five starts five of 300 s join them.
func StartTime(starts []time.Duration) time.Duration {
	known := slices.Clone(starts)
	if len(known) < priorWeight {
		known = append(known, slices.Repeat([]time.Duration{priorStart}, priorWeight)...)
	}
	slices.Sort(known)
	return known[int(math.Ceil(leadQuantile*float64(len(known))-1e-9))-1]
}

// LeadTime adds what passes before a start begins: the poll of the scaler (0
// with push) and the sync of the horizontal pod autoscaler.
func LeadTime(starts []time.Duration, poll, sync time.Duration) time.Duration {
	return StartTime(starts) + poll + sync
}
