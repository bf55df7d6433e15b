// Package engine runs the pure cores: signals go in at every tick, replica targets come out on a board, and each call
// of the Cluster Autoscaler gets a choice of node group.
//
// An [Engine] ticks on the wall clock, at the same instants on every instance. A tick asks the [Source] for the queries
// of all services at once and evaluates each service as soon as its own queries are known, so a slow one holds up
// nobody else. What it decides is written to the board: one immutable entry for each service, which [Engine.Target]
// reads without waiting for anything. Between ticks only services at zero, and new ones, are looked at, once every
// activation interval.
//
// Time that passes without evaluations lowers nothing: after a start, after the process was suspended and after its clock
// was set, the window of past targets is made up from the metric store, and where that cannot tell everything the last
// target holds for one window.
//
// Services come from two places: those of the configuration, and the triggers that KEDA asks for. A trigger is known
// by namespace, scaled object and metadata; two triggers never share state, and one that nobody asks for any more is
// forgotten.
//
// An error never ends the process, never becomes a zero, and never replaces the last good configuration: a service
// whose evaluation fails keeps its entry until it is too old, and then has no answer at all, which leaves the replicas
// as they are. A request of the Cluster Autoscaler that cannot be decided keeps every option.
package engine
