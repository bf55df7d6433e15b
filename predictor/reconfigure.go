package predictor

import (
	"fmt"
	"slices"
)

// Reconfigure takes over new settings. A change of the mode costs nothing; any
// other change derives the state anew from the kept rates, which takes a
// fraction of a second. A step that differs drops the rates, which then have to
// be read again. The service is unchanged if it returns an error.
func (s *Service) Reconfigure(next Settings) error {
	next = next.withDefaults()
	if err := next.validate(); err != nil {
		return fmt.Errorf("predictor settings: %w", err)
	}
	if s.settings.learnAlike(next) {
		s.settings = next
		return nil
	}
	fresh, err := New(next)
	if err != nil {
		return err
	}
	fresh.sibling = s.sibling
	if next.Step == s.settings.Step {
		fresh.Replay(s.Samples())
		fresh.turn, fresh.prewarms = s.turn, s.prewarms
	}
	*s = *fresh
	return nil
}

// SetPerReplica changes the load that one replica carries without deriving the
// state anew: for rates that are learnt and drift. What was learnt about errors
// is a little off until it is forgotten.
func (s *Service) SetPerReplica(rate float64) error {
	next := s.settings
	next.PerReplica = rate
	if err := next.validate(); err != nil {
		return fmt.Errorf("predictor settings: %w", err)
	}
	s.settings, s.ledger.unit = next, rate
	for i := range s.horizons {
		s.horizons[i].spread.unit = rate
	}
	return nil
}

// learnAlike says that both settings learn the same from the same rates.
func (s Settings) learnAlike(o Settings) bool {
	return s.Name == o.Name && s.Step == o.Step && s.PerReplica == o.PerReplica && s.MaxShort == o.MaxShort && s.Price == o.Price &&
		s.Hold == o.Hold && s.Lead == o.Lead && s.KeepOutliers == o.KeepOutliers &&
		slices.Equal(s.Horizons, o.Horizons) && s.Calendar.equal(o.Calendar)
}

func (c Calendar) equal(o Calendar) bool {
	name := func(c Calendar) string {
		if c.Location == nil {
			return "UTC"
		}
		return c.Location.String()
	}
	return name(c) == name(o) && c.OneDayType == o.OneDayType && slices.Equal(c.Holidays, o.Holidays)
}
