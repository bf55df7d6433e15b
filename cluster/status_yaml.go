package cluster

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// yamlStatus is the part of the status that is read, by its keys in the ConfigMap.
type yamlStatus struct {
	Time             string      `json:"time"`
	AutoscalerStatus string      `json:"autoscalerStatus"`
	NodeGroups       []yamlGroup `json:"nodeGroups"`
}

type yamlGroup struct {
	Name   string `json:"name"`
	Health struct {
		Status              string     `json:"status"`
		CloudProviderTarget *int       `json:"cloudProviderTarget"`
		MinSize             *int       `json:"minSize"`
		MaxSize             *int       `json:"maxSize"`
		NodeCounts          yamlCounts `json:"nodeCounts"`
	} `json:"health"`
	ScaleUp struct {
		Status      string `json:"status"`
		BackoffInfo struct {
			ErrorCode    string `json:"errorCode"`
			ErrorMessage string `json:"errorMessage"`
		} `json:"backoffInfo"`
		LastTransitionTime string `json:"lastTransitionTime"`
	} `json:"scaleUp"`
}

type yamlCounts struct {
	Registered struct {
		Total      *int `json:"total"`
		Ready      *int `json:"ready"`
		NotStarted *int `json:"notStarted"`
		// Unready is a number, or an object with a total.
		Unready json.RawMessage `json:"unready"`
	} `json:"registered"`
	LongUnregistered *int `json:"longUnregistered"`
}

func parseYAMLStatus(text string) (Status, error) {
	var in yamlStatus
	if err := yaml.Unmarshal([]byte(text), &in); err != nil {
		return Status{}, fmt.Errorf("%w: %w", errStatus, err)
	}
	if in.AutoscalerStatus == "" && in.Time == "" && len(in.NodeGroups) == 0 {
		return Status{}, fmt.Errorf("%w: neither time, autoscalerStatus nor nodeGroups", errStatus)
	}
	out := Status{At: parseTime(in.Time), Running: in.AutoscalerStatus != "Initializing"}
	for i := range in.NodeGroups {
		g := &in.NodeGroups[i]
		if g.Name == "" {
			continue
		}
		s := unknownStatus()
		s.Name = g.Name
		s.Healthy = g.Health.Status != "Unhealthy"
		counts := &g.Health.NodeCounts
		for _, field := range []struct {
			from *int
			to   *int
		}{
			{g.Health.CloudProviderTarget, &s.Target},
			{g.Health.MinSize, &s.Min},
			{g.Health.MaxSize, &s.Max},
			{counts.Registered.Ready, &s.Ready},
			{counts.Registered.NotStarted, &s.NotStarted},
			{counts.LongUnregistered, &s.LongUnregistered},
		} {
			if field.from != nil && *field.from >= 0 {
				*field.to = *field.from
			}
		}
		s.Registered = registered(counts)
		s.Growing = g.ScaleUp.Status == "InProgress"
		s.Backoff = backoff(g.ScaleUp.Status, g.ScaleUp.BackoffInfo.ErrorCode, g.ScaleUp.BackoffInfo.ErrorMessage, parseTime(g.ScaleUp.LastTransitionTime))
		out.Groups = append(out.Groups, s)
	}
	return out, nil
}

// registered is the total, or the sum of its parts where a release does not write it.
func registered(c *yamlCounts) int {
	r := &c.Registered
	if r.Total != nil && *r.Total >= 0 {
		return *r.Total
	}
	if r.Ready == nil {
		return -1
	}
	sum := max(0, *r.Ready) + max(0, unready(r.Unready))
	if r.NotStarted != nil {
		sum += max(0, *r.NotStarted)
	}
	return sum
}

func unready(raw json.RawMessage) int {
	var n int
	if json.Unmarshal(raw, &n) == nil {
		return n
	}
	var object struct {
		Total int `json:"total"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Total
	}
	return 0
}
