// Package peer follows the instance that computes: it puts that instance's board on the own engine and tells it what this
// one was asked for.
//
// The connection is TLS to the address in the Lease. The certificate of the leader has to be valid for one fixed name,
// because all instances share one certificate and none has its address in it, and the own token is sent only after that.
package peer
