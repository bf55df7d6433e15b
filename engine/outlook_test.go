package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// TestOutlook: what is shown is the plan of the last decision, the record of the plans before it, and the same clock
// time of earlier days.
func TestOutlook(t *testing.T) {
	yaml := strings.Replace(forecastYAML("active"), ", cost: {replicaHour: 1, shortStep: 10}", ", maxShort: 1%", 1)
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setFunc("gateway_rate", daily)
		e := newTestEngine(t, Options{Config: testConfig(t, yaml), Source: source})
		at := wakeAt(t, 8*time.Hour)
		stop := runEngine(t, e)
		defer stop()
		sleepUntil(t.Context(), at.Add(52*time.Minute+time.Second))
		d, ok := e.Detail("ml/chat")
		if !ok || d.Outlook == nil || d.Decision == nil {
			t.Fatalf("detail %+v", d)
		}
		o := d.Outlook
		if f := d.Decision.Forecast; o.Replicas != f.Replicas || o.Mode != f.Mode || o.LeadSeconds != f.Lead.Seconds() || o.At != d.Decision.Time {
			t.Errorf("outlook %+v is not the forecast of the decision %+v", o, f)
		}
		if o.PerReplica != 8 || o.Configured != "active" || o.Waiting != "" || o.Skill == nil || o.Binding < 0 {
			t.Errorf("outlook %+v", o)
		}
		checkSlots(t, o)
		checkPast(t, o)
		checkUsual(t, o)
		checkWhatIf(t, o)
	})
}

func checkSlots(t *testing.T, o *Outlook) {
	b := o.Slots[o.Binding]
	if !b.Counts || b.Replicas > o.Replicas || b.Value > b.Upper || b.Short[0] < b.Short[1] || b.Short[1] < b.Short[2] {
		t.Errorf("binding slot %+v", b)
	}
}

func checkPast(t *testing.T, o *Outlook) {
	compared := 0
	for i, p := range o.Past {
		if i > 0 && !p.Start.After(o.Past[i-1].Start) || p.Start.Before(p.IssuedAt.Add(10*time.Minute)) {
			t.Errorf("past slot %d %+v: out of order, or forecast less than the lead before", i, p)
		}
		if p.Actual != nil {
			compared++
			if want, _ := daily(p.Start); *p.Actual != want {
				t.Errorf("past slot %+v, want %v", p, want)
			}
		}
	}
	if compared < 5 {
		t.Errorf("%d of %d slots compared in 52 minutes", compared, len(o.Past))
	}
}

func checkUsual(t *testing.T, o *Outlook) {
	if len(o.Usual) != int(usualAhead/usualStep) {
		t.Fatalf("%d clock times", len(o.Usual))
	}
	for _, u := range o.Usual {
		want, _ := daily(u.Start)
		if u.Yesterday == nil || *u.Yesterday != want || u.LastWeek == nil || *u.LastWeek != want || u.YesterdayReplicas != predictor.Replicas(want, 8) {
			t.Errorf("%+v, want %v", u, want)
		}
	}
}

func checkWhatIf(t *testing.T, o *Outlook) {
	if len(o.WhatIf) != len(whatIfShares) {
		t.Fatalf("%+v", o.WhatIf)
	}
	for i, w := range o.WhatIf {
		if i > 0 && w.Replicas < o.WhatIf[i-1].Replicas {
			t.Errorf("fewer replicas for a smaller share of short steps: %+v", o.WhatIf)
		}
		if w.MaxShort == o.MaxShort && w.Replicas != o.Slots[o.Binding].Replicas {
			t.Errorf("%+v is not the order in force of %d", w, o.Slots[o.Binding].Replicas)
		}
	}
}
