// Package faults injects faults into warmpool, one by one and in pairs, and checks what docs/reliability.md says about
// each: what clients see, what is decided, and how it recovers. The table there is made from the rows of this package.
//
// A world is the service put together as `warmpool serve` does it, with real gRPC clients, a scripted metric store and a
// scripted API server, each behind a proxy that cuts, delays and breaks connections. The engine runs in virtual time, so
// that a fault of two minutes takes milliseconds; connections, files and certificates are real. Beside each world with
// faults runs a twin without any, which gets the same traffic: what it answers is what is right.
package faults
