package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/warmpool/warmpool/engine"
)

// forecasting gives the first service a forecast that is shown, not used, in a time zone.
func forecasting(zone string) string {
	return strings.Replace(configuration, `{mode: "off", timeZone: UTC}`, `{mode: shadow, rate: engine, timeZone: `+zone+`}`, 1)
}

// dstNight begins 2 minutes before the clocks of Berlin go back from 3 to 2 o'clock, which is in the middle of the fault.
var dstNight = time.Date(2026, 10, 25, 0, 58, 0, 0, time.UTC)

// outlook is the forecast of the first service.
func (w *world) outlook() (*engine.Outlook, error) {
	for _, line := range w.current().Board() {
		if line.ScaledObject != first[0] {
			continue
		}
		d, ok := w.current().Detail(line.ID)
		switch {
		case !ok || d.Outlook == nil:
			return nil, errors.New("there is no outlook")
		case d.Outlook.Waiting != "":
			return nil, errors.New(d.Outlook.Waiting)
		}
		return d.Outlook, nil
	}
	return nil, errors.New("there is no line on the board")
}

// horizons are how far after the first the slots of a forecast begin, with the lead of these services.
var horizons = []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 45 * time.Minute, 60 * time.Minute}

// continuous tells whether the forecast looks as in every other night: it reaches over the hour that comes twice.
var continuous = claim{"as ever; the forecast reaches over the hour that comes twice as over any other", func(r *record) error {
	if err := asEver.check(r); err != nil {
		return err
	}
	o, err := r.w.outlook()
	if err != nil {
		return err
	}
	for i, s := range o.Slots {
		if i >= len(horizons) || s.Start.Sub(o.Slots[0].Start) != horizons[i] || s.Value <= 0 {
			return fmt.Errorf("slots %v", o.Slots)
		}
	}
	if len(o.Slots) != len(horizons) {
		return fmt.Errorf("slots %v", o.Slots)
	}
	return nil
}}

var zoneFaults = []*fault{
	{
		part: "Time zone", takes: configFile, name: "night in which the clocks go back", from: dstNight, clients: []claim{follows, answers}, decided: []claim{continuous}, recovers: atOnce,
		inject: func(w *world) func() {
			w.replaceConfig(func() { w.writeConfig(forecasting("Europe/Berlin")) }, true)
			w.current().Tick(context.Background(), w.now().Add(-interval)) // the forecast becomes known, and is made
			w.current().Backfill(context.Background())
			return func() {}
		},
	},
	{
		part: "Time zone", takes: configFile, name: "data is missing or damaged on the machine", alone: true, clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: ownZones,
		inject: func(w *world) func() {
			dir := filepath.Join(w.dir, "zones", "Europe")
			w.must(os.MkdirAll(dir, 0o750))
			w.write(filepath.Join(dir, "Berlin"), []byte("no zone"))
			w.must(os.Setenv("ZONEINFO", filepath.Dir(dir)))
			w.replaceConfig(func() { w.writeConfig(forecasting("Europe/Berlin")) }, true)
			return func() { w.must(os.Unsetenv("ZONEINFO")) }
		},
	},
	{
		part: "Time zone", takes: configFile, name: "of the configuration is not known", clients: []claim{follows, chooses}, decided: []claim{lastGood}, recovers: atOnce,
		inject: written(forecasting("Europe/Atlantis"), false),
	},
}

// ownZones is that the program carries the data of the time zones.
var ownZones = claim{"needs nothing: the program carries the data itself", func(r *record) error {
	zone := r.w.watcher.Current().Services[0].Forecast.Location
	if zone == nil || zone.String() != "Europe/Berlin" {
		return fmt.Errorf("the zone is %v", zone)
	}
	return r.right(0)
}}
