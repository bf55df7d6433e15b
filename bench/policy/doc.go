// Package policy holds what decides in a replay: the autoscaling rules that warmpool is compared with, each written from
// its published description, and warmpool itself through its production engine.
//
// Every policy has one number of its own that makes it more careful or more frugal: a target, a headroom, a tolerated
// shortage. [Sweep] lists its values, so that a comparison can tune each rival on the same traffic and nobody wins or
// loses by a default.
package policy
