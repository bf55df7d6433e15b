package predictor

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// Settings of one service. Only PerReplica has no default.
type Settings struct {
	// Name identifies the service. It spreads over the week the instants at which
	// services derive their state anew, which takes each a fraction of a second.
	Name string
	// Step of the grid of rates; 5 minutes by default. It divides a day.
	Step time.Duration
	// Calendar is the local clock of the service's users.
	Calendar Calendar
	// PerReplica is the rate one replica carries at its planned load (c1), in
	// units of the observed rate. Greater than 0.
	PerReplica float64
	// Horizons are the slots ahead for which a distribution is kept, ascending.
	// By default 1, 2, 4, 7, 10 and 13, enough for a lead of an hour at 5 minutes,
	// and further ones where Lead needs them.
	Horizons []int
	// Lead is the time from an order to a ready replica until Plan says otherwise.
	Lead time.Duration
	// MaxShort is the share of time that may be under-provisioned, 0.01 by
	// default. It steers the price of a short step unless Price is set.
	MaxShort float64
	// Price is the stated cost of a short step in replica-steps; 0 means that
	// the price is steered to MaxShort.
	Price float64
	// Hold keeps an order for this long; 10 minutes by default.
	Hold time.Duration
	// Mode is what the operator configured; Shadow by default.
	Mode Mode
	// KeepOutliers turns the outlier mask off.
	KeepOutliers bool
}

// StandardHorizons cost the same as all of 1 to 13 within half a per cent.
var StandardHorizons = []int{1, 2, 4, 7, 10, 13}

const (
	shortestStep = 10 * time.Second
	longestLead  = 12 * time.Hour
)

// HorizonOf is the number of slots a decision must look ahead: it falls at the
// end of one interval, and what it orders is ready at the start of another.
func HorizonOf(lead, step time.Duration) int {
	return 1 + int((lead+step-1)/step)
}

// HorizonsFor returns the standard horizons below that of lead, and that one.
func HorizonsFor(lead, step time.Duration) []int {
	last := HorizonOf(lead, step)
	var out []int
	for _, k := range StandardHorizons {
		if k < last {
			out = append(out, k)
		}
	}
	for k := 16; k < last; k += 3 {
		out = append(out, k)
	}
	return append(out, last)
}

func (s Settings) withDefaults() Settings {
	if s.Step == 0 {
		s.Step = 5 * time.Minute
	}
	if s.Lead == 0 {
		s.Lead = 5*time.Minute + 45*time.Second
	}
	if len(s.Horizons) == 0 {
		s.Horizons = StandardHorizons
		if s.Step >= shortestStep && s.Lead <= longestLead && HorizonOf(s.Lead, s.Step) > StandardHorizons[len(StandardHorizons)-1] {
			s.Horizons = HorizonsFor(s.Lead, s.Step)
		}
	}
	if s.MaxShort == 0 {
		s.MaxShort = 0.01
	}
	if s.Hold == 0 {
		s.Hold = 10 * time.Minute
	}
	if s.Mode == "" {
		s.Mode = Shadow
	}
	return s
}

func (s Settings) validate() error {
	var errs []error
	if s.Lead < 0 || s.Lead > longestLead {
		errs = append(errs, fmt.Errorf("lead %v: must not be negative nor above %v", s.Lead, longestLead))
	}
	if s.Step < shortestStep || (24*time.Hour)%s.Step != 0 || s.Step%time.Second != 0 {
		errs = append(errs, fmt.Errorf("step %v: use whole seconds, at least 10s, that divide a day", s.Step))
	}
	if !(s.PerReplica > 0) {
		errs = append(errs, fmt.Errorf("rate per replica %v: must be greater than 0", s.PerReplica))
	}
	if !(s.MaxShort > 0 && s.MaxShort < 1) {
		errs = append(errs, fmt.Errorf("maxShort %v: must lie between 0 and 1", s.MaxShort))
	}
	if s.Price < 0 {
		errs = append(errs, fmt.Errorf("price %v: must not be negative", s.Price))
	}
	for i, k := range s.Horizons {
		if k < 1 || int64(k) > daySeconds/int64(max(s.Step/time.Second, 1)) || (i > 0 && k <= s.Horizons[i-1]) {
			errs = append(errs, fmt.Errorf("horizons %v: must ascend from at least 1 to at most a day", s.Horizons))
			break
		}
	}
	if !s.Mode.valid() {
		errs = append(errs, fmt.Errorf("mode %q: use off, shadow, active or auto", s.Mode))
	}
	return errors.Join(errs...)
}

// anchorSlot is when in the week, in slots, the state is derived anew.
func (s Settings) anchorSlot() int64 {
	h := fnv.New64a()
	h.Write([]byte(s.Name))
	return int64(h.Sum64() % uint64(7*24*time.Hour/s.Step))
}
