package keda

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/test/cases"
)

const caseFile = "../testdata/cases.yaml"

var start = time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)

func version(t *testing.T, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVersion(t *testing.T) {
	if v := version(t, "v2.18.3"); v != (Version{2, 18, 3}) {
		t.Errorf("v2.18.3 is %v", v)
	}
	if v := version(t, "2.9"); v != (Version{2, 9, 0}) || !v.Before(2, 17) || v.Before(2, 9) {
		t.Errorf("2.9 is %v", v)
	}
	for _, bad := range []string{"", "2", "2.x", "2.1.1.1", "2.-1"} {
		if _, err := ParseVersion(bad); err == nil || !strings.Contains(err.Error(), "KEDA version") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestReceived(t *testing.T) {
	for _, c := range []struct {
		version string
		integer int64
		float   float64
		want    float64
	}{
		{"2.21.0", 7, 0, 7},
		{"2.21.0", 7, 2.5, 2.5},
		{"2.21.0", 7, -1, 7},
		{"2.21.0", 0, -1, 0},
		{"2.21.0", -4, 0, 0},
		{"2.21.0", 0, math.NaN(), 0},
		{"2.21.0", 0, math.Inf(1), 0},
		{"2.21.0", 0, 3.0004, 3},
		{"2.21.0", 0, 3.0006, 3.001},
		{"2.19.0", 0, 3.0006, 3},
		{"2.17.3", 7, 2.5, 2.5},
		{"2.16.1", 7, 2.5, 7},
		{"2.15.1", 0, 0.5, 0},
	} {
		if got, ok := version(t, c.version).Received(c.integer, c.float); !ok || got != c.want {
			t.Errorf("%s: %d / %v is %v %v, want %v", c.version, c.integer, c.float, got, ok, c.want)
		}
	}
	if got, ok := version(t, "2.19.0").Received(0, math.Inf(1)); ok {
		t.Errorf("infinity is %v and not arbitrary in 2.19", got)
	}
}

func TestPoll(t *testing.T) {
	idle := 0
	active, inactive, failed := Answer{Active: true}, Answer{}, Answer{Err: true}
	recent, old := start.Add(-time.Minute), start.Add(-DefaultCooldown)
	for name, c := range map[string]struct {
		object     ScaledObject
		lastActive time.Time
		failures   int
		replicas   int
		answer     Answer
		want       int
	}{
		"wakes to one, never to N":               {ScaledObject{}, time.Time{}, 0, 0, active, 1},
		"wakes to the minimum":                   {ScaledObject{Min: 3}, time.Time{}, 0, 0, active, 3},
		"leaves idle to the minimum":             {ScaledObject{Min: 3, Idle: &idle}, time.Time{}, 0, 1, active, 3},
		"active stays":                           {ScaledObject{}, time.Time{}, 0, 5, active, 5},
		"to zero from any count":                 {ScaledObject{}, old, 0, 12, inactive, 0},
		"not before the cooldown":                {ScaledObject{}, recent, 0, 12, inactive, 12},
		"never active: initial cooldown only":    {ScaledObject{Created: start}, time.Time{}, 0, 2, inactive, 0},
		"initial cooldown":                       {ScaledObject{Created: start, InitialCooldown: time.Minute}, time.Time{}, 0, 2, inactive, 2},
		"to idle after the cooldown":             {ScaledObject{Min: 3, Idle: &idle}, old, 0, 7, inactive, 0},
		"idle waits for the cooldown":            {ScaledObject{Min: 3, Idle: &idle}, recent, 0, 7, inactive, 7},
		"minimum, inactive":                      {ScaledObject{Min: 2}, old, 0, 7, inactive, 7},
		"below the minimum, inactive":            {ScaledObject{Min: 2}, old, 0, 1, inactive, 2},
		"error without fallback":                 {ScaledObject{}, old, 9, 7, failed, 7},
		"error with fallback":                    {ScaledObject{Fallback: &Fallback{3, "", 5}}, old, 9, 7, failed, 7},
		"error with fallback zero falls through": {ScaledObject{Fallback: &Fallback{3, "", 0}}, old, 9, 7, failed, 0},
		"not before its threshold":               {ScaledObject{Fallback: &Fallback{3, "", 5}}, old, 2, 0, failed, 0},
		"fallback wakes from 2.19 on":            {ScaledObject{Fallback: &Fallback{3, "", 5}}, old, 3, 0, failed, 1},
	} {
		state := State{LastActive: c.lastActive, Failures: c.failures}
		if got, _ := Poll(Version{2, 20, 2}, c.object, state, c.replicas, c.answer, start); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	asleep := ScaledObject{Fallback: &Fallback{3, "", 5}}
	if got, _ := Poll(Version{2, 18, 3}, asleep, State{Failures: 9}, 0, failed, start); got != 0 {
		t.Errorf("2.18: a fallback wakes to %d", got)
	}
	if _, s := Poll(Version{2, 20, 2}, ScaledObject{}, State{Failures: 4}, 2, active, start); s.Failures != 0 || !s.LastActive.Equal(start) {
		t.Errorf("an answer leaves the state %+v", s)
	}
}

func TestServeBehaviors(t *testing.T) {
	for _, c := range []struct {
		version  string
		behavior Behavior
		want     int
	}{
		{"2.20.2", "", 5},
		{"2.20.2", Static, 5},
		{"2.20.2", CurrentReplicas, 12},
		{"2.20.2", CurrentReplicasIfHigher, 12},
		{"2.20.2", CurrentReplicasIfLower, 5},
		{"2.16.1", CurrentReplicasIfHigher, 5},
	} {
		got, ok := Serve(version(t, c.version), &Fallback{3, c.behavior, 5}, 4, 12, true)
		if !ok || got != c.want {
			t.Errorf("%s %s: %d %v, want %d", c.version, c.behavior, got, ok, c.want)
		}
	}
}

// caseFallback reads a fallback that may be the word none.
type caseFallback struct{ *Fallback }

func (f *caseFallback) UnmarshalJSON(data []byte) error {
	if string(data) == `"none"` {
		return nil
	}
	return json.Unmarshal(data, &f.Fallback)
}

func TestCaseValuesByVersion(t *testing.T) {
	var given struct{ Rows []struct{ Raw float64 } }
	var expect struct {
		Rows []struct {
			MetricValue      int64
			MetricValueFloat float64
			KEDA216, KEDA217 float64
		}
	}
	cases.Decode(t, caseFile, "keda-5159", &given, &expect)
	for i, row := range expect.Rows {
		for v, want := range map[Version]float64{{2, 16, 1}: row.KEDA216, {2, 17, 3}: row.KEDA217} {
			if got, ok := v.Received(row.MetricValue, row.MetricValueFloat); !ok || got != want {
				t.Errorf("row %d, %v: %v, want %v", i, v, got, want)
			}
		}
	}
	if len(expect.Rows) != 7 {
		t.Errorf("%d rows", len(expect.Rows))
	}
}

func TestCaseFallback(t *testing.T) {
	var given struct {
		KEDAVersion string
		Fallback    Fallback
		Variants    []struct {
			Name, KEDAVersion         string
			Behavior                  Behavior
			Fallback                  string
			Replicas, Ticks           int
			GetMetricSpec, GetMetrics string
		}
	}
	var expect struct {
		Variants []struct {
			KEDAServes    []any
			ReplicasAfter *int
		}
	}
	cases.Decode(t, caseFile, "keda-8056", &given, &expect)
	for i, variant := range given.Variants {
		v, fallback := version(t, given.KEDAVersion), &given.Fallback
		if variant.KEDAVersion != "" {
			v = version(t, variant.KEDAVersion)
		}
		if variant.Behavior != "" {
			fallback = &Fallback{fallback.FailureThreshold, variant.Behavior, fallback.Replicas}
		}
		if variant.Fallback == "none" {
			fallback = nil
		}
		replicas := variant.Replicas
		object, state := ScaledObject{Min: 2, Fallback: fallback}, State{}
		for tick := range variant.Ticks {
			replicas, state = Poll(v, object, state, replicas, Answer{Err: variant.GetMetrics != "ok"}, start)
			value, ok := Serve(v, fallback, state.Failures, replicas, variant.GetMetricSpec == "ok")
			want, served := expect.Variants[i].KEDAServes[tick].(float64)
			if ok != served || (ok && value != int(want)) {
				t.Errorf("%s, tick %d: %d %v, want %v", variant.Name, tick, value, ok, expect.Variants[i].KEDAServes[tick])
			}
			if ok {
				replicas = value // as an autoscaler with tolerance 0 and a free policy would
			}
		}
		if want := expect.Variants[i].ReplicasAfter; want != nil && replicas != *want {
			t.Errorf("%s: %d replicas, want %d", variant.Name, replicas, *want)
		}
	}
}

func TestCaseLint(t *testing.T) {
	var given struct {
		Rows []struct {
			KEDAVersion                         string
			MinReplicaCount, TypicalReplicas    int
			Fallback                            caseFallback
			ScaleDownStabilizationWindowSeconds *int
		}
	}
	var expect struct {
		Rows []struct{ Level, Code string }
	}
	cases.Decode(t, caseFile, "keda-6450", &given, &expect)
	for i, row := range given.Rows {
		subject := Subject{
			Version: version(t, row.KEDAVersion), Min: row.MinReplicaCount, Typical: row.TypicalReplicas,
			Fallback: row.Fallback.Fallback,
		}
		if s := row.ScaleDownStabilizationWindowSeconds; s != nil {
			window := time.Duration(*s) * time.Second
			subject.ScaleDownWindow = &window
		}
		findings := Lint(subject)
		want := expect.Rows[i]
		if want.Level == "ok" {
			if len(findings) > 0 {
				t.Errorf("row %d: %+v, want none", i, findings)
			}
			continue
		}
		if len(findings) != 1 || string(findings[0].Level) != want.Level || findings[0].Code != want.Code {
			t.Errorf("row %d: %+v, want %+v", i, findings, want)
		}
		if len(findings) > 0 && !strings.Contains(findings[0].Text, ": ") {
			t.Errorf("row %d: no remedy in %q", i, findings[0].Text)
		}
	}
}

func TestLintShortWindow(t *testing.T) {
	window := 30 * time.Second
	findings := Lint(Subject{Version: Version{2, 20, 2}, Min: 1, Typical: 4, ScaleDownWindow: &window})
	if len(findings) != 1 || findings[0].Level != Warning || findings[0].Code != "hpa-window-short" {
		t.Errorf("%+v", findings)
	}
	both := Lint(Subject{
		Version: Version{2, 15, 1}, Min: 1, Typical: 4, Fallback: &Fallback{3, CurrentReplicasIfHigher, 2}, ScaleDownWindow: &window,
	})
	if len(both) != 3 || both[0].Code != "fallback-below-typical" {
		t.Errorf("an old KEDA ignores the behaviour: %+v", both)
	}
}
