package main

import (
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/warmpool/warmpool/expander"
)

// state is what explain knows beyond the request.
type state struct {
	view    expander.View
	history expander.History
}

// stateFile is the form of a state file. Counts that are left out are unknown.
type stateFile struct {
	View    *viewFile        `json:"view"`
	History expander.History `json:"history"`
}

type viewFile struct {
	At               time.Time                                `json:"at"`
	Groups           map[string]groupFile                     `json:"groups"`
	Failures         []failureFile                            `json:"failures"`
	ZoneNodes        map[string]int                           `json:"zoneNodes"`
	PoolZoneNodes    map[string]map[string]int                `json:"poolZoneNodes"`
	CapacityReplicas map[string]map[expander.CapacityType]int `json:"capacityReplicas"`
}

type groupFile struct {
	Nodes           *int           `json:"nodes"`
	Registered      *int           `json:"registered"`
	Target          *int           `json:"target"`
	Min             *int           `json:"min"`
	Max             *int           `json:"max"`
	ReadyNodes      *int           `json:"readyNodes"`
	CacheNodes      map[string]int `json:"cacheNodes"`
	ReclaimsPerHour *float64       `json:"reclaimsPerHour"`
	Backoff         *backoffFile   `json:"backoff"`
}

type backoffFile struct {
	Class   expander.FailureClass `json:"class"`
	Code    string                `json:"code"`
	Message string                `json:"message"`
	Since   time.Time             `json:"since"`
}

type failureFile struct {
	At     time.Time             `json:"at"`
	Group  string                `json:"group"`
	Class  expander.FailureClass `json:"class"`
	Reason string                `json:"reason"`
}

// readState reads a state file; without a path nothing is known.
func readState(path string) (state, error) {
	if path == "" {
		return state{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return state{}, fmt.Errorf("read state: %w", err)
	}
	return parseState(path, data)
}

func parseState(path string, data []byte) (state, error) {
	var f stateFile
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return state{}, fmt.Errorf("read state %s: %w; \"warmpool explain --help\" shows the form", path, err)
	}
	s := state{history: f.History}
	if f.View != nil {
		var err error
		if s.view, err = f.View.view(); err != nil {
			return state{}, fmt.Errorf("read state %s: %w", path, err)
		}
	}
	return s, nil
}

func (f *viewFile) view() (expander.View, error) {
	v := expander.View{
		Known: true, At: f.At, Groups: map[string]expander.GroupView{}, ZoneNodes: f.ZoneNodes,
		PoolZoneNodes: f.PoolZoneNodes, CapacityReplicas: f.CapacityReplicas,
	}
	for id, g := range f.Groups {
		if b := g.Backoff; b != nil && !knownClass(b.Class) {
			return v, fmt.Errorf("view.groups[%q].backoff.class %q: it must be STOCK, QUOTA or OTHER", id, b.Class)
		}
		v.Groups[id] = g.view()
	}
	for i, one := range f.Failures {
		if !knownClass(one.Class) {
			return v, fmt.Errorf("view.failures[%d].class %q: it must be STOCK, QUOTA or OTHER", i, one.Class)
		}
		v.Failures = append(v.Failures, expander.Failure{At: one.At, GroupID: one.Group, Class: one.Class, Reason: one.Reason})
	}
	return v, nil
}

func knownClass(c expander.FailureClass) bool {
	return c == expander.FailureStock || c == expander.FailureQuota || c == expander.FailureOther
}

func (f *groupFile) view() expander.GroupView {
	v := expander.UnknownGroup()
	for _, count := range []struct {
		to   *int
		from *int
	}{
		{&v.Nodes, f.Nodes},
		{&v.Registered, f.Registered},
		{&v.Target, f.Target},
		{&v.Min, f.Min},
		{&v.Max, f.Max},
		{&v.ReadyNodes, f.ReadyNodes},
	} {
		if count.from != nil {
			*count.to = *count.from
		}
	}
	if f.ReclaimsPerHour != nil {
		v.ReclaimsPerHour = *f.ReclaimsPerHour
	}
	v.CacheNodes = f.CacheNodes
	if b := f.Backoff; b != nil {
		v.Backoff = &expander.Backoff{Class: b.Class, Code: b.Code, Message: b.Message, Since: b.Since}
	}
	return v
}
