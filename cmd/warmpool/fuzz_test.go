package main

import (
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// FuzzStateFile reads any file of explain's state and chooses by it.
func FuzzStateFile(f *testing.F) {
	for _, seed := range []string{
		"", "view: {at: 2026-08-03T00:00:00Z, groups: {gpu: {nodes: 3, backoff: {class: STOCK}}}, failures: [{group: gpu, class: QUOTA}]}\n",
		"history: {version: 1, pods: {a: {choices: [1]}}, choices: [{id: 1, group: gpu, stages: {x: -1}}]}\n", "view: {groups: {gpu: null}}", "view: [", "history: {version: -1}",
	} {
		f.Add(seed)
	}
	policy := &expander.Policy{Mode: expander.Active, Pools: []expander.Pool{{Name: "gpu"}}}
	request := expander.Request{
		Pods: []expander.Pod{{UID: "a"}}, Groups: []expander.Group{{ID: "gpu"}}, Options: []expander.Option{{GroupID: "gpu", NodeCount: 1, Pods: []int{0}}},
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseState("state.yaml", []byte(text))
		if err != nil {
			return
		}
		d, _ := expander.Select(policy, s.view, request, s.history, time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC))
		if len(d.Answer) != 1 {
			t.Errorf("answer %v", d.Answer)
		}
	})
}
