package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	// slot is the grid on which the predictor counts: orders change at its borders.
	slot = 5 * time.Minute
	// lead is how long a replica of the forecast services takes to start.
	lead = 10 * time.Minute

	day = 24 * time.Hour

	// Requests per second, and the replicas that they need: each carries one.
	quiet, busy                 = 1.5, 11.5
	quietReplicas, busyReplicas = 2, 12
)

// A past is what a service has seen for weeks: every day the same, with a busy hour that begins at a time of the day.
type past struct {
	service string
	busy    time.Time // the next begin of the busy hour
}

// rate is the arrivals at a time of the past, with a ripple, because no real traffic repeats itself exactly.
func (p past) rate(at time.Time) float64 {
	ripple := 1 + 0.02*float64(at.Unix()/60%7-3)/3
	// A rate at a time is that of the moments before, so the busy hour shows after its begin.
	if since := (at.Sub(p.busy)%day + day) % day; since > 0 && since <= time.Hour {
		return busy * ripple
	}
	return quiet * ripple
}

// series is what the exporter shows; more are labels that a scrape adds.
func (p past) series(more string) string {
	return fmt.Sprintf(`gateway_requests_per_second{namespace="e2e",service=%q%s}`, p.service, more)
}

// openMetrics is four weeks of pasts with a sample each minute, up to now, as if they had been scraped.
func (e *exporter) openMetrics(now time.Time, pasts ...past) []byte {
	scraped := fmt.Sprintf(`,job=%q,instance=%q`, job, e.addr)
	var b bytes.Buffer
	b.WriteString("# TYPE gateway_requests_per_second gauge\n")
	for _, p := range pasts {
		for at := now.Add(-28 * day).Truncate(time.Minute); at.Before(now); at = at.Add(time.Minute) {
			fmt.Fprintf(&b, "%s %.3f %d\n", p.series(scraped), p.rate(at), at.Unix())
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

// Before the hour that was busy every day the replicas are there, while the traffic is still what it was; a service whose
// busy hour is far away keeps what it has.
func TestPrewarmBeforeAPeak(t *testing.T) {
	e := running(t)
	now := time.Now()
	// The peak comes into sight at the next border of the slots at which everything is ready: for a lead of two slots the
	// order looks at the first, the second and the fourth slot ahead.
	rise := now.Add(30 * time.Second).Truncate(slot).Add(slot)
	soon := past{"prewarm", rise.Add(3 * slot)}
	later := past{"prewarm-later", soon.busy.Add(8 * time.Hour)}
	e.exporter.set(soon.series(""), quiet)
	e.exporter.set(later.series(""), quiet)
	if err := e.metrics.remember(t.Context(), e.exporter.openMetrics(now, soon, later)); err != nil {
		t.Fatal(err)
	}
	deploy := func(p past) workload {
		return e.deploy(t, p.service, quietReplicas, "scaledobject-metadata.yaml", func(spec map[string]any) {
			trigger := spec["triggers"].([]any)[0].(map[string]any)
			trigger["metadata"] = map[string]any{
				"scalerAddress": e.warmpool.dial(e.warmpool.scaler), "enableTLS": "true",
				"preset": "none", "rateQuery": fmt.Sprintf("sum(gateway_requests_per_second{service=%q})", p.service),
				"concurrency": "1", "serviceTime": "1s", "maxUtilization": "1", "minReplicas": "1", "maxReplicas": "30",
				"startupLead": lead.String(), "scaleDownWindow": "1s", "staleAfter": "5s",
				"forecastMode": "active", "forecastTimeZone": "UTC",
				// A slot that is short costs as much as 120 replicas in it, so the whole busy hour is worth its replicas.
				"forecastCostReplicaHour": "1", "forecastCostShortStep": "10",
			}
		})
	}
	one, other := deploy(soon), deploy(later)
	for _, w := range []workload{one, other} {
		eventually(t, 2*time.Minute, "the forecast of "+w.name+" is ready", func() error {
			d, err := w.decision()
			if err == nil && (d.Forecast == nil || d.Forecast.Mode != "active") {
				err = fmt.Errorf("decision %+v", d)
			}
			return err
		})
	}
	for time.Until(rise) > 5*time.Second {
		one.holds(t, quietReplicas, time.Second)
		other.holds(t, quietReplicas, time.Second)
	}

	seen := one.reaches(t, busyReplicas, max(0, time.Until(rise))+90*time.Second)
	if early := time.Until(soon.busy); early <= 0 {
		t.Errorf("the replicas came %v after the peak", -early)
	} else {
		t.Logf("%v replicas %v before the peak", seen, early.Round(time.Second))
	}
	if slices.Max(seen) > busyReplicas || slices.Min(seen) < quietReplicas {
		t.Errorf("on the way to the peak it passed %v", seen)
	}
	d, err := one.decision()
	if err != nil || d.Binding != "forecast" {
		t.Errorf("decision %+v, error %v, want the forecast to bind", d, err)
	}
	if value, err := e.metrics.value(t.Context(), soon.series("")); err != nil || value != quiet {
		t.Errorf("the traffic is %v, error %v, want it to be as before", value, err)
	}
	other.holds(t, quietReplicas, 2*hpaSync)
}

// A decision is what is asked of one on its service's page.
type decision struct {
	Replicas int    `json:"replicas"`
	Binding  string `json:"binding"`
	Text     string `json:"text"`
	Forecast *struct {
		Mode   string `json:"mode"`
		Reason string `json:"reason"`
		Text   string `json:"text"`
	} `json:"forecast"`
}

// decision is the newest decision about the workload's service.
func (w workload) decision() (decision, error) {
	var list struct {
		Services []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"services"`
	}
	body := w.warmpool.read("/api/v1/services")
	if err := json.Unmarshal(body, &list); err != nil {
		return decision{}, fmt.Errorf("%w: %s", err, body)
	}
	for _, s := range list.Services {
		if s.Name != w.name {
			continue
		}
		var page struct {
			Decision decision `json:"decision"`
		}
		body := w.warmpool.read("/api/v1/services/" + s.ID)
		if err := json.Unmarshal(body, &page); err != nil {
			return decision{}, fmt.Errorf("%w: %s", err, body)
		}
		return page.Decision, nil
	}
	return decision{}, fmt.Errorf("no service %s: %s", w.name, body)
}
