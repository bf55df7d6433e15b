// Package demo shows warmpool at work without a cluster and without Prometheus: a virtual cluster with one day of
// synthetic traffic, run fast, asks the real server over real gRPC exactly as the Cluster Autoscaler and KEDA do, and
// says in plain lines what was asked, what was answered and why.
//
// The world lives in virtual time: it is built from package sim, takes its draws from one seed, and knows nothing of the
// server. The driver beside it moves both forward step by step, at a fixed number of virtual seconds per real one.
package demo
