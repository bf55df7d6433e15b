package engine

import (
	"time"

	"github.com/warmpool/warmpool/config"
)

// Status is how the engine and its inputs are, for people.
type Status struct {
	// Now is the engine's clock: that of the virtual cluster in a demonstration.
	Now time.Time `json:"now"`
	// LastTick is when the services were last evaluated; zero before the first time.
	LastTick time.Time `json:"lastTick,omitzero"`
	// IntervalSeconds is the time between two evaluations.
	IntervalSeconds float64 `json:"intervalSeconds"`
	ConfigName      string  `json:"configName"`
	ConfigHash      string  `json:"configHash"`
	// ReloadFailed is set while the configuration file as it is now cannot be used and the last good one stays.
	ReloadFailed bool            `json:"reloadFailed"`
	Warnings     []ConfigWarning `json:"configWarnings"`
	FrozenScaler bool            `json:"frozenScaler,omitempty"`
	FrozenReason string          `json:"frozenReason,omitempty"`
	// Source tells whether a metric store is configured, Cluster whether there is access to the cluster.
	Source  bool `json:"source"`
	Cluster bool `json:"cluster"`
	// Services counts the lines of the board, Triggers those that KEDA asked for.
	Services int `json:"services"`
	Triggers int `json:"triggers"`
	// LastAsked is when KEDA last asked for any trigger; zero if it never did.
	LastAsked time.Time `json:"lastAsked,omitzero"`
	// FailOpen counts the requests that kept every option because of a fault of warmpool, since the start.
	FailOpen int64 `json:"failOpen"`
	// Instances is the part of this instance among several; nil if it is the only one.
	Instances *InstanceStatus `json:"instances,omitempty"`
	// Broken are the triggers that no longer resolve after a reload.
	Broken []BrokenTrigger `json:"broken"`
}

// ConfigWarning is a [config.Warning]: allowed and probably not meant.
type ConfigWarning struct {
	Code    string `json:"code"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// BrokenTrigger is a trigger that the configuration in force cannot serve.
type BrokenTrigger struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// Status returns how the engine and its inputs are.
func (e *Engine) Status() Status {
	c := e.config.Load()
	s := Status{
		Now: e.clock(), IntervalSeconds: c.EvaluationInterval.Seconds(), ConfigName: c.Name, ConfigHash: c.Hash,
		ReloadFailed: e.reloadFailing.Load(), Warnings: warningsOf(c.Warnings),
		Source: e.source != Source(noSource{}), Cluster: e.cluster != nil, FailOpen: e.failOpen.Load(), Broken: []BrokenTrigger{},
	}
	s.FrozenScaler, s.FrozenReason = e.frozen(HalfScaler)
	if i, ok := e.Instances(); ok {
		s.Instances = &i
	}
	s.FrozenScaler, s.FrozenReason = e.frozen(HalfScaler)
	s.LastTick = e.LastTick()
	asked := int64(0)
	for _, one := range e.services.list() {
		s.Services++
		if one.trigger == nil {
			continue
		}
		s.Triggers++
		asked = max(asked, one.asked.Load())
		if err := one.broken.Load(); err != nil {
			s.Broken = append(s.Broken, BrokenTrigger{one.id, (*err).Error()})
		}
	}
	if asked > 0 {
		s.LastAsked = time.Unix(asked, 0).UTC()
	}
	return s
}

// LastTick is the instant of the last evaluation of all services; zero before the first.
func (e *Engine) LastTick() time.Time {
	if at := e.lastTick.Load(); at != 0 {
		return time.Unix(0, at).UTC()
	}
	return time.Time{}
}

func warningsOf(all []config.Warning) []ConfigWarning {
	out := make([]ConfigWarning, len(all))
	for i, w := range all {
		out[i] = ConfigWarning(w)
	}
	return out
}

// Detail is one service with its past and its outlook.
type Detail struct {
	Line
	// Configured tells that the service comes from the configuration file.
	Configured bool
	Points     []Point
	// Outlook is nil without a forecast.
	Outlook *Outlook
}

// Detail returns a service of the board by its id.
func (e *Engine) Detail(id string) (Detail, bool) {
	s, ok := e.services.get(id)
	if !ok {
		return Detail{}, false
	}
	return Detail{Line: lineOf(s), Configured: s.trigger == nil, Points: s.past.points(), Outlook: e.outlook(s)}, true
}
