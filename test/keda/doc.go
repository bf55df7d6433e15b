// Package keda holds KEDA's own external scaler client against a running warmpool.
//
// It is a module of its own because KEDA's client drags in every cloud SDK, and because both modules register the
// same protobuf names: warmpool runs as a child process.
package keda
