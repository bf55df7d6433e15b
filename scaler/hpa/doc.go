// Package hpa is a model of the Kubernetes horizontal pod autoscaler for external metrics, as of Kubernetes 1.36.
//
// It answers what an autoscaler makes of a replica target: which values it does not follow because of its tolerance,
// how fast it climbs, and how long it holds on the way down. The model is pure: [Sync] takes what the autoscaler
// remembers and returns the next of it. Simulation and tests use it; the service itself only reports when a change is
// held by the tolerance.
package hpa
