package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// FuzzHistoryText reads any content of the ConfigMap that instances share: it is joined and used for a choice, which keeps
// to the options, and it can be stored again.
func FuzzHistoryText(f *testing.F) {
	now := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
	policy := spotPolicy()
	request := expander.Request{
		Pods:    []expander.Pod{{UID: "a", Namespace: "ml"}},
		Groups:  []expander.Group{{ID: "spot"}, {ID: "other"}},
		Options: []expander.Option{{GroupID: "spot", NodeCount: 1, Pods: []int{0}}, {GroupID: "other", NodeCount: 1, Pods: []int{0}}},
	}
	_, history := expander.Select(policy, expander.View{}, request, expander.History{}, now)
	text, err := json.Marshal(history)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("")
	f.Add(`{"version":9}`)
	f.Add(`{"version":1,"pods":{"a":{"choices":[9,1,1]}},"choices":[{"id":1,"group":"spot","stages":{"":-4},"nodes":-1}],"groups":{"spot":{"failures":[{"class":"X"}]}},"workloads":{"":{"unserved":-1,"stage":99}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		stored, err := decodeHistory(text)
		if err != nil {
			return
		}
		joined := expander.MergeHistory(history, stored)
		d, next := expander.Select(policy, expander.View{}, request, joined, now.Add(time.Minute))
		for _, id := range d.Answer {
			if id != "spot" && id != "other" {
				t.Errorf("answer %q", id)
			}
		}
		if _, err := json.Marshal(next); err != nil {
			t.Skip(err) // a year that JSON cannot hold
		}
	})
}
