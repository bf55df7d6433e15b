package cluster

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
)

// The reasons of events that report a failed scale-up.
var failureReasons = []string{"FailedToScaleUpGroup", "ScaleUpFailed", "ScaleUpTimedOut"}

// failureEvent is what is kept of an event: the group that failed, when first and when last.
type failureEvent struct {
	metav1.ObjectMeta
	// reason is empty for events about anything else.
	reason      string
	group       string
	class       expander.FailureClass
	first, last time.Time
}

// groupPattern finds the group in the message: the releases write "group ID" or "group ID: error".
var groupPattern = regexp.MustCompile(`group "?([^\s"]+)"?`)

// trimEvent keeps of an event what it tells about a group.
func trimEvent(o any) (any, error) {
	full, ok := o.(*corev1.Event)
	if !ok {
		return o, nil
	}
	e := &failureEvent{ObjectMeta: metav1.ObjectMeta{
		Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion,
	}}
	if !slices.Contains(failureReasons, full.Reason) {
		return e, nil
	}
	found := groupPattern.FindStringSubmatch(full.Message)
	if found == nil {
		return e, nil
	}
	e.reason, e.group = full.Reason, strings.TrimRight(found[1], ":,;.")
	code := codeIn(full.Message)
	e.class = classify(code, full.Message)
	e.first, e.last = eventTimes(full)
	return e, nil
}

// eventTimes reads the times in both forms of events.
func eventTimes(e *corev1.Event) (first, last time.Time) {
	first = e.FirstTimestamp.Time
	if first.IsZero() {
		first = e.EventTime.Time
	}
	if first.IsZero() {
		first = e.CreationTimestamp.Time
	}
	last = first
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return first, last
}

// failures lists the failed scale-ups of the events, oldest first.
func (c *Cluster) failures() []expander.Failure {
	var out []expander.Failure
	for _, o := range c.events.informer.GetStore().List() {
		e, ok := o.(*failureEvent)
		if !ok || e.reason == "" {
			continue
		}
		out = append(out, expander.Failure{At: e.first, GroupID: e.group, Class: e.class, Reason: e.reason})
		if e.last.After(e.first) {
			out = append(out, expander.Failure{At: e.last, GroupID: e.group, Class: e.class, Reason: e.reason})
		}
	}
	slices.SortFunc(out, func(a, b expander.Failure) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.GroupID, b.GroupID), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
