package config

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

func (b *serviceBuilder) forecast() ForecastSettings {
	f := b.entry.Forecast
	settings := ForecastSettings{
		Mode: f.Mode, MaxShort: float64(f.MaxShort), Location: b.timeZone(), ProfileFrom: f.ProfileFrom,
		MaxPrewarm: float64(f.MaxPrewarm), Holidays: b.holidays(), Rate: b.arrivals(),
	}
	switch c := f.Cost; {
	case c.ReplicaHour > 0 && c.ShortStep > 0:
		settings.Cost = &ForecastCost{ReplicaHour: c.ReplicaHour, ShortStep: c.ShortStep}
	case c.ReplicaHour > 0 || c.ShortStep > 0:
		b.errorf(b.keyPath("forecast.cost"), "needs both replicaHour and shortStep above 0, or neither")
	}
	if f.Mode == "off" {
		return settings
	}
	if settings.Rate == nil {
		b.warnf("forecast-without-history", b.keyPath("forecast.rate"), "nothing counts the arrivals of this service, so the forecast has no data; "+
			"give queries.rate from the gateway, or set rate to engine where the preset has a counter, or mode to off")
	}
	if !b.given(b.keyPath("forecast.timeZone")) {
		b.warnf("time-zone-by-default", b.keyPath("forecast.timeZone"), "days begin in %s by default; name the zone of the users", f.TimeZone)
	}
	return settings
}

// timeZone loads the zone. The empty name and Local mean a zone in Go, but not one that anybody chose here, and an offset
// cannot follow the clock changes.
func (b *serviceBuilder) timeZone() *time.Location {
	path, name := b.keyPath("forecast.timeZone"), b.entry.Forecast.TimeZone
	const remedy = "must be an IANA time zone such as Europe/Berlin or UTC"
	switch {
	case name == "":
		b.errorf(path, "the timezone is empty; it %s", remedy)
		return time.UTC
	case strings.ContainsAny(name[:1], "+-0123456789"):
		b.errorf(path, "%sis an offset, not a timezone: it cannot follow the clock changes; it %s", b.got(name), remedy)
		return time.UTC
	}
	location, err := zone(name)
	if err != nil || name == "Local" {
		b.errorf(path, "%sis no timezone that is known here; it %s", b.got(name), remedy)
		return time.UTC
	}
	return location
}

// zones are those that were loaded before: each is read from its file and parsed, and ten thousand triggers share a few.
// Only names that exist are kept, so there is an end to them.
var zones sync.Map

func zone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	known, _ := zones.LoadOrStore(strings.Clone(name), location)
	return known.(*time.Location), nil
}

func (b *serviceBuilder) holidays() []Holiday {
	var out []Holiday
	for _, h := range b.entry.Forecast.Holidays {
		out = append(out, Holiday{Year: h.Date.Year, Month: h.Date.Month, Day: h.Date.Day, Name: h.Name})
	}
	slices.SortStableFunc(out, func(x, y Holiday) int {
		return cmp.Or(cmp.Compare(x.Year, y.Year), cmp.Compare(x.Month, y.Month), cmp.Compare(x.Day, y.Day))
	})
	return slices.CompactFunc(out, func(x, y Holiday) bool { return x.Year == y.Year && x.Month == y.Month && x.Day == y.Day })
}

// arrivals chooses what the history is built from: a written rate always; else the preset's counter if it stands at the
// gateway, or if the engine's own view was asked for.
func (b *serviceBuilder) arrivals() *Query {
	s := b.entry
	if rate := s.Queries.Rate; rate != "" {
		if rate == noQuery {
			return nil
		}
		q := written(scaler.Rate, rate).query
		return &q
	}
	p := presets[s.Preset]
	if p.arrivals == nil || (s.Forecast.Rate == "gateway" && !p.atGateway) {
		return nil
	}
	q := b.queryBuilder().query(*p.arrivals)
	return &q
}

// overrides gives the overrides by the name they are written with.
func (c *compiler) overrides() map[string][]scaler.Override {
	out := map[string][]scaler.Override{}
	for i, o := range c.source.Overrides {
		path := at("overrides", i)
		if !c.has(path+".from") && !c.has(path+".to") && !o.To.After(o.From.Time) {
			c.errorf(path+".to", "must be after from")
		}
		switch {
		case o.Min == nil && o.Max == nil && !c.has(path):
			c.errorf(path, "changes nothing; give min, max or both")
		case o.Min != nil && o.Max != nil && *o.Min > *o.Max:
			c.errorf(path+".min", "must not be above max (%d > %d)", *o.Min, *o.Max)
		}
		for j, other := range c.source.Overrides[:i] {
			if sameService(o.Service, other.Service) && o.From.Before(other.To.Time) && other.From.Before(o.To.Time) {
				c.errorf(path, "overlaps with overrides[%d] of the same service; only one may hold at a time", j)
			}
		}
		out[o.Service] = append(out[o.Service], scaler.Override{Min: o.Min, Max: o.Max, From: o.From.Time, To: o.To.Time, Reason: o.Reason})
	}
	return out
}

// sameService compares NAME or NAMESPACE/NAME; a bare name stands for every namespace.
func sameService(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

func (c *compiler) checkOverrideNames(services map[string]int) {
	for i, o := range c.source.Overrides {
		path := at("overrides", i) + ".service"
		known, names := false, []string(nil)
		for key := range services {
			names = append(names, key[strings.Index(key, "/")+1:])
			known = known || sameService(o.Service, key)
		}
		switch {
		case known || c.has(path):
		case strings.Contains(o.Service, "/"):
			c.warnf("override-without-service", path, "%s is no entry of services; the override waits for a trigger of that name", o.Service)
		default:
			c.errorf(path, "%sis no service%s; for a service that lives in a trigger's metadata write NAMESPACE/NAME", c.got(o.Service), suggest(o.Service, names))
		}
	}
}
