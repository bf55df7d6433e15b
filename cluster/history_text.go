package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// mostHistoryBytes and mostDamagedBytes keep the ConfigMap of a [History] below its limit of 1 MiB.
const (
	mostHistoryBytes = 700 << 10
	mostDamagedBytes = 200 << 10
)

// damagedError is an error about content that cannot be read, see engine.IsCorrupt.
type damagedError struct{ cause error }

func (e damagedError) Error() string {
	return "the content of the ConfigMap " + HistoryName + " cannot be read and is kept under its key " + damagedKey + ": " + e.cause.Error()
}
func (e damagedError) Unwrap() error { return e.cause }

// Corrupt tells the engine that the content is lost, not out of reach.
func (damagedError) Corrupt() bool { return true }

var errNewer = errors.New("it has a later version than this program knows")

// decodeHistory reads the content; none at all is an empty history.
func decodeHistory(text string) (expander.History, error) {
	var history expander.History
	if text == "" {
		return history, nil
	}
	if err := json.Unmarshal([]byte(text), &history); err != nil {
		return expander.History{}, err
	}
	if history.Version > expander.HistoryVersion {
		return expander.History{}, fmt.Errorf("%w: %d", errNewer, history.Version)
	}
	return history, nil
}

// encodeHistory writes a history in at most limit bytes. The older failures of each group go first, then the oldest
// pods, the oldest choices, and the groups whose news are oldest: what is left is worth more.
func encodeHistory(history expander.History, limit int) (string, expander.History, error) {
	const mostFailures, fewFailures = 16, 4
	for failures := mostFailures / 2; ; {
		text, err := json.Marshal(history)
		if err != nil || len(text) <= limit {
			return string(text), history, err
		}
		switch {
		case len(history.Groups) > 0 && failures >= fewFailures:
			history.Groups = lastFailures(history.Groups, failures)
			failures /= 2
		case len(history.Pods) > 0:
			history.Pods = newest(history.Pods, len(history.Pods)/2, func(p expander.PodHistory) time.Time { return p.LastSeen })
		case len(history.Choices) > 0:
			history.Choices = history.Choices[(len(history.Choices)+1)/2:]
		case len(history.Groups) > 0:
			history.Groups = newest(history.Groups, len(history.Groups)/2, func(g expander.GroupHistory) time.Time {
				if n := len(g.Failures); n > 0 {
					return later(g.Failures[n-1].At, g.DeliveredAt)
				}
				return g.DeliveredAt
			})
		default:
			return "", history, fmt.Errorf("the history takes %d bytes, above the %d of a ConfigMap", len(text), limit)
		}
	}
}

// lastFailures keeps the newest failures of each group.
func lastFailures(groups map[string]expander.GroupHistory, most int) map[string]expander.GroupHistory {
	kept := make(map[string]expander.GroupHistory, len(groups))
	for id, g := range groups {
		g.Failures = g.Failures[max(0, len(g.Failures)-most):]
		kept[id] = g
	}
	return kept
}

func newest[V any](all map[string]V, keep int, at func(V) time.Time) map[string]V {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(at(all[b]).Compare(at(all[a])), cmp.Compare(a, b))
	})
	kept := make(map[string]V, keep)
	for _, key := range keys[:keep] {
		kept[key] = all[key]
	}
	return kept
}

func bounded(text string, limit int) string { return text[:min(len(text), limit)] }
