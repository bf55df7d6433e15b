// Package wire turns the bytes of a BestOptions request into an [expander.Request].
//
// The Cluster Autoscaler repeats each pod in every option that could serve it, and releases 1.34.2 to 1.34.5 send
// everything twice. 60 options of 500 pods are 150 MB that hold 2.5 MB of facts. So the message is read by hand:
// [Decode] takes it piece by piece as it arrives, recognises a pod that it has seen by its bytes, keeps one copy
// of each distinct pod, and decodes only those, and of them only the fields that a choice can depend on. What is
// held in memory is one piece and the distinct objects, never the message.
//
// # Generations of the protocol
//
// Pods are field 4 (typed) or field 5 (bytes) of an option, node templates field 2 or 3 of the request; the wire
// form is the same. The newer field wins where it is set: per option for pods, for the whole request for nodes.
// They are never added up. A sender that fails to serialise one pod leaves that option without pods, and one that
// fails to serialise one node leaves the request without nodes: both are unknown, not absent, and no error.
//
// # Errors
//
// Every error of the content is an [Error]: errors.Is(err, [ErrInvalid]) tells that the bytes are no such request
// (InvalidArgument at the edge), errors.Is(err, [ErrLimit]) that they exceed [Limits] (ResourceExhausted). The
// Cluster Autoscaler reads both as "keep all options". Anything else came from the [Source].
package wire
