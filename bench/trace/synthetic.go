package trace

import (
	"math"
	"math/rand/v2"
	"time"
)

// Pattern describes synthetic traffic. The zero value of every field but Mean, Days and Step means "none".
type Pattern struct {
	Name  string
	Start time.Time
	Days  int
	Step  time.Duration
	// Mean is the rate of an average weekday in requests per second.
	Mean float64
	// Daily is the height of the daily wave relative to the mean, from 0 to 1; the peak is at PeakHour.
	Daily    float64
	PeakHour float64
	// Weekend and Holiday are factors on Saturdays and Sundays, and on the listed days counted from 0; 0 means 1.
	Weekend, Holiday float64
	Holidays         []int
	// Noise is the standard deviation of the logarithm of each interval's rate around the pattern.
	Noise float64
	// BurstsPerDay is the mean number of bursts, each BurstFactor times the pattern for BurstLength.
	BurstsPerDay, BurstFactor float64
	BurstLength               time.Duration
	// ShiftDay is the day from which the level is multiplied by Shift; a Shift of 0 means never.
	ShiftDay int
	Shift    float64
	// Arrivals is the distribution inside the intervals.
	Arrivals Burst
}

// Draw makes the series of a pattern, marked as synthetic. The same seed gives the same series.
func (p Pattern) Draw(seed uint64) *Series {
	rng := rand.New(rand.NewPCG(seed, 0x73796e74))
	perDay := int(24 * time.Hour / p.Step)
	n := p.Days * perDay
	s := &Series{Name: p.Name, Start: p.Start, Step: p.Step, Counts: make([]float64, n), Synthetic: true}
	if p.Arrivals.Family != "" {
		s.Bursts = make([]Burst, n)
		for i := range s.Bursts {
			s.Bursts[i] = p.Arrivals
		}
	}
	for i := range s.Counts {
		noise := math.Exp(p.Noise*rng.NormFloat64() - p.Noise*p.Noise/2)
		s.Counts[i] = p.rate(i/perDay, s.Start.Add(time.Duration(i)*p.Step)) * p.Step.Seconds() * noise
	}
	p.burst(rng, s)
	return s
}

// rate is the pattern without noise and bursts, in requests per second.
func (p Pattern) rate(day int, at time.Time) float64 {
	hour := float64(at.Hour()) + float64(at.Minute())/60 + float64(at.Second())/3600
	rate := p.Mean * (1 + p.Daily*math.Cos((hour-p.PeakHour)/24*2*math.Pi))
	weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
	if weekend && p.Weekend > 0 {
		rate *= p.Weekend
	}
	for _, h := range p.Holidays {
		if h == day && p.Holiday > 0 && !weekend {
			rate *= p.Holiday
		}
	}
	if p.Shift > 0 && day >= p.ShiftDay {
		rate *= p.Shift
	}
	return max(rate, 0)
}

// burst adds the bursts, at moments of a Poisson process.
func (p Pattern) burst(rng *rand.Rand, s *Series) {
	if p.BurstsPerDay <= 0 {
		return
	}
	length := max(1, int(p.BurstLength/p.Step))
	at := 0.0
	for {
		at += rng.ExpFloat64() / p.BurstsPerDay
		from := int(at * float64(24*time.Hour/p.Step))
		if from >= len(s.Counts) {
			return
		}
		for i := from; i < min(from+length, len(s.Counts)); i++ {
			s.Counts[i] *= p.BurstFactor
		}
	}
}
