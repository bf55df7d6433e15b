// Package soak runs the real server under load for a while and judges what it measured.
//
// [Run] starts warmpool as a process of its own, a metric store and many clients of both interfaces in this process, and
// a plain gRPC server that answers a constant as a third process. Everything talks on 127.0.0.1; a connection of the
// server to anywhere else fails the run. The result says what went wrong, how long calls took against the constant
// server in the same minutes, and whether memory, goroutines or files grew.
package soak
