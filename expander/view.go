package expander

import "time"

// View is what is known of the cluster beyond the request. The zero View means "no cluster view".
type View struct {
	// Known is false without a cluster view; then coming back pods are the only sign of a failure.
	Known bool
	// At is when the view was read.
	At     time.Time
	Groups map[string]GroupView
	// Failures are scale-up failures as seen in events or in the status of the Cluster Autoscaler, in any order.
	Failures []Failure
	// ZoneNodes counts running nodes by zone label value, for zone caps.
	ZoneNodes map[string]int
	// PoolZoneNodes counts running nodes by pool name and zone; with it a zone cap counts only the pools of the
	// workload. Nil falls back to ZoneNodes.
	PoolZoneNodes map[string]map[string]int
	// CapacityReplicas counts the running replicas of a workload by capacity type, for the on-demand base.
	CapacityReplicas map[string]map[CapacityType]int
}

// GroupView is what is known of one node group. Counts are -1 when unknown.
type GroupView struct {
	// Nodes is the number of nodes now, Registered those that joined, Target what the provider was asked for.
	Nodes, Registered, Target, Min, Max int
	// Backoff is set while the Cluster Autoscaler refuses to grow the group.
	Backoff *Backoff
	// CacheNodes counts by label key how many of the ready nodes carry a label; ReadyNodes is their number.
	CacheNodes map[string]int
	ReadyNodes int
	// ReclaimsPerHour is the observed rate of spot losses per node and hour; negative is unknown.
	ReclaimsPerHour float64
	// Lost counts the spot nodes that were taken back, or given notice, within the last minutes; LostAt is the newest of
	// those times.
	Lost   int
	LostAt time.Time
}

// UnknownGroup is a GroupView that knows nothing.
func UnknownGroup() GroupView {
	return GroupView{Nodes: -1, Registered: -1, Target: -1, Min: -1, Max: -1, ReadyNodes: -1, ReclaimsPerHour: -1}
}

// Backoff is why a group may not grow.
type Backoff struct {
	Class   FailureClass
	Code    string
	Message string
	// Since is when the status last changed.
	Since time.Time
}

// Failure is one failed scale-up.
type Failure struct {
	At      time.Time
	GroupID string
	Class   FailureClass
	// Reason is the event's reason, such as ScaleUpFailed or ScaleUpTimedOut.
	Reason string
	// Suspected failures are not reported by anybody: the nodes only take longer than usual.
	Suspected bool
}

// FailureClass is our reading of an error.
type FailureClass string

// The failure classes.
const (
	FailureStock FailureClass = "STOCK"
	FailureQuota FailureClass = "QUOTA"
	FailureOther FailureClass = "OTHER"
)
