// Package sim is a virtual cluster in virtual time: inference replicas behind one queue, the autoscaler arithmetic that
// acts on them, node groups that boot, fail and are reclaimed, and the Cluster Autoscaler loop that grows them.
//
// Nothing here reads a clock or a global random source: time advances when the caller says so, and every draw comes
// from a seed, so that the same inputs give the same result to the last bit on any machine. Each constant of the outside
// world stands in constants.go with its source.
package sim
