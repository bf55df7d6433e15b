// Package lease tells which one of several instances computes, by a Lease of the Kubernetes API.
//
// An [Elector] competes for the Lease with client-go's leader election and reports who holds it: this instance, another
// one with the address at which it serves its board, or nobody. The address is a part of the holder's identity, so that
// the two can never disagree.
//
// This instance stops to lead by its own clock: when it has not renewed the Lease for the renew deadline, which is
// shorter than the time after which another one may take it. A request to the API server that hangs does not delay that.
// Clocks may differ between instances; only their speed has to be about the same.
package lease
