package link

import "time"

// Capacity is how the machine under a replica is paid for, by the names of the Cluster Autoscaler contract.
type Capacity string

// The capacity types.
const (
	Unknown  Capacity = ""
	Reserved Capacity = "reserved"
	OnDemand Capacity = "on-demand"
	Spot     Capacity = "spot"
)

// Replica is one scale unit of a scale target: a pod, or the leader of a group of pods.
type Replica struct {
	// ID is the UID of its pod, Name the pod's name.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Node and Pool are where it runs, or the group that a node was ordered from; empty is none or unknown.
	Node string `json:"node,omitempty"`
	Pool string `json:"pool,omitempty"`
	// Capacity is that of its node; Unknown while it has none.
	Capacity Capacity `json:"capacity,omitempty"`
	// Paid tells that the node stays whoever leaves it: reserved, or a group at its minimum size.
	Paid  bool `json:"paid,omitempty"`
	Ready bool `json:"ready"`
	// Created is when its first pod was.
	Created time.Time `json:"created"`
	// Doomed is when notice was given to its node; zero without notice.
	Doomed time.Time `json:"doomed,omitzero"`
	// Cost is the deletion cost that the pod carries, as its annotation says it; nil without one.
	Cost *int32 `json:"cost,omitempty"`
	// OddCost tells that the annotation holds what is no number. Controllers take it for 0; it is somebody's own.
	OddCost bool `json:"oddCost,omitempty"`
}

// Target is a scale target with its replicas, as a view of the cluster has them.
type Target struct {
	// Namespace is that of its pods.
	Namespace string `json:"namespace"`
	// Owner is the kind of the controller that owns the pods, such as ReplicaSet.
	Owner    string    `json:"owner"`
	Replicas []Replica `json:"replicas"`
	// Accelerators is how many the pod of one replica asks for; 0 is unknown, as for replicas of several pods.
	Accelerators int
}
