package web

import (
	"fmt"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
)

// State is how an input is.
type State string

// The states: working, working in part, not working, and not in use.
const (
	StateOK   State = "ok"
	StateWarn State = "warn"
	StateBad  State = "bad"
	StateOff  State = "off"
)

// Health is how one input is, in one line.
type Health struct {
	Input string `json:"input"`
	State State  `json:"state"`
	Text  string `json:"text"`
}

func healthOf(s *engine.Status, board []engine.Line, p *engine.Pools, stats decisions.Stats) []Health {
	return []Health{
		{"Evaluation", tickState(s), tickText(s)},
		metricStoreHealth(s, board),
		clusterHealth(s, p),
		autoscalerHealth(p),
		kedaHealth(s),
		configHealth(s),
		logHealth(stats),
	}
}

// late is how old the board may be: three evaluations.
func late(s *engine.Status) bool {
	return s.LastTick.IsZero() || s.Now.Sub(s.LastTick).Seconds() > 3*s.IntervalSeconds
}

func tickState(s *engine.Status) State {
	if late(s) {
		return StateBad
	}
	return StateOK
}

func tickText(s *engine.Status) string {
	if s.LastTick.IsZero() {
		return "no evaluation yet"
	}
	return fmt.Sprintf("every %v, the last one %s ago", seconds(s.IntervalSeconds), span(s.Now.Sub(s.LastTick)))
}

func metricStoreHealth(s *engine.Status, board []engine.Line) Health {
	h := Health{Input: "Metric store", State: StateOK}
	if !s.Source {
		return Health{h.Input, StateOff, "none is configured"}
	}
	asked, failing := 0, 0
	for _, l := range board {
		if l.Decision == nil {
			continue
		}
		for _, signal := range l.Decision.Signals {
			if signal.Excused != "" {
				continue // it may be absent, or nobody exports it now
			}
			asked++
			if signal.Error != "" {
				failing++
			}
		}
	}
	switch {
	case asked == 0:
		h.State, h.Text = StateOff, "no signal is read"
	case failing == 0:
		h.Text = fmt.Sprintf("%s read", plural(asked, "signal"))
	case failing == asked:
		h.State, h.Text = StateBad, fmt.Sprintf("no valid reading of any of %s", plural(asked, "signal"))
	default:
		h.State, h.Text = StateWarn, fmt.Sprintf("%d of %s without a valid reading", failing, plural(asked, "signal"))
	}
	return h
}

func clusterHealth(s *engine.Status, p *engine.Pools) Health {
	switch {
	case !s.Cluster:
		return Health{"Cluster view", StateOff, "no access to the cluster: ready pods and nodes are not known"}
	case p.Configured && !p.ViewKnown:
		return Health{"Cluster view", StateWarn, "not known yet"}
	case p.ViewKnown && !p.ViewAt.IsZero():
		return Health{"Cluster view", StateOK, "read " + span(s.Now.Sub(p.ViewAt)) + " ago"}
	}
	return Health{"Cluster view", StateOK, "in use"}
}

func autoscalerHealth(p *engine.Pools) Health {
	const input = "Cluster Autoscaler"
	switch {
	case !p.Configured:
		return Health{input, StateOff, "no expander section"}
	case p.LastRequest.IsZero():
		return Health{input, StateWarn, "has not asked since the start; it asks only when a pod needs a node"}
	}
	return Health{input, StateOK, "last asked at " + clock(p.LastRequest) + ", mode " + string(p.Mode)}
}

func kedaHealth(s *engine.Status) Health {
	const input = "KEDA"
	switch {
	case s.LastAsked.IsZero():
		return Health{input, StateWarn, "has not asked since the start"}
	case s.Now.Sub(s.LastAsked) > 5*time.Minute:
		return Health{input, StateBad, "last asked " + span(s.Now.Sub(s.LastAsked)) + " ago"}
	}
	return Health{input, StateOK, fmt.Sprintf("%s, last asked %s ago", plural(s.Triggers, "trigger"), span(s.Now.Sub(s.LastAsked)))}
}

func configHealth(s *engine.Status) Health {
	const input = "Configuration"
	switch {
	case s.ReloadFailed:
		return Health{input, StateBad, "the file cannot be used, the last good one stays: " + s.ConfigHash}
	case len(s.Warnings) > 0:
		return Health{input, StateWarn, s.ConfigHash + ", " + plural(len(s.Warnings), "warning")}
	}
	return Health{input, StateOK, s.ConfigHash + " in force"}
}

func logHealth(stats decisions.Stats) Health {
	const input = "Decision log"
	if stats.FileErrors > 0 || stats.FileLost > 0 {
		return Health{input, StateWarn, fmt.Sprintf("%s recorded, %d not written to the file", count(stats.Recorded, "decision"), stats.FileLost)}
	}
	return Health{input, StateOK, count(stats.Recorded, "decision") + " recorded since the start"}
}

func plural(n int, noun string) string { return count(uint64(max(n, 0)), noun) }

func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// span is a time between two moments for people.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// clock is a moment in UTC, which every part of the page uses beside the reader's own time.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }
