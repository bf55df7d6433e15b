package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
)

// Status is what the Cluster Autoscaler says of itself in its status ConfigMap.
type Status struct {
	// At is when it was written; zero is unknown.
	At time.Time
	// Running tells that it is past its start.
	Running bool
	Groups  []GroupStatus
}

// GroupStatus is one node group in the status. Counts are -1 when unknown.
type GroupStatus struct {
	Name string
	// Healthy is false only if the status says so.
	Healthy                      bool
	Ready, Registered, Target    int
	Min, Max                     int
	NotStarted, LongUnregistered int
	// Growing is set while a scale-up is under way.
	Growing bool
	Backoff *expander.Backoff
}

// statusKey is the key of the ConfigMap, in all releases.
const statusKey = "status"

// status limits: a text beyond them is not one of the Cluster Autoscaler.
const (
	maxStatusBytes  = 2 << 20
	maxStatusGroups = 10_000
)

var errStatus = errors.New("not a status of the Cluster Autoscaler")

// ParseStatus reads a status in YAML (Cluster Autoscaler 1.30 and newer) or in the text form of older releases. It
// fails on what is neither; parts that are missing are unknown.
func ParseStatus(text string) (Status, error) {
	if len(text) > maxStatusBytes {
		return Status{}, fmt.Errorf("%w: %d bytes", errStatus, len(text))
	}
	parse := parseYAMLStatus
	if isTextStatus(text) {
		parse = parseTextStatus
	}
	s, err := parse(text)
	if err == nil && len(s.Groups) > maxStatusGroups {
		err = fmt.Errorf("%w: %d groups", errStatus, len(s.Groups))
	}
	if err != nil {
		return Status{}, err
	}
	return s, nil
}

// status object: the parsed ConfigMap, as it is cached.
type statusObject struct {
	metav1.ObjectMeta
	Status
	problem error
}

// trimStatus parses the ConfigMap when it arrives. One that cannot be read leaves the last good one in place.
func (c *Cluster) trimStatus(o any) (any, error) {
	full, ok := o.(*corev1.ConfigMap)
	if !ok {
		return o, nil
	}
	s := &statusObject{ObjectMeta: metav1.ObjectMeta{Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion}}
	s.Status, s.problem = ParseStatus(full.Data[statusKey])
	if s.problem == nil {
		return s, nil
	}
	if last, ok := c.lastStatus(); ok && last.problem == nil {
		s.Status = last.Status
	} else {
		s.Groups = nil
	}
	c.log.Warn("the status of the Cluster Autoscaler cannot be read; the last one stays", "configmap", full.Namespace+"/"+full.Name, "error", s.problem)
	return s, nil
}

func (c *Cluster) lastStatus() (*statusObject, bool) {
	return at[*statusObject](c.status, c.options.AutoscalerNamespace+"/"+c.options.StatusName)
}

// timeForms are the forms in which releases write times.
var timeForms = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05.999999999 -0700 -0700", "2006-01-02 15:04:05.999999999 -0700",
}

// parseTime reads a time in any of them, without the reading of the monotonic clock; zero if it is none.
func parseTime(text string) time.Time {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " m=")
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func backoff(status, code, message string, since time.Time) *expander.Backoff {
	if !strings.EqualFold(status, "Backoff") {
		return nil
	}
	return &expander.Backoff{Class: classify(code, message), Code: code, Message: message, Since: since}
}

func unknownStatus() GroupStatus {
	return GroupStatus{Healthy: true, Ready: -1, Registered: -1, Target: -1, Min: -1, Max: -1, NotStarted: -1, LongUnregistered: -1}
}
