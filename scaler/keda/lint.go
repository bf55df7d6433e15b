package keda

import (
	"fmt"
	"time"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Finding is one setting that loses capacity, with its remedy.
type Finding struct {
	Level Level
	Code  string
	Text  string
}

// Subject is what of a ScaledObject [Lint] judges.
type Subject struct {
	Version Version
	Min     int
	// Typical is the median of the target over the last days, or the present count.
	Typical  int
	Fallback *Fallback
	// ScaleDownWindow is the autoscaler's stabilisation on the way down; nil is its default of 300 s.
	ScaleDownWindow *time.Duration
}

// shortestWindow is the least stabilisation on the way down that still is a second line of defence.
const shortestWindow = 60 * time.Second

// Lint finds the settings of a ScaledObject that shrink a busy service in an outage or after one wrong value, errors
// before warnings.
func Lint(s Subject) []Finding {
	findings := s.lintFallback()
	if w := s.ScaleDownWindow; w != nil && *w < shortestWindow {
		finding := Finding{
			Level: Warning, Code: "hpa-window-short",
			Text: fmt.Sprintf("scaleDown.stabilizationWindowSeconds is %d: set 300, at least 60", int(w.Seconds())),
		}
		if *w <= 0 {
			finding.Level, finding.Code = Error, "hpa-window-zero"
			finding.Text = "scaleDown.stabilizationWindowSeconds is 0, one wrong low value removes replicas at once: set 300"
			return append([]Finding{finding}, findings...)
		}
		findings = append(findings, finding)
	}
	return findings
}

func (s Subject) lintFallback() []Finding {
	f := s.Fallback
	if f == nil {
		return nil
	}
	if f.Replicas <= 0 {
		return []Finding{{Error, "fallback-zero", "fallback.replicas is 0 and takes a failing service to zero: " + s.advice()}}
	}
	var findings []Finding
	behavior := f.Behavior.in(s.Version)
	lowers := behavior == Static || behavior == CurrentReplicasIfLower
	if lowers && f.Replicas < s.Typical {
		findings = append(findings, Finding{Error, "fallback-below-typical", fmt.Sprintf(
			"the fallback sets %d replicas where %d are typical, an outage of the metrics removes %d: %s",
			f.Replicas, s.Typical, s.Typical-f.Replicas, s.advice())})
	}
	switch {
	case s.Version.Before(2, 17) && s.Min > 0:
		findings = append(findings, Finding{
			Warning, "fallback-on-old-keda",
			"before KEDA 2.17 a fallback sets a fixed count, while an error alone keeps the replicas: " + s.advice(),
		})
	case behavior == Static && f.Replicas >= s.Typical:
		findings = append(findings, Finding{
			Warning, "fallback-static",
			"a static fallback sets its count whatever is running: " + s.advice(),
		})
	}
	return findings
}

// advice is the remedy that this version has.
func (s Subject) advice() string {
	if s.Version.Before(2, 17) {
		return "remove the fallback section, or use KEDA 2.17 or newer"
	}
	return "set behavior: currentReplicasIfHigher with the tested base as replicas"
}
