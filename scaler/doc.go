// Package scaler decides how many replicas a service needs.
//
// It is a pure function: [Evaluate] takes a compiled [Policy], the signals of one tick ([Inputs]), what it remembers
// ([State]) and the time, and returns a [Decision] with every vote and limit that led to the number, together with
// the next State. The target is absolute: it follows from the demand alone and contains no starting pods, so it
// cannot feed on itself. A missing signal is never zero and never lowers the target; when every configured signal
// has been missing for too long there is no answer at all, which leaves the replica count to the client's fallback.
//
// [Rebuild] makes a State from a metric store's past after a restart, and [CatchUp] brings one over ticks that were missed.
package scaler
