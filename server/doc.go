// Package server is the edge: it listens, decodes, asks the engine once, encodes.
//
// There are three kinds of listeners, so that each has its own rule. The expander's is TLS without client
// certificates, because the Cluster Autoscaler cannot present one; its requests may be large and are admitted one
// large one at a time. The scaler's is TLS with optional client certificates, or plaintext on request. Given the same
// address the two share one listener. The admin listener speaks HTTP and gRPC on one port, on the loopback interface
// or with TLS and a token or a client certificate of the right name, and is the only one with reflection.
//
// What one client, an address, may take of connections, calls and rates is bounded on each listener, and so is what all
// requests together hold in memory: docs/security.md says who could do what, and which test shows the bound.
//
// A failure here is always the harmless one: the Cluster Autoscaler keeps every option when a call fails, and KEDA
// keeps the replicas. So every failure is a status with the right code (see statusOf), is counted, and never ends the
// process. No metadata value is logged or put into an error.
package server
