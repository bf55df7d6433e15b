package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

const (
	// slotLength is the grid of the predictor.
	slotLength = 5 * time.Minute
	// historySpan is how far back the predictor reads.
	historySpan = 35 * 24 * time.Hour
)

// arrivals is one reading of the rate of arrivals, if it is valid.
type arrivals struct {
	at    time.Time
	rate  float64
	valid bool
}

func arrivalsOf(samples []scaler.Sample, err error) arrivals {
	if err != nil || len(samples) == 0 {
		return arrivals{}
	}
	newest := samples[len(samples)-1]
	return arrivals{at: newest.At, rate: newest.Value, valid: true}
}

// slotMean collects readings into slots: a reading at the end of a slot belongs to it, because a rate speaks of the time
// before it.
type slotMean struct {
	start time.Time
	sum   float64
	valid int
	last  time.Time
}

// finished is a slot that is over.
type finished struct {
	start time.Time
	rate  float64
	ok    bool
}

// add takes the reading of a tick and returns the slot that ended with it or before it. interval is the time between
// ticks. A tick that was seen already, as when two triggers share a forecast, changes nothing.
func (m *slotMean) add(at time.Time, a arrivals, interval time.Duration) (done finished, ok bool) {
	if !at.After(m.last) {
		return finished{}, false
	}
	start := at.Add(-1).Truncate(slotLength)
	if !m.start.IsZero() && start.After(m.start) {
		done, ok = m.close(interval), true
	}
	if m.start.IsZero() || start.After(m.start) {
		m.start, m.sum, m.valid = start, 0, 0
	}
	m.last = at
	if a.valid {
		m.sum += a.rate
		m.valid++
	}
	if at.Equal(start.Add(slotLength)) {
		done, ok = m.close(interval), true
		m.start, m.sum, m.valid = start.Add(slotLength), 0, 0
	}
	return done, ok
}

func (m *slotMean) close(interval time.Duration) finished {
	f := finished{start: m.start, rate: math.NaN()}
	if predictor.Covered(m.valid, slotLength, interval) {
		f.rate, f.ok = m.sum/float64(m.valid), true
	}
	return f
}

// forecast is the predictor of one rate of arrivals. Its fields are guarded by forecasts.mu, except those that never
// change.
type forecast struct {
	// series names it in memory and stored where it is kept: the operator's mode does not change what was learnt.
	series, stored string
	service        string
	query          config.Query
	settings       config.ForecastSettings
	// lead is the configured lead; 0 if it is learnt.
	lead time.Duration

	// perReplica is the planning rate the predictor was made with; 0 before it is known.
	perReplica float64
	// predictor is nil until the history was read.
	predictor *predictor.Service
	mean      slotMean
	// waiting are the slots that ended while the history was being read.
	waiting []finished
	// issued are the forecasts of the last hours, by start.
	issued []PastSlot
	// newest is the start of the last slot that the predictor has seen.
	newest    time.Time
	savedAt   time.Time
	attempts  int
	nextTryAt time.Time
	coverage  coverage
}

// seriesOf names the history of a rate of arrivals. Triggers that read the same rate in the same way share it.
func seriesOf(c *config.Service) (series, stored string) {
	f, p := &c.Forecast, &c.Policy
	// The number at the front is that of what the predictor's unit means: 2 is the largest rate of a replica.
	text := fmt.Sprintf("2 %q %q %v %v %v %v %v %v %v %v %v %v", f.Rate.Expr, f.Rate.Match, f.Rate.Scale, f.Location, f.Holidays,
		f.MaxShort, f.ProfileFrom, p.RatePerReplica, p.Concurrency, p.ServiceTime, p.MaxUtilization, p.Startup.Lead)
	if f.Cost != nil {
		text += fmt.Sprint(*f.Cost)
	}
	hash := sha256.Sum256([]byte(text))
	stored = p.Namespace + "/" + p.Name + "#" + hex.EncodeToString(hash[:6])
	return stored + "#" + f.Mode, stored
}

// forecasts are those in use, by series.
type forecasts struct {
	// mu guards every predictor: a sibling's is read while another learns.
	mu       sync.Mutex
	bySeries map[string]*forecast
	// wake tells that a history may have to be read.
	wake chan struct{}
}

func (f *forecasts) init() { f.bySeries, f.wake = map[string]*forecast{}, make(chan struct{}, 1) }

// of returns the forecast of a service, nil if it is off or has nothing to learn from.
func (f *forecasts) of(c *config.Service) *forecast {
	if c.Forecast.Rate == nil || c.Forecast.Mode == string(predictor.Off) {
		return nil
	}
	series, stored := seriesOf(c)
	p := &c.Policy
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.bySeries[series]
	if !ok {
		one = &forecast{
			series: series, stored: stored, service: p.Namespace + "/" + p.Name,
			query: *c.Forecast.Rate, settings: c.Forecast, lead: p.Startup.Lead,
		}
		f.bySeries[series] = one
	}
	return one
}

// borrow ties a predictor to that of its sibling as it is now. The caller holds mu.
func (f *forecasts) borrow(one *forecast) {
	if one.settings.ProfileFrom == "" || one.predictor == nil {
		return
	}
	name := namespaceOf(one.service) + "/" + one.settings.ProfileFrom
	var sibling *forecast
	for series, other := range f.bySeries {
		if other != one && other.predictor != nil && other.service == name && (sibling == nil || series < sibling.series) {
			sibling = other
		}
	}
	if sibling != nil {
		one.predictor.Borrow(sibling.predictor)
	}
}

// keep drops the forecasts that no service uses any more.
func (f *forecasts) keep(used map[*forecast]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for series, one := range f.bySeries {
		if !used[one] {
			delete(f.bySeries, series)
		}
	}
}

// forecastSaveEvery spreads the saving of predictors, about 100 KB each; what a crash loses is read again.
const forecastSaveEvery = time.Hour

// unsaved encodes the predictors that have not been saved for an hour, or all that have news.
func (f *forecasts) unsaved(now time.Time, all bool) map[string][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string][]byte{}
	for _, one := range f.bySeries {
		if one.predictor == nil || !one.newest.After(one.savedAt.Add(-slotLength)) || (!all && now.Sub(one.savedAt) < forecastSaveEvery) {
			continue
		}
		state, err := one.predictor.MarshalBinary()
		if err != nil {
			continue
		}
		out[one.stored] = append(binary.BigEndian.AppendUint64(nil, uint64(one.newest.Unix())), state...)
		one.savedAt = now
	}
	return out
}
