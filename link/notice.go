package link

import (
	"slices"
	"strings"
	"time"
)

// Kind is where a notice is published.
type Kind string

// The kinds of signs.
const (
	Taint     Kind = "taint"
	Condition Kind = "condition"
	Event     Kind = "event"
)

// Sign is one form in which a provider, or the handler of its notices, announces that a machine goes away.
type Sign struct {
	Kind Kind
	// Name is the key of a taint, the type of a condition or the reason of an event.
	Name string
	// Value, if set, is that of the taint, or must be contained in the message of a condition or an event.
	Value string
	// Notice is how long before its end a machine is announced where the provider says so; 0 is unknown.
	Notice time.Duration
	// Source is who publishes it.
	Source string
}

// Signs are the notices that are known. A recommendation to rebalance is none: it says that the risk is higher, not that
// the machine goes; nor is a scheduled event, which may be days away. Taints by which an autoscaler takes away a node
// that it has found a place for are none either.
var Signs = []Sign{
	{Taint, "aws-node-termination-handler/spot-itn", "", 2 * time.Minute, "AWS Node Termination Handler, taintNode"},
	{Taint, "aws-node-termination-handler/scheduled-maintenance", "", 0, "AWS Node Termination Handler, taintNode"},
	{Taint, "aws-node-termination-handler/asg-lifecycle-termination", "", 0, "AWS Node Termination Handler, taintNode"},
	{Taint, "cloud.google.com/impending-node-termination", "", 30 * time.Second, "GKE"},
	{Taint, "cloudprovider.azure.microsoft.com/draining", "spot-eviction", 30 * time.Second, "Azure cloud provider"},
	{Taint, "remediator.kubernetes.azure.com/unschedulable", "", 0, "AKS node auto-drain"},
	{Taint, "remediator.aks.microsoft.com/unschedulable", "", 0, "AKS node auto-drain, older releases"},
	{Taint, "kubernetes.azure.com/preempted", "", 30 * time.Second, "Azure spot handlers"},
	{Condition, "PreemptScheduled", "", 30 * time.Second, "AKS node problem detector"},
	{Condition, "TerminateScheduled", "", 0, "AKS node problem detector"},
	{Condition, "RedeployScheduled", "", 0, "AKS node problem detector"},
	{Condition, "VMEventScheduled", "Preempt", 30 * time.Second, "AKS node problem detector"},
	{Condition, "VMEventScheduled", "Terminate", 0, "AKS node problem detector"},
	{Condition, "VMEventScheduled", "Redeploy", 0, "AKS node problem detector"},
	{Event, "SpotInterruption", "", 2 * time.Minute, "AWS Node Termination Handler, emitKubernetesEvents"},
	{Event, "SQSTermination", "", 0, "AWS Node Termination Handler, emitKubernetesEvents, older releases"},
	{Event, "ASGLifecycle", "", 0, "AWS Node Termination Handler, emitKubernetesEvents"},
	{Event, "SpotInterrupted", "", 2 * time.Minute, "Karpenter"},
	{Taint, "node.cloudprovider.kubernetes.io/shutdown", "", 0, "cloud controller manager: the machine has stopped"},
	{Taint, "node.kubernetes.io/out-of-service", "", 0, "an operator, after a machine was lost"},
}

// Mark is a taint, or a condition that is true, as a node carries it, or an event about it. At is when it was set or
// happened; zero is unknown.
type Mark struct {
	Kind  Kind
	Name  string
	Value string
	At    time.Time
}

// Notice is what is known of the end of a node.
type Notice struct {
	// At is when notice was given, Until when the machine ends at the earliest; zero is unknown.
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"`
	// Sign and Source say what tells it.
	Sign   string `json:"sign"`
	Source string `json:"source"`
}

// ReadNotices finds the earliest notice among the marks of a node. A mark without a time counts from now on; the caller
// keeps the first answer.
func ReadNotices(marks []Mark, now time.Time) (Notice, bool) {
	var first Notice
	found := false
	for _, m := range marks {
		i := slices.IndexFunc(Signs, func(s Sign) bool { return s.matches(m) })
		if i < 0 {
			continue
		}
		at := m.At
		if at.IsZero() || at.After(now) {
			at = now
		}
		if found && !at.Before(first.At) {
			continue
		}
		found = true
		first = Notice{At: at, Sign: string(m.Kind) + " " + m.Name, Source: Signs[i].Source}
		if Signs[i].Notice > 0 {
			first.Until = at.Add(Signs[i].Notice)
		}
	}
	return first, found
}

func (s Sign) matches(m Mark) bool {
	if s.Kind != m.Kind || s.Name != m.Name || s.Value == "" {
		return s.Kind == m.Kind && s.Name == m.Name
	}
	if s.Kind == Taint {
		return m.Value == s.Value
	}
	return strings.Contains(m.Value, s.Value)
}

// Doomed is what is lost, or will be.
type Doomed struct {
	// Replicas counts the scale units whose machine was given notice, Serving those of them that still are ready.
	Replicas int `json:"replicas"`
	Serving  int `json:"serving"`
	// First is the earliest notice among them.
	First time.Time `json:"first,omitzero"`
}

// Watch counts the replicas that were given notice. They count from the notice on until the pod is gone, and never
// longer: from then on the controller itself replaces what the target asks for, so that each is ordered once.
func Watch(replicas []Replica) Doomed {
	var d Doomed
	for i := range replicas {
		r := &replicas[i]
		if r.Doomed.IsZero() {
			continue
		}
		d.Replicas++
		if r.Ready {
			d.Serving++
		}
		if d.First.IsZero() || r.Doomed.Before(d.First) {
			d.First = r.Doomed
		}
	}
	return d
}
